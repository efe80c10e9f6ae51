#include "crypto/code_names.h"

#include <algorithm>
#include <array>
#include <format>

#include "base/text.h"
#include "crypto/groups.h"

namespace pqedge::crypto {

namespace {

using Name = CodeName;

constexpr std::array kNamedSchemes{
    Name{0x0401, "rsa_pkcs1_sha256"},
    Name{0x0403, "ecdsa_secp256r1_sha256"},
    Name{0x0503, "ecdsa_secp384r1_sha384"},
    Name{0x0603, "ecdsa_secp521r1_sha512"},
    Name{0x0804, "rsa_pss_rsae_sha256"},
    Name{0x0805, "rsa_pss_rsae_sha384"},
    Name{0x0806, "rsa_pss_rsae_sha512"},
    Name{0x0807, "ed25519"},
    Name{0x0808, "ed448"},
    Name{0x0809, "rsa_pss_pss_sha256"},
    Name{0x080a, "rsa_pss_pss_sha384"},
    Name{0x080b, "rsa_pss_pss_sha512"},
    Name{0x0904, "mldsa44"},
    Name{0x0905, "mldsa65"},
    Name{0x0906, "mldsa87"},
    Name{0x081a, "ecdsa_brainpoolP256r1tls13_sha256"},
    Name{0x0501, "rsa_pkcs1_sha384"},
    Name{0x0601, "rsa_pkcs1_sha512"},
    Name{0x0201, "rsa_pkcs1_sha1"},
    Name{0x0203, "ecdsa_sha1"},
    Name{0x081b, "ecdsa_brainpoolP384r1tls13_sha384"},
    Name{0x081c, "ecdsa_brainpoolP512r1tls13_sha512"},
};

constexpr std::array kNamedSuites{
    Name{0x1301, "TLS_AES_128_GCM_SHA256"},       Name{0x1302, "TLS_AES_256_GCM_SHA384"},
    Name{0x1303, "TLS_CHACHA20_POLY1305_SHA256"}, Name{0x1304, "TLS_AES_128_CCM_SHA256"},
    Name{0x1305, "TLS_AES_128_CCM_8_SHA256"},
};

// RFC 8446 6; RFC 7301 3.2; RFC 8446 6.2.
constexpr std::array kAlerts{
    Name{0, "close_notify"},
    Name{10, "unexpected_message"},
    Name{20, "bad_record_mac"},
    Name{22, "record_overflow"},
    Name{40, "handshake_failure"},
    Name{42, "bad_certificate"},
    Name{43, "unsupported_certificate"},
    Name{44, "certificate_revoked"},
    Name{45, "certificate_expired"},
    Name{46, "certificate_unknown"},
    Name{47, "illegal_parameter"},
    Name{48, "unknown_ca"},
    Name{49, "access_denied"},
    Name{50, "decode_error"},
    Name{51, "decrypt_error"},
    Name{70, "protocol_version"},
    Name{71, "insufficient_security"},
    Name{80, "internal_error"},
    Name{86, "inappropriate_fallback"},
    Name{90, "user_canceled"},
    Name{109, "missing_extension"},
    Name{110, "unsupported_extension"},
    Name{112, "unrecognized_name"},
    Name{113, "bad_certificate_status_response"},
    Name{115, "unknown_psk_identity"},
    Name{116, "certificate_required"},
    Name{120, "no_application_protocol"},
};

constexpr std::array kCompressions{Name{1, "zlib"}, Name{2, "brotli"}, Name{3, "zstd"}};

std::string find(std::span<const Name> names, uint16_t code) {
  const auto found = std::ranges::find(names, code, &Name::code);
  return found == names.end() ? std::format("{:#06x}", code) : std::string(found->name);
}

}  // namespace

std::string group_name(uint16_t code) {
  const Group* group = find_group(code);
  return group == nullptr ? std::format("{:#06x}", code) : std::string(group->name);
}

std::string signature_scheme_name(uint16_t code) { return find(kNamedSchemes, code); }
std::string cipher_suite_name(uint16_t code) { return find(kNamedSuites, code); }
std::string compression_name(uint16_t code) { return find(kCompressions, code); }

std::string alert_name(uint8_t code) {
  const auto found = std::ranges::find(kAlerts, code, &Name::code);
  if (found == kAlerts.end()) return std::format("alert {}", code);
  return std::format("{} ({})", found->name, code);
}

std::span<const CodeName> signature_scheme_names() { return kNamedSchemes; }

std::string_view known_signature_scheme(std::string_view name) {
  for (const CodeName& scheme : kNamedSchemes) {
    if (iequals(scheme.name, name)) return scheme.name;
  }
  return {};
}

}  // namespace pqedge::crypto
