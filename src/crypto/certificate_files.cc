#include "crypto/certificate_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.h"
#include "crypto/handles.h"
#include "crypto/sct.h"
#include "net/socket.h"

namespace pqedge::crypto {
namespace {

constexpr off_t kMaxChainFile = 4 * 1024 * 1024;  // an SLH-DSA chain takes some 200 KB

// Of a private key's file: those who own it may read it, and its group where that is not asked to
// be strict.
Result<void> check_mode(const std::string& path, mode_t mode,
                        const CertificateStore::LoadOptions& options) {
  if (options.strict_keys && (mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail(
        "{}: the private key's mode is {:04o}, and tls.strict_key_files allows its owner "
        "alone; chmod 600 it",
        path, mode & 07777);
  }
  if (options.warn && (mode & S_IROTH) != 0) {
    log::warning("tls", "{}: the private key can be read by everyone; chmod 600 it", path);
  }
  return {};
}

// `key`: set for a private key's file.
Result<std::string> read_file(const std::string& path, const CertificateStore::LoadOptions* key) {
  const net::Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail_errno(errno, "cannot open {}", path);
  struct stat st{};
  if (fstat(fd.get(), &st) != 0) return fail_errno(errno, "cannot read {}", path);
  if (S_ISDIR(st.st_mode)) return fail("{} is a directory, not a PEM file", path);
  if (!S_ISREG(st.st_mode)) return fail("{} is not a regular file", path);
  if (st.st_size > kMaxChainFile) return fail("{} has {} bytes: not a PEM file", path, st.st_size);
  if (key != nullptr) {
    if (auto ok = check_mode(path, st.st_mode, *key); !ok) return std::unexpected(ok.error());
  }
  std::string text(static_cast<size_t>(st.st_size), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t n = read(fd.get(), text.data() + filled, text.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot read {}", path);
    if (n == 0) break;
    filled += static_cast<size_t>(n);
  }
  text.resize(filled);
  return text;
}

}  // namespace

Result<Certificate> load_certificate(const CertificateFiles& files,
                                     const CertificateStore::LoadOptions& options) {
  const bool together = files.chain == files.key;
  const FileStamp chain_stamp = stamp_of(files.chain);
  const FileStamp key_stamp = stamp_of(files.key);
  auto chain = read_file(files.chain, together ? &options : nullptr);
  if (!chain) return std::unexpected(chain.error());
  auto key = together ? chain : read_file(files.key, &options);
  if (!key) {
    OPENSSL_cleanse(chain->data(), chain->size());
    return std::unexpected(key.error());
  }
  auto parsed = parse_certificate({*chain, *key, files.chain, files.key, options.warn});
  OPENSSL_cleanse(key->data(), key->size());
  OPENSSL_cleanse(chain->data(), chain->size());
  if (!parsed) return parsed;
  if (!files.timestamps.empty()) {
    auto list = read_file(files.timestamps, nullptr);
    if (!list) return std::unexpected(list.error());
    if (auto ok = parse_timestamps(as_bytes(*list)); !ok) {
      return fail("{}: {}", files.timestamps, ok.error().message);
    }
    parsed->signed_timestamps = std::move(*list);
  }
  parsed->file = files.chain;
  parsed->id = files.id();
  parsed->chain_stamp = chain_stamp;
  parsed->key_stamp = key_stamp;
  parsed->is_default = files.is_default;
  return parsed;
}

FileStamp stamp_of(const std::string& path) {
  struct stat st{};
  if (stat(path.c_str(), &st) != 0) return {};
  const auto nanos = [](const timespec& t) {
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  };
  return {st.st_dev, st.st_ino, nanos(st.st_mtim), nanos(st.st_ctim), st.st_size};
}

}  // namespace pqedge::crypto
