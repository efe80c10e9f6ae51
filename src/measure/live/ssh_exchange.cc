#include "measure/live/ssh_exchange.h"

#include <openssl/sha.h>

#include "measure/live/ssh_wire.h"

namespace pqedge::measure::live {

namespace {

using KeyContext = std::unique_ptr<EVP_PKEY_CTX, crypto::FreeWith<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, crypto::FreeWith<EVP_MD_CTX_free>>;

constexpr size_t kCurveBytes = 32;
constexpr size_t kKemCiphertext = 1088;

bool append_public(const EVP_PKEY* key, std::vector<uint8_t>& out) {
  size_t size = 0;
  if (EVP_PKEY_get_raw_public_key(key, nullptr, &size) != 1) return false;
  const size_t before = out.size();
  out.resize(before + size);
  return EVP_PKEY_get_raw_public_key(key, out.data() + before, &size) == 1;
}

Result<std::vector<uint8_t>> derive(EVP_PKEY* own, Bytes theirs) {
  const crypto::KeyPtr peer(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, theirs.data(), theirs.size()));
  const KeyContext context(EVP_PKEY_CTX_new(own, nullptr));
  std::vector<uint8_t> secret(kCurveBytes);
  size_t size = secret.size();
  // OpenSSL refuses the all-zero result of a point of small order, as RFC 8731 3 asks.
  if (peer == nullptr || EVP_PKEY_derive_init(context.get()) != 1 ||
      EVP_PKEY_derive_set_peer(context.get(), peer.get()) != 1 ||
      EVP_PKEY_derive(context.get(), secret.data(), &size) != 1 || size != kCurveBytes) {
    return fail("X25519 with the server's share: {}", crypto::take_openssl_error());
  }
  return secret;
}

Result<std::vector<uint8_t>> decapsulate(EVP_PKEY* own, Bytes ciphertext) {
  const KeyContext context(EVP_PKEY_CTX_new(own, nullptr));
  std::vector<uint8_t> secret(32);
  size_t size = secret.size();
  if (EVP_PKEY_decapsulate_init(context.get(), nullptr) != 1 ||
      EVP_PKEY_decapsulate(context.get(), secret.data(), &size, ciphertext.data(),
                           ciphertext.size()) != 1 ||
      size != secret.size()) {
    return fail("ML-KEM-768 with the server's ciphertext: {}", crypto::take_openssl_error());
  }
  return secret;
}

}  // namespace

std::vector<uint8_t> sha256(Bytes data) {
  std::vector<uint8_t> digest(SHA256_DIGEST_LENGTH);
  SHA256(data.data(), data.size(), digest.data());
  return digest;
}

Result<SshExchange> SshExchange::make(std::string_view method) {
  SshExchange exchange;
  const bool hybrid = method == "mlkem768x25519-sha256";
  if (!hybrid && method != "curve25519-sha256" && method != "curve25519-sha256@libssh.org") {
    return fail("{}: this key exchange is not made here; those are: {}", method, kSshMethods);
  }
  if (hybrid) {
    exchange.kem_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "ML-KEM-768"));
    if (exchange.kem_ == nullptr || !append_public(exchange.kem_.get(), exchange.share_)) {
      return fail("ML-KEM-768: {}", crypto::take_openssl_error());
    }
  }
  exchange.curve_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"));
  if (exchange.curve_ == nullptr || !append_public(exchange.curve_.get(), exchange.share_)) {
    return fail("X25519: {}", crypto::take_openssl_error());
  }
  return exchange;
}

Result<std::vector<uint8_t>> SshExchange::secret(Bytes server_share) const {
  if (server_share.size() != reply_size()) {
    return fail("the server's share has {} bytes, not {}", server_share.size(), reply_size());
  }
  if (kem_ == nullptr) {
    auto shared = derive(curve_.get(), server_share);
    if (!shared) return shared;
    return SshWriter().mpint(*shared).bytes();
  }
  // K = SHA-256(K_PQ || K_CL), encoded as a string (RFC 10042).
  auto secret = decapsulate(kem_.get(), server_share.first(kKemCiphertext));
  if (!secret) return secret;
  auto classical = derive(curve_.get(), server_share.subspan(kKemCiphertext));
  if (!classical) return classical;
  secret->insert(secret->end(), classical->begin(), classical->end());
  return SshWriter().string(sha256(*secret)).bytes();
}

Result<bool> verify_ed25519(Bytes host_key, Bytes signature, Bytes exchange_hash) {
  SshReader key(host_key);
  SshReader sealed(signature);
  if (as_text(key.string()) != "ssh-ed25519" || as_text(sealed.string()) != "ssh-ed25519") {
    return fail("only ssh-ed25519 signatures are verified here");
  }
  const Bytes point = key.string();
  const Bytes raw = sealed.string();
  const crypto::KeyPtr peer(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, point.data(), point.size()));
  const DigestContext context(EVP_MD_CTX_new());
  if (peer == nullptr ||
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, peer.get()) != 1) {
    return fail("the host key: {}", crypto::take_openssl_error());
  }
  const bool good = EVP_DigestVerify(context.get(), raw.data(), raw.size(), exchange_hash.data(),
                                     exchange_hash.size()) == 1;
  if (!good) crypto::take_openssl_error();
  return good;
}

}  // namespace pqedge::measure::live
