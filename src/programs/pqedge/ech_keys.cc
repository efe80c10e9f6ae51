#include "programs/pqedge/ech_keys.h"
#include "programs/pqedge/complain.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <format>

#include "base/file.h"
#include "crypto/ech_config.h"

namespace pqedge {
namespace {

constexpr off_t kMaxFile = 64 * 1024;

// For its owner alone, whole or not at all, and never over a key that is there.
Result<void> write_key(const std::string& path, std::string_view text) {
  auto done = write_file(path, text, {.replace = false});
  if (!done && done.error().code == EEXIST) {
    return fail("{} is there already; a key is never overwritten", path);
  }
  return done;
}

Result<std::string> read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail_errno(errno, "cannot open {}", path);
  std::string text;
  char buffer[4096];
  Result<std::string> out = fail("{} is too large for a key file", path);
  while (text.size() <= static_cast<size_t>(kMaxFile)) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) out = fail_errno(errno, "cannot read {}", path);
    if (n == 0) out = text;
    if (n <= 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  OPENSSL_cleanse(buffer, sizeof buffer);
  ::close(fd);
  return out;
}

std::string suite_names(const crypto::EchConfig& config) {
  std::string text;
  for (const auto& [kdf, aead] : config.suites) {
    text += std::format("{}{:#06x}/{:#06x}", text.empty() ? "" : " ", kdf, aead);
  }
  return text;
}

}  // namespace

EchKeysCommand::EchKeysCommand(CLI::App& app)
    : command_(app.add_subcommand("ech-keys", "Keys of Encrypted Client Hello.")),
      generate_(command_->add_subcommand("generate", "Make a key.")),
      show_(command_->add_subcommand("show",
                                     "Print what key files hold, and the DNS record to publish.")) {
  command_->require_subcommand(1);
  generate_
      ->add_option("--public-name", public_name_,
                   "The name that clients send where it can be read on the way.")
      ->required();
  generate_->add_option("-o,--out", out_, "A new file for the key; it must not be there yet.")
      ->required();
  generate_
      ->add_option("--max-name-length", max_name_length_, "Clients pad inner names to this length.")
      ->check(CLI::Range(0, 255))
      ->capture_default_str();
  show_->add_option("FILE", files_, "Key files, the newest first.")->required();
  show_->add_option("--host", hosts_, "Print the record of this host (may be repeated).");
  show_->add_option("--port", port_, "The port that the hosts are served on.")
      ->capture_default_str();
  show_->add_option("--alpn", alpn_, "Protocols that the record names.")
      ->delimiter(',')
      ->capture_default_str();
  show_->add_option("--ttl", ttl_, "The record's time to live in seconds.")->capture_default_str();
}

std::optional<int> EchKeysCommand::run() const {
  if (*generate_) return generate();
  if (*show_) return show();
  return std::nullopt;
}

int EchKeysCommand::generate() const {
  auto pem = crypto::make_ech_key(public_name_, static_cast<uint8_t>(max_name_length_));
  if (!pem) return complain(pem.error().message);
  const auto written = write_key(out_, *pem);
  OPENSSL_cleanse(pem->data(), pem->size());
  if (!written) return complain(written.error().message);
  std::printf("%s: a new key for %s; the DNS record: pqedge ech-keys show %s --host HOST\n",
              out_.c_str(), public_name_.c_str(), out_.c_str());
  return 0;
}

int EchKeysCommand::show() const {
  std::vector<crypto::EchConfig> newest;
  for (const std::string& path : files_) {
    auto text = read_file(path);
    if (!text) return complain(text.error().message);
    const auto file = crypto::parse_ech_key_file(*text);
    OPENSSL_cleanse(text->data(), text->size());
    if (!file) return complain(path + ": " + file.error().message);
    for (const crypto::EchConfig& config : file->configs) {
      std::printf("; %s: ID %u, public name %s, KEM %#06x, suites %s, names padded to %u%s\n",
                  path.c_str(), config.id, config.public_name.c_str(), config.kem,
                  suite_names(config).c_str(), config.max_name_length,
                  file->has_key ? ", with its private key" : ", without a private key");
    }
    if (newest.empty()) newest = file->configs;
  }
  for (const std::string& host : hosts_) {
    const crypto::HttpsRecord record{.host = host,
                                     .port = port_,
                                     .ttl = ttl_,
                                     .alpn = alpn_,
                                     .list = crypto::ech_config_list(newest)};
    std::printf("%s\n", crypto::zone_line(record).c_str());
  }
  if (hosts_.empty()) std::printf("; --host NAME prints its DNS record\n");
  return 0;
}

}  // namespace pqedge
