#include "crypto/ech.h"

#if PQEDGE_HAS_ECH

#include <fcntl.h>
#include <openssl/ech.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <format>
#include <map>
#include <memory>

#include "crypto/ech_config.h"
#include "crypto/handles.h"

namespace pqedge::crypto {
namespace {

using EchStorePtr = std::unique_ptr<OSSL_ECHSTORE, FreeWith<OSSL_ECHSTORE_free>>;

constexpr size_t kMaxKeyFiles = 16;  // OpenSSL copies all of them for each connection
constexpr off_t kMaxKeyFile = 64 * 1024;

Result<std::string> read_key_file(const std::string& path, bool strict) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail_errno(errno, "cannot open {}", path);
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } const closer{fd};
  struct stat st{};
  if (::fstat(fd, &st) != 0) return fail_errno(errno, "cannot read {}", path);
  if (!S_ISREG(st.st_mode)) return fail("{} is not a file", path);
  if (st.st_size > kMaxKeyFile) return fail("{} has {} bytes: no key file", path, st.st_size);
  const mode_t others = strict ? S_IRWXG | S_IRWXO : S_IROTH;
  if ((st.st_mode & others) != 0) {
    return fail("{}: mode {:04o} lets others read the private key; chmod 600 it", path,
                st.st_mode & 07777);
  }
  std::string text(static_cast<size_t>(st.st_size), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t n = ::read(fd, text.data() + filled, text.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot read {}", path);
    if (n == 0) break;
    filled += static_cast<size_t>(n);
  }
  text.resize(filled);
  return text;
}

// The text of a file that holds a key for the public name.
Result<std::string> read_key(const std::string& path, const EchSettings& settings, bool strict,
                             uint8_t& id) {
  auto text = read_key_file(path, strict);
  if (!text) return text;
  const auto file = parse_ech_key_file(*text);
  if (!file) return fail("{}: {}", path, file.error().message);
  if (!file->has_key) {
    return fail("{} has no private key: it is what clients are told, not what a server keeps",
                path);
  }
  if (file->configs.size() != 1) {
    return fail("{} has {} ECHConfigs; a file holds one key with its own", path,
                file->configs.size());
  }
  const EchConfig& config = file->configs.front();
  if (config.public_name != settings.public_name) {
    return fail("{} is for the public name \"{}\", not \"{}\"", path, config.public_name,
                settings.public_name);
  }
  id = config.id;
  return text;
}

struct Keys {
  std::vector<std::string> texts;
  ~Keys() {
    for (std::string& text : texts) OPENSSL_cleanse(text.data(), text.size());
  }
};

// `problem` hears what is wrong with which file.
template <typename Tell>
bool read_keys(const EchSettings& settings, bool strict, Keys& keys, Tell problem) {
  std::map<uint8_t, size_t> ids;
  bool good = true;
  for (size_t i = 0; i < settings.key_files.size(); ++i) {
    uint8_t id = 0;
    auto text = read_key(settings.key_files[i], settings, strict, id);
    if (!text) {
      problem(i, text.error().message);
      good = false;
      continue;
    }
    keys.texts.push_back(std::move(*text));
    if (const auto [first, added] = ids.emplace(id, i); !added) {
      problem(i,
              std::format("{} has the configuration ID {} of {}: of a hello with it nobody could "
                          "tell which key opens it; make a new key",
                          settings.key_files[i], id, settings.key_files[first->second]));
      good = false;
    }
  }
  return good;
}

void put16(std::vector<uint8_t>& out, size_t value) {
  out.push_back(static_cast<uint8_t>(value >> 8));
  out.push_back(static_cast<uint8_t>(value));
}

void put(std::vector<uint8_t>& out, const unsigned char* bytes, size_t size) {
  if (size > 0) out.insert(out.end(), bytes, bytes + size);
}

void put_extensions(std::vector<uint8_t>& out, SSL* ssl) {
  size_t count = 0;
  if (SSL_client_hello_get_extension_order(ssl, nullptr, &count) != 1 || count == 0) return;
  std::vector<uint16_t> types(count);
  if (SSL_client_hello_get_extension_order(ssl, types.data(), &count) != 1) return;
  const size_t length_at = out.size();
  put16(out, 0);
  for (const uint16_t type : types) {
    const unsigned char* body = nullptr;
    size_t size = 0;
    if (SSL_client_hello_get0_ext(ssl, type, &body, &size) != 1) continue;
    put16(out, type);
    put16(out, size);
    put(out, body, size);
  }
  store_be16(out.data() + length_at, static_cast<uint16_t>(out.size() - length_at - 2));
}

}  // namespace

Problems validate(const EchSettings& settings) {
  Problems problems;
  if (settings.key_files.empty() && settings.public_name.empty()) return problems;
  if (settings.key_files.empty()) {
    problems.push_back({.key = "tls.ech.keys",
                        .what = "is empty",
                        .hint = "`pqedge ech-keys generate` makes a key"});
  }
  if (settings.key_files.size() > kMaxKeyFiles) {
    problems.push_back({.key = "tls.ech.keys",
                        .what = std::format("has {} files; at most {} are kept",
                                            settings.key_files.size(), kMaxKeyFiles),
                        .hint = "take the oldest out"});
  }
  if (const std::string wrong = judge_public_name(settings.public_name); !wrong.empty()) {
    problems.push_back({.key = "tls.ech.public_name", .what = wrong});
  }
  return problems;
}

Problems check_files(const EchSettings& settings, bool strict_key_files) {
  Problems problems;
  Keys keys;
  read_keys(settings, strict_key_files, keys, [&](size_t i, const std::string& what) {
    problems.push_back({.key = entry_key("tls.ech.keys", i), .what = what});
  });
  return problems;
}

Result<void> install_ech(SSL_CTX* context, const EchSettings& settings, bool strict_key_files) {
  if (settings.key_files.empty()) return {};
  Keys keys;
  std::string wrong;
  const auto keep = [&](size_t, const std::string& what) {
    if (wrong.empty()) wrong = what;
  };
  const bool good = read_keys(settings, strict_key_files, keys, keep);
  if (!good) return fail("tls.ech.keys: {}", wrong);
  clear_errors();
  const EchStorePtr store(OSSL_ECHSTORE_new(nullptr, nullptr));
  bool taken = store != nullptr;
  for (size_t i = 0; taken && i < keys.texts.size(); ++i) {
    // RFC 9849 7.1: retry_configs are what a client should use from now on, so the newest alone.
    const BioPtr in(BIO_new_mem_buf(keys.texts[i].data(), static_cast<int>(keys.texts[i].size())));
    taken = in != nullptr &&
            OSSL_ECHSTORE_read_pem(store.get(), in.get(),
                                   i == 0 ? OSSL_ECH_FOR_RETRY : OSSL_ECH_NO_RETRY) == 1;
  }
  if (!taken || SSL_CTX_set1_echstore(context, store.get()) != 1) {
    return fail("tls.ech.keys: OpenSSL does not take the keys: {}", take_openssl_error());
  }
  return {};
}

net::EchUse ech_use(SSL* ssl) {
  char* inner = nullptr;
  char* outer = nullptr;
  const int status = SSL_ech_get1_status(ssl, &inner, &outer);
  OPENSSL_free(inner);
  OPENSSL_free(outer);
  clear_errors();
  switch (status) {
    case SSL_ECH_STATUS_SUCCESS:
    case SSL_ECH_STATUS_BAD_NAME:  // speaks of a client's certificate, which is not there yet
      return net::EchUse::accepted;
    case SSL_ECH_STATUS_GREASE:
    case SSL_ECH_STATUS_GREASE_ECH: return net::EchUse::refused;
    default: return net::EchUse::none;
  }
}

std::vector<uint8_t> current_hello(SSL* ssl) {
  std::vector<uint8_t> out = {SSL3_MT_CLIENT_HELLO, 0, 0, 0};
  const unsigned char* bytes = nullptr;
  put16(out, SSL_client_hello_get0_legacy_version(ssl));
  size_t size = SSL_client_hello_get0_random(ssl, &bytes);
  put(out, bytes, size);
  size = SSL_client_hello_get0_session_id(ssl, &bytes);
  out.push_back(static_cast<uint8_t>(size));
  put(out, bytes, size);
  size = SSL_client_hello_get0_ciphers(ssl, &bytes);
  put16(out, size);
  put(out, bytes, size);
  size = SSL_client_hello_get0_compression_methods(ssl, &bytes);
  out.push_back(static_cast<uint8_t>(size));
  put(out, bytes, size);
  put_extensions(out, ssl);
  const size_t body = out.size() - 4;
  out[1] = static_cast<uint8_t>(body >> 16);
  out[2] = static_cast<uint8_t>(body >> 8);
  out[3] = static_cast<uint8_t>(body);
  return out;
}

}  // namespace pqedge::crypto

#endif
