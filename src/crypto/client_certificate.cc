// What a client's certificate says, in texts that can stand in a header field.
#include <arpa/inet.h>

#include <array>

#include "base/base64.h"
#include "base/text.h"
#include "crypto/certificates_internal.h"
#include "crypto/client_authority.h"
#include "crypto/host_policy.h"

namespace pqedge::crypto {
namespace {

// A text that would be longer says nothing: half an identity is none.
constexpr size_t kMaxText = 4096;
constexpr int kMaxNames = 256;

using NamesPtr = std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>>;
using BnPtr = std::unique_ptr<BIGNUM, FreeWith<BN_free>>;

std::string take_text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  if (size <= 0 || static_cast<size_t>(size) > kMaxText) return {};
  return {data, static_cast<size_t>(size)};
}

// RFC 4514: control bytes and what is not ASCII as \XX, separators in values as "\,".
std::string name_text(const X509_NAME* name) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253) < 0) return {};
  std::string text = take_text(bio.get());
  // A space at the end of the last value stands there escaped, as "\ ": no field can end with it.
  if (text.ends_with(' ')) text.replace(text.size() - 1, 1, "20");
  return text;
}

std::string serial_text(const X509* certificate) {
  constexpr int kMaxBits = 512;  // RFC 5280 4.1.2.2: at most 20 octets; some have more
  const BnPtr number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
  if (number == nullptr || BN_num_bits(number.get()) > kMaxBits) return {};
  char* hex = BN_bn2hex(number.get());
  if (hex == nullptr) return {};
  std::string text = hex;
  OPENSSL_free(hex);
  return text;
}

std::string fingerprint_text(const X509* certificate) {
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) return {};
  return to_hex({digest.data(), size});
}

std::string der_text(const X509* certificate) {
  uint8_t* der = nullptr;
  const int size = i2d_X509(certificate, &der);
  if (size <= 0) return {};
  std::string text = base64(Bytes(der, static_cast<size_t>(size)));
  OPENSSL_free(der);
  return text;
}

// A comma, a quote or a space within a name would let it pass for two; '%' itself is escaped too.
void append_escaped(std::string& out, std::string_view name) {
  constexpr std::string_view kPlain = "-._~@:/+=*?&#[]";
  for (const char c : name) {
    const char l = ascii_lower(c);
    if ((l >= 'a' && l <= 'z') || is_digit(c) || kPlain.contains(c)) {
      out += c;
    } else {
      out += std::format("%{:02X}", static_cast<uint8_t>(c));
    }
  }
}

std::string_view text_of(const ASN1_STRING* string) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
          static_cast<size_t>(ASN1_STRING_length(string))};
}

std::string address_text(const ASN1_STRING* octets) {
  char text[INET6_ADDRSTRLEN] = "";
  const int family = ASN1_STRING_length(octets) == 4    ? AF_INET
                     : ASN1_STRING_length(octets) == 16 ? AF_INET6
                                                        : AF_UNSPEC;
  if (family == AF_UNSPEC) return {};
  inet_ntop(family, ASN1_STRING_get0_data(octets), text, sizeof text);
  return text;
}

struct NamedPart {
  std::string_view kind;
  std::string name;  // as it is
};

NamedPart read_name(const GENERAL_NAME* general) {
  switch (general->type) {
    case GEN_DNS: return {"DNS", to_lower(text_of(general->d.dNSName))};
    case GEN_EMAIL: return {"email", std::string(text_of(general->d.rfc822Name))};
    case GEN_URI: return {"URI", std::string(text_of(general->d.uniformResourceIdentifier))};
    case GEN_IPADD: return {"IP", address_text(general->d.iPAddress)};
    default: return {};
  }
}

void read_names(X509* certificate, net::ClientCertificate& out) {
  const NamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (names == nullptr) return;
  const int count = sk_GENERAL_NAME_num(names.get());
  if (count > kMaxNames) return;
  for (int i = 0; i < count; ++i) {
    NamedPart named = read_name(sk_GENERAL_NAME_value(names.get(), i));
    if (named.name.empty()) continue;
    if (!out.sans.empty()) out.sans += ", ";
    out.sans.append(named.kind).append(":");
    append_escaped(out.sans, named.name);
    if (out.sans.size() > kMaxText) {
      out.sans.clear();
      out.names.clear();
      return;
    }
    out.names.push_back(std::move(named.name));
  }
}

}  // namespace

std::shared_ptr<net::ClientCertificate> describe_certificate(X509* certificate) {
  auto out = std::make_shared<net::ClientCertificate>();
  clear_errors();
  out->subject = name_text(X509_get_subject_name(certificate));
  out->issuer = name_text(X509_get_issuer_name(certificate));
  out->serial = serial_text(certificate);
  out->fingerprint = fingerprint_text(certificate);
  out->der = der_text(certificate);
  out->not_after = to_unix(X509_get0_notAfter(certificate));
  read_names(certificate, *out);
  clear_errors();  // of an extension that could not be read
  return out;
}

std::shared_ptr<const net::ClientCertificate> read_client_certificate(const SSL* ssl) {
  X509* leaf = SSL_get0_peer_certificate(ssl);
  if (leaf == nullptr) return nullptr;
  auto out = describe_certificate(leaf);
  const STACK_OF(X509)* chain = SSL_get_peer_cert_chain(ssl);  // a server's is without the leaf
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    out->chain.push_back(der_text(sk_X509_value(chain, i)));
  }
  const long result = SSL_get_verify_result(ssl);
  out->verified = result == X509_V_OK;
  out->failure = verify_failure(static_cast<int>(result));
  return out;
}

std::string_view verify_failure(int error) {
  switch (error) {
    case X509_V_OK: return {};
    case X509_V_ERR_CERT_HAS_EXPIRED: return "expired";
    case X509_V_ERR_CERT_NOT_YET_VALID: return "not yet valid";
    case X509_V_ERR_CERT_REVOKED: return "revoked";
    case X509_V_ERR_CRL_HAS_EXPIRED: return "the revocation list has expired";
    case X509_V_ERR_CRL_NOT_YET_VALID: return "the revocation list is not yet valid";
    case X509_V_ERR_UNABLE_TO_GET_CRL: return "no revocation list of its issuer";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE: return "unknown authority";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: return "self-signed";
    case X509_V_ERR_CERT_CHAIN_TOO_LONG: return "chain too long";
    case X509_V_ERR_INVALID_PURPOSE: return "not for this purpose";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return "name mismatch";
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CRL_SIGNATURE_FAILURE: return "bad signature";
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
    case X509_V_ERR_CA_MD_TOO_WEAK: return "key or digest too weak";
    default: return "not valid";
  }
}

}  // namespace pqedge::crypto
