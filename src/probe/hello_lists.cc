// What the probe's ClientHellos ask for.
#include <algorithm>
#include <array>
#include <format>

#include "crypto/code_names.h"
#include "crypto/groups.h"
#include "probe/hello.h"

namespace pqedge::probe {
namespace {

using crypto::CodeName;

// Beyond crypto::known_groups(): IANA, TLS Supported Groups.
constexpr std::array kMoreGroups{
    CodeName{0x6399, "X25519Kyber768Draft00"},  // obsolete
    CodeName{0x639a, "SecP256r1Kyber768Draft00"},
    CodeName{0x001f, "brainpoolP256r1tls13"},
    CodeName{0x0020, "brainpoolP384r1tls13"},
    CodeName{0x0021, "brainpoolP512r1tls13"},
    CodeName{0x0100, "ffdhe2048"},
    CodeName{0x0101, "ffdhe3072"},
    CodeName{0x0102, "ffdhe4096"},
};

// Ephemeral and AEAD first, then what RFC 9325 4.1 advises against.
constexpr std::array kOldSuites{
    CodeName{0xc02b, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
    CodeName{0xc02f, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
    CodeName{0xc02c, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"},
    CodeName{0xc030, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"},
    CodeName{0xcca9, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"},
    CodeName{0xcca8, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"},
    CodeName{0x009e, "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"},
    CodeName{0x009f, "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384"},
    CodeName{0xc009, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"},
    CodeName{0xc013, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"},
    CodeName{0xc00a, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"},
    CodeName{0xc014, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"},
    CodeName{0x0033, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA"},
    CodeName{0x0039, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA"},
};
constexpr std::array kStaticRsaSuites{
    CodeName{0x009c, "TLS_RSA_WITH_AES_128_GCM_SHA256"},
    CodeName{0x009d, "TLS_RSA_WITH_AES_256_GCM_SHA384"},
    CodeName{0x003c, "TLS_RSA_WITH_AES_128_CBC_SHA256"},
    CodeName{0x003d, "TLS_RSA_WITH_AES_256_CBC_SHA256"},
    CodeName{0x002f, "TLS_RSA_WITH_AES_128_CBC_SHA"},
    CodeName{0x0035, "TLS_RSA_WITH_AES_256_CBC_SHA"},
    CodeName{0x000a, "TLS_RSA_WITH_3DES_EDE_CBC_SHA"},
};

template <size_t N>
void append(std::vector<uint16_t>& codes, const std::array<CodeName, N>& names) {
  for (const CodeName& n : names) codes.push_back(n.code);
}

}  // namespace

const std::vector<uint16_t>& all_groups() {
  static const std::vector<uint16_t> groups = [] {
    std::vector<uint16_t> codes;
    for (const crypto::Group& group : crypto::known_groups()) codes.push_back(group.id);
    append(codes, kMoreGroups);
    return codes;
  }();
  return groups;
}

std::string group_label(uint16_t code) {
  const auto found = std::ranges::find(kMoreGroups, code, &CodeName::code);
  return found == kMoreGroups.end() ? crypto::group_name(code) : std::string(found->name);
}

bool is_ml_kem(uint16_t code) {
  const crypto::Group* group = crypto::find_group(code);
  return group != nullptr && group->post_quantum;
}

const std::vector<uint16_t>& tls13_suites() {
  static const std::vector<uint16_t> suites{0x1302, 0x1301, 0x1303, 0x1304, 0x1305};
  return suites;
}

const std::vector<uint16_t>& old_suites() {
  static const std::vector<uint16_t> suites = [] {
    std::vector<uint16_t> codes;
    append(codes, kOldSuites);
    append(codes, kStaticRsaSuites);
    return codes;
  }();
  return suites;
}

const std::vector<uint16_t>& static_rsa_suites() {
  static const std::vector<uint16_t> suites = [] {
    std::vector<uint16_t> codes;
    append(codes, kStaticRsaSuites);
    return codes;
  }();
  return suites;
}

std::string suite_label(uint16_t code) {
  if (const auto found = std::ranges::find(kOldSuites, code, &CodeName::code);
      found != kOldSuites.end()) {
    return std::string(found->name);
  }
  if (const auto found = std::ranges::find(kStaticRsaSuites, code, &CodeName::code);
      found != kStaticRsaSuites.end()) {
    return std::string(found->name);
  }
  return crypto::cipher_suite_name(code);
}

}  // namespace pqedge::probe
