// The store: certificates by name.
#include "crypto/certificates.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <unordered_map>

#include "base/log.h"
#include "crypto/certificates_internal.h"

namespace pqedge::crypto {
namespace {

constexpr off_t kMaxFile = 4 * 1024 * 1024;  // an SLH-DSA chain takes some 200 KB

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};
using NameMap = std::unordered_map<std::string, size_t, TextHash, std::equal_to<>>;

class Store final : public CertificateStore {
 public:
  Store(std::vector<Certificate> certificates, size_t default_index);
  const Certificate& find(std::string_view host) const override;
  size_t size() const override { return certificates_.size(); }
  std::vector<Info> info() const override;

 private:
  void learn(std::string_view name, size_t index);

  std::vector<Certificate> certificates_;
  size_t default_ = 0;
  NameMap exact_;
  NameMap wildcard_;  // what follows "*."
};

Store::Store(std::vector<Certificate> certificates, size_t default_index)
    : certificates_(std::move(certificates)), default_(default_index) {
  for (size_t i = 0; i < certificates_.size(); ++i) {
    for (const std::string& name : certificates_[i].names) learn(name, i);
  }
}

void Store::learn(std::string_view name, size_t index) {
  const bool wildcard = name.starts_with("*.");
  // Only a whole left-most label may be a wildcard (RFC 6125 6.4.3).
  if (wildcard) name.remove_prefix(2);
  if (name.empty() || name.find('*') != name.npos) return;
  const auto [entry, added] = (wildcard ? wildcard_ : exact_).emplace(name, index);
  if (added) return;
  log::warning("tls", "{} and {} are both for {}{}: the former is served",
               certificates_[entry->second].file, certificates_[index].file, wildcard ? "*." : "",
               name);
}

const Certificate& Store::find(std::string_view host) const {
  if (const auto it = exact_.find(host); it != exact_.end()) return certificates_[it->second];
  const size_t dot = host.find('.');
  if (dot != host.npos && dot > 0) {
    const auto it = wildcard_.find(host.substr(dot + 1));
    if (it != wildcard_.end()) return certificates_[it->second];
  }
  return certificates_[default_];
}

std::vector<CertificateStore::Info> Store::info() const {
  std::vector<Info> all;
  for (const Certificate& c : certificates_) all.push_back({c.names, c.file, c.not_after});
  return all;
}

// Of a private key's file: those who own it may read it, and its group where that is not asked to
// be strict.
Result<void> check_mode(const std::string& path, mode_t mode,
                        const CertificateStore::LoadOptions& options) {
  if (options.strict_keys && (mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail("{}: the private key's mode is {:04o}, and tls.strict_key_files allows its owner "
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
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail_errno(errno, "cannot open {}", path);
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } const closer{fd};
  struct stat st{};
  if (fstat(fd, &st) != 0) return fail_errno(errno, "cannot read {}", path);
  if (S_ISDIR(st.st_mode)) return fail("{} is a directory, not a PEM file", path);
  if (!S_ISREG(st.st_mode)) return fail("{} is not a regular file", path);
  if (st.st_size > kMaxFile) return fail("{} has {} bytes: not a PEM file", path, st.st_size);
  if (key != nullptr) {
    if (auto ok = check_mode(path, st.st_mode, *key); !ok) return std::unexpected(ok.error());
  }
  std::string text(static_cast<size_t>(st.st_size), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t n = read(fd, text.data() + filled, text.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot read {}", path);
    if (n == 0) break;
    filled += static_cast<size_t>(n);
  }
  text.resize(filled);
  return text;
}

Result<Certificate> load_one(const CertificateSettings& settings,
                             const CertificateStore::LoadOptions& options) {
  auto chain = read_file(settings.chain_file, nullptr);
  if (!chain) return std::unexpected(chain.error());
  auto key = read_file(settings.key_file, &options);
  if (!key) return std::unexpected(key.error());
  auto parsed =
      parse_certificate({*chain, *key, settings.chain_file, settings.key_file, options.warn});
  OPENSSL_cleanse(key->data(), key->size());
  if (parsed) parsed->file = settings.chain_file;
  return parsed;
}

}  // namespace

Result<std::shared_ptr<const CertificateStore>> CertificateStore::load(
    const std::vector<CertificateSettings>& settings, LoadOptions options) {
  if (settings.empty()) return fail("no certificate is configured");
  std::vector<Certificate> certificates;
  std::optional<size_t> default_index;
  for (const CertificateSettings& one : settings) {
    if (one.is_default && default_index) {
      return fail("{} and {} are both marked as the default certificate; only one can be",
                  settings[*default_index].chain_file, one.chain_file);
    }
    if (one.is_default) default_index = certificates.size();
    auto loaded = load_one(one, options);
    if (!loaded) return std::unexpected(loaded.error());
    certificates.push_back(std::move(*loaded));
  }
  return std::make_shared<const Store>(std::move(certificates), default_index.value_or(0));
}

Result<std::shared_ptr<const CertificateStore>> CertificateStore::from_pem(
    std::string_view chain_pem, std::string_view key_pem) {
  auto parsed = parse_certificate({chain_pem, key_pem, "the chain", "the key"});
  if (!parsed) return std::unexpected(parsed.error());
  std::vector<Certificate> certificates;
  certificates.push_back(std::move(*parsed));
  return std::make_shared<const Store>(std::move(certificates), 0);
}

}  // namespace pqedge::crypto
