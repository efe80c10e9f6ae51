#include "jobs/acme/account_key.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

#include <array>
#include <format>

#include "base/base64.h"
#include "base/text.h"

namespace pqedge::acme {
namespace {

constexpr size_t kScalar = 32;  // bytes of a number of P-256

using EcdsaSigPtr = std::unique_ptr<ECDSA_SIG, crypto::FreeWith<ECDSA_SIG_free>>;
using DigestContextPtr = std::unique_ptr<EVP_MD_CTX, crypto::FreeWith<EVP_MD_CTX_free>>;
using NumberPtr = std::unique_ptr<BIGNUM, crypto::FreeWith<BN_free>>;

Result<std::string> coordinate(const EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  const bool got = EVP_PKEY_get_bn_param(key, name, &number) == 1;
  const NumberPtr owner(number);
  std::array<uint8_t, kScalar> bytes;
  if (!got || BN_bn2binpad(number, bytes.data(), bytes.size()) != static_cast<int>(kScalar)) {
    return fail("the account key cannot be read: {}", crypto::take_openssl_error());
  }
  return base64url(Bytes(bytes));
}

std::string jws(std::string_view header, std::string_view payload, std::string_view signature) {
  return std::format("{{\"protected\":\"{}\",\"payload\":\"{}\",\"signature\":\"{}\"}}", header,
                     payload, signature);
}

// JOSE writes r and s one after the other (RFC 7518 3.4), OpenSSL a DER sequence of them.
Result<std::string> raw_signature(const uint8_t* der, size_t size) {
  const EcdsaSigPtr both(d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(size)));
  std::array<uint8_t, 2 * kScalar> raw;
  if (both == nullptr ||
      BN_bn2binpad(ECDSA_SIG_get0_r(both.get()), raw.data(), kScalar) != kScalar ||
      BN_bn2binpad(ECDSA_SIG_get0_s(both.get()), raw.data() + kScalar, kScalar) != kScalar) {
    return fail("an ES256 signature cannot be encoded: {}", crypto::take_openssl_error());
  }
  return base64url(Bytes(raw));
}

}  // namespace

std::string sha256(std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(as_bytes(text).data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

Result<AccountKey> AccountKey::generate() {
  crypto::clear_errors();
  AccountKey out{crypto::KeyPtr(EVP_EC_gen("P-256"))};
  if (out.key_ == nullptr) {
    return fail("an account key cannot be made: {}", crypto::take_openssl_error());
  }
  if (auto ok = out.describe(); !ok) return std::unexpected(ok.error());
  return out;
}

Result<AccountKey> AccountKey::from_pem(std::string_view pem, const std::string& file) {
  crypto::clear_errors();
  const crypto::BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  AccountKey out{
      crypto::KeyPtr(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr))};
  char group[32] = {};
  if (out.key_ == nullptr) {
    return fail("{}: the account key cannot be read: {}", file, crypto::take_openssl_error());
  }
  if (EVP_PKEY_get_group_name(out.key_.get(), group, sizeof group, nullptr) != 1 ||
      std::string_view(group) != SN_X9_62_prime256v1) {
    crypto::take_openssl_error();
    return fail("{} is no ECDSA P-256 key, which ES256 needs", file);
  }
  if (auto ok = out.describe(); !ok) return std::unexpected(ok.error());
  return out;
}

Result<std::string> AccountKey::to_pem() const {
  const crypto::BioPtr bio(BIO_new(BIO_s_secmem()));
  if (bio == nullptr || PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0,
                                                      nullptr, nullptr) != 1) {
    return fail("the account key cannot be written: {}", crypto::take_openssl_error());
  }
  const char* text = nullptr;
  const long n = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<size_t>(n));
}

Result<void> AccountKey::describe() {
  const auto x = coordinate(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X);
  if (!x) return std::unexpected(x.error());
  const auto y = coordinate(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y);
  if (!y) return std::unexpected(y.error());
  jwk_ = std::format(R"({{"crv":"P-256","kty":"EC","x":"{}","y":"{}"}})", *x, *y);
  thumbprint_ = base64url(sha256(jwk_));
  return {};
}

Result<std::string> AccountKey::sign(std::string_view header, std::string_view payload) const {
  const std::string encoded_header = base64url(header);
  const std::string encoded_payload = base64url(payload);
  const std::string input = encoded_header + "." + encoded_payload;
  crypto::clear_errors();
  const DigestContextPtr context(EVP_MD_CTX_new());
  std::array<uint8_t, 128> der;
  size_t size = der.size();
  if (context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), der.data(), &size, as_bytes(input).data(), input.size()) != 1) {
    return fail("a request cannot be signed: {}", crypto::take_openssl_error());
  }
  const auto signature = raw_signature(der.data(), size);
  if (!signature) return std::unexpected(signature.error());
  return jws(encoded_header, encoded_payload, *signature);
}

std::string external_account_binding(std::string_view key_id, std::string_view mac_key,
                                     std::string_view url, std::string_view jwk) {
  std::string header = R"({"alg":"HS256","kid":")";
  append_json_escaped(header, key_id);
  header += R"(","url":")";
  append_json_escaped(header, url);
  header += "\"}";
  const std::string encoded_header = base64url(header);
  const std::string encoded_payload = base64url(jwk);
  const std::string input = encoded_header + "." + encoded_payload;
  std::array<uint8_t, SHA256_DIGEST_LENGTH> mac;
  unsigned int size = mac.size();
  HMAC(EVP_sha256(), mac_key.data(), static_cast<int>(mac_key.size()), as_bytes(input).data(),
       input.size(), mac.data(), &size);
  return jws(encoded_header, encoded_payload, base64url(Bytes(mac)));
}

}  // namespace pqedge::acme
