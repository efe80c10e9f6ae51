#include "measure/chain/mint.h"

#include <openssl/conf.h>
#include <openssl/rand.h>

#include <array>
#include <utility>

#include "measure/chain/profile.h"
#include "measure/chain/sct.h"
#include "measure/chain/staple.h"

namespace pqedge::measure {

using crypto::FreeWith;
using crypto::KeyPtr;
using crypto::take_openssl_error;
using crypto::X509Ptr;

namespace {

constexpr long kHour = 3600;
constexpr long kDays = 90;
constexpr size_t kSerialBytes = 20;  // the most that RFC 5280 4.1.2.2 allows, as authorities use

using ExtensionPtr = std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>>;
using OctetsPtr = std::unique_ptr<ASN1_OCTET_STRING, FreeWith<ASN1_OCTET_STRING_free>>;
using ConfigPtr = std::unique_ptr<CONF, FreeWith<NCONF_free>>;
using NumberPtr = std::unique_ptr<BIGNUM, FreeWith<BN_free>>;

bool set_serial(X509* certificate) {
  std::array<unsigned char, kSerialBytes> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
  // Positive, and of the full length whatever the dice say: sizes do not vary by it.
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x3f) | 0x40);
  const NumberPtr number(BN_bin2bn(bytes.data(), bytes.size(), nullptr));
  return BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_name(X509_NAME* name, const ProfileName& parts) {
  for (const auto& [type, text] : parts) {
    const int encoding = std::string_view(type) == "C" ? MBSTRING_ASC : MBSTRING_UTF8;
    if (X509_NAME_add_entry_by_txt(name, type, encoding,
                                   reinterpret_cast<const unsigned char*>(text), -1, -1, 0) != 1) {
      return false;
    }
  }
  return true;
}

bool add_extensions(X509* certificate, X509* issuer, const ProfileExtensions& extensions) {
  // Policies are only read with a configuration at hand, if it is an empty one.
  const ConfigPtr empty(NCONF_new(nullptr));
  for (const auto& [nid, value] : extensions) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509V3_set_nconf(&context, empty.get());
    const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
    if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1) return false;
  }
  return true;
}

// The list is an OCTET STRING inside the extension's own (RFC 6962 3.3).
bool embed_scts(X509* certificate, const std::vector<uint8_t>& list) {
  const OctetsPtr inner(ASN1_OCTET_STRING_new());
  const OctetsPtr outer(ASN1_OCTET_STRING_new());
  if (!inner || !outer ||
      ASN1_OCTET_STRING_set(inner.get(), list.data(), static_cast<int>(list.size())) != 1) {
    return false;
  }
  unsigned char* der = nullptr;
  const int length = i2d_ASN1_OCTET_STRING(inner.get(), &der);
  if (length <= 0) return false;
  const bool set = ASN1_OCTET_STRING_set(outer.get(), der, length) == 1;
  OPENSSL_free(der);
  const ExtensionPtr extension(
      X509_EXTENSION_create_by_NID(nullptr, NID_ct_precert_scts, 0, outer.get()));
  return set && extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

struct Request {
  const ProfileName& subject;
  const ProfileExtensions& extensions;
  EVP_PKEY* key;
  X509* issuer;  // null: self-signed
  EVP_PKEY* issuer_key;
  const ChainAlgorithm* issuer_algorithm;
  const std::vector<uint8_t>* scts = nullptr;
};

Result<X509Ptr> issue(const Request& request) {
  crypto::clear_errors();
  X509Ptr certificate(X509_new());
  X509* x = certificate.get();
  X509* issuer = request.issuer == nullptr ? x : request.issuer;
  const bool made = x != nullptr && X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x) &&
                    X509_gmtime_adj(X509_getm_notBefore(x), -kHour) != nullptr &&
                    X509_gmtime_adj(X509_getm_notAfter(x), kDays * 24 * kHour) != nullptr &&
                    set_name(X509_get_subject_name(x), request.subject) &&
                    X509_set_issuer_name(x, X509_get_subject_name(issuer)) == 1 &&
                    X509_set_pubkey(x, request.key) == 1 &&
                    add_extensions(x, issuer, request.extensions) &&
                    (request.scts == nullptr || embed_scts(x, *request.scts)) &&
                    X509_sign(x, request.issuer_key, signing_digest(*request.issuer_algorithm)) > 0;
  if (!made) {
    return fail("cannot make a certificate signed by {}: {}", request.issuer_algorithm->name,
                take_openssl_error());
  }
  return certificate;
}

X509Ptr share(const X509Ptr& certificate) {
  X509_up_ref(certificate.get());
  return X509Ptr(certificate.get());
}

}  // namespace

Result<const Minter::Authority*> Minter::root(const ChainSpec& spec) {
  const Profile& profile = profile_of(spec.profile);
  const std::string id = std::format("root {} {}", spec.root, static_cast<int>(spec.profile));
  if (const auto known = authorities_.find(id); known != authorities_.end()) return &known->second;
  auto algorithm = find_chain_algorithm(spec.root);
  if (!algorithm) return std::unexpected(algorithm.error());
  auto key = make_chain_key(**algorithm);
  if (!key) return std::unexpected(key.error());
  auto certificate = issue(
      {profile.root_name, profile.root_extensions, key->get(), nullptr, key->get(), *algorithm});
  if (!certificate) return std::unexpected(certificate.error());
  return &authorities_.emplace(id, Authority{std::move(*key), std::move(*certificate), *algorithm})
              .first->second;
}

Result<const Minter::Authority*> Minter::intermediate(const ChainSpec& spec) {
  const Profile& profile = profile_of(spec.profile);
  const std::string id = std::format("intermediate {} {} {}", spec.intermediate, spec.root,
                                     static_cast<int>(spec.profile));
  if (const auto known = authorities_.find(id); known != authorities_.end()) return &known->second;
  const auto issuer = root(spec);
  if (!issuer) return std::unexpected(issuer.error());
  auto algorithm = find_chain_algorithm(spec.intermediate);
  if (!algorithm) return std::unexpected(algorithm.error());
  auto key = make_chain_key(**algorithm);
  if (!key) return std::unexpected(key.error());
  auto certificate =
      issue({profile.intermediate_name, profile.intermediate_extensions, key->get(),
             (*issuer)->certificate.get(), (*issuer)->key.get(), (*issuer)->algorithm});
  if (!certificate) return std::unexpected(certificate.error());
  return &authorities_.emplace(id, Authority{std::move(*key), std::move(*certificate), *algorithm})
              .first->second;
}

Result<MintedChain> Minter::mint(const ChainSpec& spec) {
  const Profile& profile = profile_of(spec.profile);
  const auto leaf_algorithm = find_chain_algorithm(spec.leaf);
  if (!leaf_algorithm) return std::unexpected(leaf_algorithm.error());
  const auto issuer = intermediate(spec);
  if (!issuer) return std::unexpected(issuer.error());
  const Authority& authority = **issuer;
  MintedChain chain;
  chain.root = share(root(spec).value()->certificate);  // made with the intermediate
  chain.intermediate = share(authority.certificate);

  if (spec.sct_delivery != SctDelivery::none) {
    const auto log =
        find_chain_algorithm(spec.sct_algorithm.empty() ? spec.intermediate : spec.sct_algorithm);
    if (!log) return std::unexpected(log.error());
    auto list = make_sct_list(spec.scts, **log);
    if (!list) return std::unexpected(list.error());
    chain.sct_list = std::move(*list);
  }
  auto key = make_chain_key(**leaf_algorithm);
  if (!key) return std::unexpected(key.error());
  Request request{profile.leaf_name,           profile.leaf_extensions, key->get(),
                  authority.certificate.get(), authority.key.get(),     authority.algorithm};
  if (spec.sct_delivery == SctDelivery::embedded) request.scts = &chain.sct_list;
  auto leaf = issue(request);
  if (!leaf) return std::unexpected(leaf.error());
  chain.leaf = std::move(*leaf);
  chain.leaf_key = std::move(*key);

  if (spec.staple) {
    auto staple = make_staple(chain.leaf.get(), authority.certificate.get(), authority.key.get(),
                              signing_digest(*authority.algorithm));
    if (!staple) return std::unexpected(staple.error());
    chain.staple = std::move(*staple);
  }
  if (spec.client_certificate) {
    auto client_key = make_chain_key(**leaf_algorithm);
    if (!client_key) return std::unexpected(client_key.error());
    auto client = issue({profile.client_name, profile.client_extensions, client_key->get(),
                         authority.certificate.get(), authority.key.get(), authority.algorithm});
    if (!client) return std::unexpected(client.error());
    chain.client = std::move(*client);
    chain.client_key = std::move(*client_key);
  }
  return chain;
}

std::vector<uint8_t> to_der(const X509* certificate) {
  unsigned char* der = nullptr;
  const int length = i2d_X509(certificate, &der);
  if (length <= 0) return {};
  std::vector<uint8_t> out(der, der + length);
  OPENSSL_free(der);
  return out;
}

}  // namespace pqedge::measure
