#include "crypto/ticket_files.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <format>
#include <optional>

#include "base/file.h"
#include "crypto/handles.h"
#include "net/socket.h"

namespace pqedge::crypto {
namespace {

constexpr size_t kMaxPem = 64 * 1024;
constexpr size_t kMaxPassphrase = 1024;

// Wiped with the scope.
struct Secret {
  std::string text;
  Secret() = default;
  Secret(Secret&& o) noexcept : text(std::move(o.text)) {}
  ~Secret() { OPENSSL_cleanse(text.data(), text.capacity()); }
};

// `forbidden`: bits of the mode that must not be set.
Result<void> read_whole(const std::string& file, size_t most, mode_t forbidden,
                        std::string_view advice, std::string& out) {
  // Not to wait for the writer of a FIFO.
  const net::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0) return fail_errno(errno, "{}: cannot be read", file);
  if (!S_ISREG(info.st_mode)) return fail("{}: is not a file", file);
  if ((info.st_mode & forbidden) != 0) {
    return fail("{}: its mode is {:04o}; {}", file, info.st_mode & 07777u, advice);
  }
  if (static_cast<uint64_t>(info.st_size) > most) {
    return fail("{}: is larger than {} bytes, which nothing of its kind is", file, most);
  }
  // One byte more, to see the end; never moved, so that no copy stays in memory.
  out.resize(static_cast<size_t>(info.st_size) + 1);
  size_t used = 0;
  while (used < out.size()) {
    const ssize_t n = ::read(fd.get(), out.data() + used, out.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "{}: cannot be read", file);
    if (n == 0) break;
    used += static_cast<size_t>(n);
  }
  if (used == out.size()) return fail("{}: grew while it was read; try again", file);
  out.resize(used);
  return {};
}

constexpr std::string_view kOwnerOnly = "only its owner may read it: chmod 600";

Result<Secret> read_passphrase(const std::string& file) {
  Secret secret;
  if (file.empty()) return secret;
  if (auto ok = read_whole(file, kMaxPassphrase, 077, kOwnerOnly, secret.text); !ok) {
    return std::unexpected(ok.error());
  }
  const size_t line = std::min(secret.text.find_first_of("\r\n"), secret.text.size());
  OPENSSL_cleanse(secret.text.data() + line, secret.text.size() - line);
  secret.text.resize(line);
  if (secret.text.empty()) return fail("{}: its first line is empty, and so no passphrase", file);
  return secret;
}

struct Asked {
  const Secret& passphrase;
  bool asked = false;
};

// Never asks a terminal.
int give_passphrase(char* buffer, int size, int, void* context) {
  auto& a = *static_cast<Asked*>(context);
  a.asked = true;
  const std::string& text = a.passphrase.text;
  if (text.empty() || text.size() > static_cast<size_t>(size)) return -1;
  std::ranges::copy(text, buffer);
  return static_cast<int>(text.size());
}

BioPtr memory_bio(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string_view text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(std::max(size, 0L))};
}

}  // namespace

Result<KemKey> load_kem_private_key(const std::string& file, const std::string& passphrase_file) {
  auto passphrase = read_passphrase(passphrase_file);
  if (!passphrase) return std::unexpected(passphrase.error());
  Secret pem;
  if (auto ok = read_whole(file, kMaxPem, 077, kOwnerOnly, pem.text); !ok) {
    return std::unexpected(ok.error());
  }
  clear_errors();
  Asked asked{*passphrase};
  const BioPtr bio = memory_bio(pem.text);
  const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, give_passphrase, &asked));
  if (key == nullptr) {
    const std::string reason = take_openssl_error();
    if (asked.asked && passphrase_file.empty()) {
      return fail("{}: is encrypted; name the file of its passphrase (passphrase_file)", file);
    }
    if (asked.asked) {
      return fail("{}: the passphrase in {} does not open it", file, passphrase_file);
    }
    return fail("{}: holds no private key in PEM ({})", file, reason);
  }
  if (!is_kem_key(key.get())) {
    const char* name = EVP_PKEY_get0_type_name(key.get());
    return fail(
        "{}: is a key of {}, not of ML-KEM-1024; make one: openssl genpkey -algorithm "
        "ML-KEM-1024 -out FILE",
        file, name == nullptr ? "another kind" : name);
  }
  EVP_PKEY_up_ref(key.get());
  return KemKey(key.get(), [](EVP_PKEY* k) { EVP_PKEY_free(k); });
}

Result<KemPublicKey> load_kem_public_key(const std::string& file) {
  std::string pem;
  if (auto ok = read_whole(file, kMaxPem, 0, {}, pem); !ok) return std::unexpected(ok.error());
  clear_errors();
  const BioPtr bio = memory_bio(pem);
  const KeyPtr key(PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr));
  KemPublicKey out;
  if (key == nullptr || !is_kem_key(key.get()) || !kem_public_bytes(key.get(), out)) {
    take_openssl_error();
    return fail("{}: holds no ML-KEM-1024 public key in PEM (openssl pkey -in PRIVATE -pubout)",
                file);
  }
  return out;
}

Result<KemKey> make_kem_key_files(const std::string& file, const std::string& passphrase_file) {
  auto passphrase = read_passphrase(passphrase_file);
  if (!passphrase) return std::unexpected(passphrase.error());
  clear_errors();
  KemKey key = kem_generate();
  const BioPtr secret(BIO_new(BIO_s_secmem()));
  const BioPtr open(BIO_new(BIO_s_mem()));
  std::string& text = passphrase->text;
  const EVP_CIPHER* cipher = text.empty() ? nullptr : EVP_aes_256_cbc();
  const bool made = key != nullptr && secret != nullptr && open != nullptr &&
                    PEM_write_bio_PKCS8PrivateKey(
                        secret.get(), key.get(), cipher, text.empty() ? nullptr : text.data(),
                        static_cast<int>(text.size()), nullptr, nullptr) == 1 &&
                    PEM_write_bio_PUBKEY(open.get(), key.get()) == 1;
  if (!made) return fail("no ML-KEM-1024 key can be made: {}", take_openssl_error());
  if (auto ok = write_file(file, text_of(secret.get()), {.replace = false}); !ok) {
    return std::unexpected(ok.error());
  }
  if (auto ok = write_file(file + ".pub", text_of(open.get())); !ok) {
    return std::unexpected(ok.error());
  }
  return key;
}

Result<std::vector<uint8_t>> read_ticket_store_file(const std::string& file) {
  std::string text;
  if (auto ok = read_whole(file, kMaxTicketStore, 022,
                           "others could put their own keys into it: chmod go-w", text);
      !ok) {
    return std::unexpected(ok.error());
  }
  return std::vector<uint8_t>(text.begin(), text.end());
}

Result<TicketStore> load_ticket_store(const std::string& file, EVP_PKEY* private_key) {
  const auto bytes = read_ticket_store_file(file);
  if (!bytes) return std::unexpected(bytes.error());
  auto store = open_ticket_store(*bytes, private_key);
  if (!store) return fail("{}: {}", file, store.error().message);
  return store;
}

Result<void> save_ticket_store(const std::string& file, const TicketStore& store) {
  const auto sealed = seal_ticket_store(store);
  if (!sealed) return fail("{}: {}", file, sealed.error().message);
  return write_file(file, as_text(*sealed));
}

Result<TicketStoreLock> TicketStoreLock::take(const std::string& file) {
  const std::string name = file + ".lock";
  const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return fail_errno(errno, "{}: cannot be made", name);
  TicketStoreLock lock(fd);
  while (::flock(fd, LOCK_EX) != 0) {
    if (errno != EINTR) return fail_errno(errno, "{}: cannot be locked", name);
  }
  return lock;
}

TicketStoreLock::~TicketStoreLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace pqedge::crypto
