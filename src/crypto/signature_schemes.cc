#include "crypto/signature_schemes.h"

#include <openssl/core_names.h>
#include <openssl/objects.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <limits>

#include "crypto/handles.h"

namespace pqedge::crypto {
namespace {

// What a scheme is about, so that it can be found from a key or from a certificate's signature.
struct Entry {
  std::string name = {};
  uint16_t code = 0;
  std::string key_type = {};  // as EVP_PKEY_is_a() knows it
  std::string key_name = {};  // another; providers give one or the other
  int curve = NID_undef;      // of EC keys
  int digest = NID_undef;
  std::string signature_oid = {};  // dotted, of the signature on a certificate
  bool tls12 = true;
  bool tls13 = true;
};

enum Index : size_t {
  kP256,
  kP384,
  kP521,
  kEd25519,
  kEd448,
  kPssRsae256,
  kPssRsae384,
  kPssRsae512,
  kPssPss256,
  kPssPss384,
  kPssPss512,
  kPkcs256,
  kPkcs384,
  kPkcs512,
};

constexpr SchemeSet bit(size_t index) { return SchemeSet{1} << index; }
constexpr SchemeSet kEcdsa = bit(kP256) | bit(kP384) | bit(kP521);
constexpr SchemeSet kEdwards = bit(kEd25519) | bit(kEd448);
constexpr SchemeSet kPkcs1 = bit(kPkcs256) | bit(kPkcs384) | bit(kPkcs512);
constexpr SchemeSet kPss = bit(kPssRsae256) | bit(kPssRsae384) | bit(kPssRsae512) |
                           bit(kPssPss256) | bit(kPssPss384) | bit(kPssPss512);
constexpr size_t kMostSchemes = std::numeric_limits<SchemeSet>::digits;

// RFC 8446 4.2.3, in the order of Index.
std::vector<Entry> classical_entries() {
  return {
      {"ecdsa_secp256r1_sha256", 0x0403, "EC", "", NID_X9_62_prime256v1, NID_sha256},
      {"ecdsa_secp384r1_sha384", 0x0503, "EC", "", NID_secp384r1, NID_sha384},
      {"ecdsa_secp521r1_sha512", 0x0603, "EC", "", NID_secp521r1, NID_sha512},
      {"ed25519", 0x0807, "ED25519"},
      {"ed448", 0x0808, "ED448"},
      {"rsa_pss_rsae_sha256", 0x0804, "RSA", "", NID_undef, NID_sha256},
      {"rsa_pss_rsae_sha384", 0x0805, "RSA", "", NID_undef, NID_sha384},
      {"rsa_pss_rsae_sha512", 0x0806, "RSA", "", NID_undef, NID_sha512},
      {"rsa_pss_pss_sha256", 0x0809, "RSA-PSS", "", NID_undef, NID_sha256},
      {"rsa_pss_pss_sha384", 0x080a, "RSA-PSS", "", NID_undef, NID_sha384},
      {"rsa_pss_pss_sha512", 0x080b, "RSA-PSS", "", NID_undef, NID_sha512},
      {.name = "rsa_pkcs1_sha256",
       .code = 0x0401,
       .key_type = "RSA",
       .digest = NID_sha256,
       .tls13 = false},
      {.name = "rsa_pkcs1_sha384",
       .code = 0x0501,
       .key_type = "RSA",
       .digest = NID_sha384,
       .tls13 = false},
      {.name = "rsa_pkcs1_sha512",
       .code = 0x0601,
       .key_type = "RSA",
       .digest = NID_sha512,
       .tls13 = false},
  };
}

std::string text_of(const OSSL_PARAM params[], const char* key) {
  const OSSL_PARAM* p = OSSL_PARAM_locate_const(params, key);
  const char* text = nullptr;
  if (p == nullptr || OSSL_PARAM_get_utf8_string_ptr(p, &text) != 1 || text == nullptr) return {};
  return text;
}

// One signature algorithm that a provider has for TLS (provider-base(7), TLS-SIGALG): ML-DSA comes
// this way, and whatever a library or a loaded provider knows beyond it.
int add_capability(const OSSL_PARAM params[], void* into) {
  auto& entries = *static_cast<std::vector<Entry>*>(into);
  Entry entry;
  unsigned int code = 0;
  int least_tls = 0;
  int most_tls = 0;
  const OSSL_PARAM* p = OSSL_PARAM_locate_const(params, OSSL_CAPABILITY_TLS_SIGALG_CODE_POINT);
  if (p == nullptr || OSSL_PARAM_get_uint(p, &code) != 1 || code > 0xffff) return 1;
  if ((p = OSSL_PARAM_locate_const(params, OSSL_CAPABILITY_TLS_SIGALG_MIN_TLS)) != nullptr) {
    OSSL_PARAM_get_int(p, &least_tls);
  }
  if ((p = OSSL_PARAM_locate_const(params, OSSL_CAPABILITY_TLS_SIGALG_MAX_TLS)) != nullptr) {
    OSSL_PARAM_get_int(p, &most_tls);
  }
  entry.name = text_of(params, OSSL_CAPABILITY_TLS_SIGALG_IANA_NAME);
  entry.code = static_cast<uint16_t>(code);
  entry.key_type = text_of(params, OSSL_CAPABILITY_TLS_SIGALG_KEYTYPE);
  entry.key_name = text_of(params, OSSL_CAPABILITY_TLS_SIGALG_NAME);
  if (entry.key_type.empty()) entry.key_type = entry.key_name;
  entry.signature_oid = text_of(params, OSSL_CAPABILITY_TLS_SIGALG_OID);
  entry.tls12 = least_tls != -1 && least_tls <= TLS1_2_VERSION;
  entry.tls13 = most_tls == 0 || most_tls >= TLS1_3_VERSION;
  const bool known =
      std::ranges::any_of(entries, [&](const Entry& e) { return e.code == entry.code; });
  if (!known && !entry.name.empty() && entries.size() < kMostSchemes) {
    entries.push_back(std::move(entry));
  }
  return 1;
}

// All schemes, and a fast way from a code to its bit.
class Table {
 public:
  Table() : entries_(classical_entries()) {
    // A provider's algorithms exist only once it is loaded: fetching loads the default one.
    const CipherPtr any(EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr));
    OSSL_PROVIDER_do_all(
        nullptr,
        [](OSSL_PROVIDER* provider, void* into) {
          OSSL_PROVIDER_get_capabilities(provider, "TLS-SIGALG", add_capability, into);
          return 1;
        },
        &entries_);
    take_openssl_error();
    by_code_.fill(-1);
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].code < by_code_.size()) {
        by_code_[entries_[i].code] = static_cast<int8_t>(i);
      }
      if (entries_[i].tls12) tls12_ |= bit(i);
      if (entries_[i].tls13) tls13_ |= bit(i);
      public_.push_back({entries_[i].name, entries_[i].code});
    }
  }

  SchemeSet bit_of(uint16_t code) const {
    if (code < by_code_.size()) return by_code_[code] < 0 ? 0 : bit(size_t(by_code_[code]));
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].code == code) return bit(i);
    }
    return 0;
  }
  const std::vector<Entry>& entries() const { return entries_; }
  std::span<const SignatureScheme> schemes() const { return public_; }
  SchemeSet tls12() const { return tls12_; }
  SchemeSet tls13() const { return tls13_; }

 private:
  std::vector<Entry> entries_;
  std::vector<SignatureScheme> public_;
  std::array<int8_t, 0x1000> by_code_;
  SchemeSet tls12_ = 0;
  SchemeSet tls13_ = 0;
};

const Table& table() {
  static const Table instance;
  return instance;
}

// ---- TLS 1.2 ---------------------------------------------------------------------------------

// There the cipher suite says what kind of key signs (RFC 8422 2).
bool has_suite(const ClientHello& hello, std::initializer_list<uint16_t> suites) {
  return std::ranges::any_of(suites, [&](uint16_t s) { return hello.cipher_suites.contains(s); });
}

// ecdsa_secp256r1_sha256 there means any curve with that hash; the curve has to be among the groups
// (RFC 8422 5.3).
SchemeSet tls12_curves(const ClientHello& hello) {
  constexpr uint16_t kGroups[] = {23, 24, 25};  // RFC 8422 5.1.1
  SchemeSet set = 0;
  for (size_t i = 0; i < std::size(kGroups); ++i) {
    if (hello.supported_groups.empty() || hello.supported_groups.contains(kGroups[i])) {
      set |= bit(kP256 + i);
    }
  }
  return set;
}

SchemeSet tls12_leaf(const ClientHello& hello, SchemeSet listed) {
  // Suites with AES-GCM and ChaCha20 (RFC 5289, RFC 7905): the only ones that are offered.
  const bool ecdsa = has_suite(hello, {0xc02b, 0xc02c, 0xcca9});
  const bool rsa = has_suite(hello, {0xc02f, 0xc030, 0xcca8});
  SchemeSet set = listed & table().tls12() & ~kEcdsa;
  if ((listed & kEcdsa) != 0) set |= tls12_curves(hello);
  if (!ecdsa) set &= ~(kEcdsa | kEdwards);
  if (!rsa) set &= ~(kPkcs1 | kPss);
  return set;
}

}  // namespace

std::span<const SignatureScheme> signature_schemes() { return table().schemes(); }

SchemeSet scheme_set(U16List codes) {
  SchemeSet set = 0;
  for (size_t i = 0; i < codes.size(); ++i) set |= table().bit_of(codes[i]);
  return set;
}

SchemeSet scheme_set(const std::vector<std::string>& names) {
  if (names.empty()) return ~SchemeSet{0};
  SchemeSet set = 0;
  const auto& entries = table().entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (std::ranges::contains(names, entries[i].name)) set |= bit(i);
  }
  return set;
}

SchemeSet scheme_set_of_list(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const size_t end = std::min(list.find(':'), list.size());
    names.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return scheme_set(names);
}

ClientSignatures client_signatures(const ClientHello& hello) {
  // RFC 5246 7.4.1.4.1 gives a client without the extension SHA-1, which is not served: what it can
  // verify is unknown, and the suites decide.
  const SchemeSet listed =
      hello.signature_algorithms.empty() ? kEcdsa | kPkcs1 : scheme_set(hello.signature_algorithms);
  ClientSignatures client;
  client.chain = hello.signature_algorithms_cert.empty()
                     ? listed
                     : scheme_set(hello.signature_algorithms_cert);
  client.leaf = hello.supported_versions.contains(TLS1_3_VERSION) ? listed & table().tls13()
                                                                  : tls12_leaf(hello, listed);
  return client;
}

SchemeSet schemes_of_key(const EVP_PKEY* key) {
  char curve_name[64] = {};
  int curve = NID_undef;
  if (EVP_PKEY_is_a(key, "EC") == 1 &&
      EVP_PKEY_get_group_name(key, curve_name, sizeof curve_name, nullptr) == 1) {
    curve = OBJ_sn2nid(curve_name);
  }
  // A key of RSASSA-PSS may be for one hash alone (RFC 4055 3.1).
  char digest_name[64] = {};
  int digest = NID_undef;
  if (EVP_PKEY_is_a(key, "RSA-PSS") == 1 &&
      EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_RSA_DIGEST, digest_name,
                                     sizeof digest_name, nullptr) == 1) {
    const EVP_MD* one = EVP_get_digestbyname(digest_name);
    digest = one == nullptr ? NID_undef : EVP_MD_get_type(one);
  }
  take_openssl_error();
  SchemeSet set = 0;
  const auto& entries = table().entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& e = entries[i];
    if (EVP_PKEY_is_a(key, e.key_type.c_str()) != 1 &&
        (e.key_name.empty() || EVP_PKEY_is_a(key, e.key_name.c_str()) != 1)) {
      continue;
    }
    if (e.curve != NID_undef && e.curve != curve) continue;
    if (digest != NID_undef && e.digest != digest) continue;
    set |= bit(i);
  }
  return set;
}

SchemeSet schemes_of_signature(const X509* certificate) {
  int digest = NID_undef;
  int key = NID_undef;
  X509_get_signature_info(const_cast<X509*>(certificate), &digest, &key, nullptr, nullptr);
  const ASN1_OBJECT* algorithm = nullptr;
  X509_ALGOR_get0(&algorithm, nullptr, nullptr, X509_get0_tbs_sigalg(certificate));
  char oid[80] = {};
  OBJ_obj2txt(oid, sizeof oid, algorithm, 1);
  const int nid = OBJ_obj2nid(algorithm);
  take_openssl_error();
  SchemeSet set = 0;
  const auto& entries = table().entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& e = entries[i];
    bool fits = !e.signature_oid.empty() && e.signature_oid == oid;
    if (e.digest == digest && digest != NID_undef) {
      if (key == NID_X9_62_id_ecPublicKey) fits = (bit(i) & kEcdsa) != 0;
      if (key == NID_rsaEncryption) fits = (bit(i) & kPkcs1) != 0;
      if (nid == NID_rsassaPss) fits = (bit(i) & kPss) != 0;
    }
    if (nid == NID_ED25519 || nid == NID_ED448) fits = OBJ_sn2nid(e.key_type.c_str()) == nid;
    if (fits) set |= bit(i);
  }
  return set;
}

}  // namespace pqedge::crypto
