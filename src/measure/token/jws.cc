#include "measure/token/jws.h"

#include <array>
#include <format>

#include "base/base64.h"

namespace pqedge::measure {
namespace {

constexpr std::string_view kRfc7518 = "RFC 7518 3.1";
constexpr std::string_view kRfc9964 = "RFC 9964";
constexpr std::string_view kSlhDraft = "draft name: draft-ietf-cose-sphincs-plus";

constexpr std::array<JoseAlgorithm, 11> kAlgorithms{{
    {"ES256", "ES256", "ECDSA-P256", true, kRfc7518},
    {"PS256, RSA-2048", "PS256", "RSA-2048", true, kRfc7518},
    {"PS256, RSA-3072", "PS256", "RSA-3072", true, kRfc7518},
    {"Ed25519", "Ed25519", "Ed25519", true, "RFC 9864"},
    {"FN-DSA-512", "FN-DSA-512", "Falcon-512", false,
     "draft name: draft-ietf-cose-falcon; the signature is Falcon-512 of round 3, not FN-DSA, "
     "whose "
     "standard (FIPS 206) is not published"},
    {"ML-DSA-44", "ML-DSA-44", "ML-DSA-44", true, kRfc9964},
    {"ML-DSA-65", "ML-DSA-65", "ML-DSA-65", true, kRfc9964},
    {"ML-DSA-87", "ML-DSA-87", "ML-DSA-87", true, kRfc9964},
    {"SLH-DSA-SHA2-128s", "SLH-DSA-SHA2-128s", "SLH-DSA-SHA2-128s", false, kSlhDraft},
    {"SLH-DSA-SHAKE-128s", "SLH-DSA-SHAKE-128s", "SLH-DSA-SHAKE-128s", false, kSlhDraft},
    {"SLH-DSA-SHA2-128f", "SLH-DSA-SHA2-128f", "SLH-DSA-SHA2-128f", false, kSlhDraft},
}};

}  // namespace

std::span<const JoseAlgorithm> jose_algorithms() { return kAlgorithms; }

Result<Jws> sign_token(TokenSigner& signer, std::string_view alg, std::string_view claims) {
  Jws token;
  token.header = base64url(as_bytes(std::format(R"({{"alg":"{}","typ":"JWT"}})", alg)));
  token.payload = base64url(as_bytes(claims));
  const std::string input = token.header + "." + token.payload;  // RFC 7515 5.1
  const auto signature = signer.sign(as_bytes(input));
  if (!signature) return std::unexpected(signature.error());
  token.signature = base64url(*signature);
  token.signature_raw = signature->size();
  const auto good = verify_token(signer, token.compact());
  if (!good) return std::unexpected(good.error());
  if (!*good) return fail("a token of {} does not verify with its own key", alg);
  return token;
}

Result<bool> verify_token(TokenSigner& signer, std::string_view compact) {
  const size_t first = compact.find('.');
  const size_t second = compact.find('.', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos || compact.find('.', second + 1) != std::string_view::npos) {
    return fail("a compact token has three parts (RFC 7515 7.1)");
  }
  const auto signature = from_base64url(compact.substr(second + 1));
  if (!from_base64url(compact.substr(0, first)) ||
      !from_base64url(compact.substr(first + 1, second - first - 1)) || !signature) {
    return fail("a part of the token is not base64url");
  }
  return signer.verify(as_bytes(compact.substr(0, second)), as_bytes(*signature));
}

}  // namespace pqedge::measure
