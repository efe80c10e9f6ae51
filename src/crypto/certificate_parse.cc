// PEM to Certificate, with messages that say which file, what is wrong, and what to do.
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "crypto/certificates_internal.h"

namespace pqedge::crypto {
namespace {

constexpr size_t kMaxChain = 16;
constexpr std::string_view kCertificateBlock = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kTrustedBlock = "-----BEGIN TRUSTED CERTIFICATE-----";
constexpr std::string_view kX509Block = "-----BEGIN X509 CERTIFICATE-----";

BioPtr memory_bio(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

bool looks_like_der(std::string_view text) {
  return text.size() > 4 && static_cast<uint8_t>(text[0]) == 0x30 &&
         (static_cast<uint8_t>(text[1]) & 0x80) != 0;
}

// Never asks a terminal: an encrypted key is an error.
int refuse_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

Result<std::vector<X509Ptr>> parse_chain(std::string_view text, const std::string& file) {
  if (trim_ows(text).empty()) return fail("{} is empty; it must hold certificates in PEM", file);
  if (text.find(kCertificateBlock) == text.npos && text.find(kTrustedBlock) == text.npos &&
      text.find(kX509Block) == text.npos) {
    if (looks_like_der(text)) {
      return fail("{} is DER, not PEM; convert it: openssl x509 -inform DER -in {} -out chain.pem",
                  file, file);
    }
    if (text.find("PRIVATE KEY-----") != text.npos) {
      return fail("{} holds a private key and no certificate; are the two files swapped?", file);
    }
    return fail("{} is not PEM: there is no \"{}\" line in it", file, kCertificateBlock);
  }
  clear_errors();
  const BioPtr bio = memory_bio(text);
  std::vector<X509Ptr> chain;
  for (;;) {
    X509Ptr certificate(PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr));
    if (certificate == nullptr) break;
    if (chain.size() == kMaxChain)
      return fail("{} holds more than {} certificates", file, kMaxChain);
    chain.push_back(std::move(certificate));
  }
  // Running out of blocks is the one way to end well.
  const unsigned long error = ERR_peek_last_error();
  const bool ended =
      ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  const std::string reason = take_openssl_error();
  if (!ended) {
    return fail("{}: certificate {} cannot be read ({}); the block is damaged or cut short", file,
                chain.size() + 1, reason);
  }
  return chain;
}

Result<KeyPtr> parse_key(std::string_view text, const std::string& file) {
  if (trim_ows(text).empty()) return fail("{} is empty; it must hold a private key in PEM", file);
  if (text.find("PRIVATE KEY-----") == text.npos) {
    if (looks_like_der(text)) {
      return fail("{} is DER, not PEM; convert it: openssl pkey -inform DER -in {} -out key.pem",
                  file, file);
    }
    if (text.find(kCertificateBlock) != text.npos) {
      return fail("{} holds a certificate and no private key; are the two files swapped?", file);
    }
    return fail(
        "{} is not a PEM private key: there is no \"-----BEGIN PRIVATE KEY-----\" line in it",
        file);
  }
  clear_errors();
  const BioPtr bio = memory_bio(text);
  bool asked = false;
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, refuse_passphrase, &asked));
  const std::string reason = take_openssl_error();
  if (asked) {
    return fail("{} is encrypted with a passphrase; decrypt it: openssl pkey -in {} -out key.pem",
                file, file);
  }
  if (key == nullptr) return fail("{}: the private key cannot be read ({})", file, reason);
  return key;
}

// RFC 8446 4.4.2: the leaf first, then each certificate certifies the one before it. Clients
// forgive other orders to different degrees; a wrong file is better found here.
Result<void> check_order(const std::vector<X509Ptr>& chain, const std::string& file) {
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    if (X509_check_issued(chain[i + 1].get(), chain[i].get()) == X509_V_OK) continue;
    take_openssl_error();
    return fail(
        "{}: the chain is out of order: certificate {} ({}) did not issue certificate {} ({}); put "
        "the leaf first, then each issuer after the certificate that it signed",
        file, i + 2, subject_of(chain[i + 1].get()), i + 1, subject_of(chain[i].get()));
  }
  return {};
}

Result<void> check_key(const std::vector<X509Ptr>& chain, EVP_PKEY* key, const PemSource& source) {
  clear_errors();
  if (X509_get0_pubkey(chain.front().get()) == nullptr) {
    return fail("{}: the public key of the first certificate ({}) cannot be read: {}",
                source.chain_name, subject_of(chain.front().get()), take_openssl_error());
  }
  const auto fits = [key](const X509Ptr& c) { return X509_check_private_key(c.get(), key) == 1; };
  const auto owner = std::ranges::find_if(chain, fits);
  take_openssl_error();
  if (owner == chain.begin()) return {};
  if (owner != chain.end()) {
    return fail("{}: the key in {} belongs to certificate {}, not to the first; put the leaf first",
                source.chain_name, source.key_name, owner - chain.begin() + 1);
  }
  const char* leaf_type = EVP_PKEY_get0_type_name(X509_get0_pubkey(chain.front().get()));
  const char* key_type = EVP_PKEY_get0_type_name(key);
  return fail("the private key in {} ({}) does not fit the first certificate of {} ({}, {})",
              source.key_name, key_type == nullptr ? "unknown type" : key_type, source.chain_name,
              leaf_type == nullptr ? "unknown type" : leaf_type, subject_of(chain.front().get()));
}

// A type of key that TLS has no signature scheme for (SLH-DSA in OpenSSL 3.5), or one too small for
// the library's security level, would fail each handshake only.
Result<void> check_usable(const Certificate& certificate, const std::string& file) {
  const SslCtxPtr probe(SSL_CTX_new(TLS_server_method()));
  clear_errors();
  if (probe != nullptr &&
      SSL_CTX_use_cert_and_key(probe.get(), certificate.leaf.get(), certificate.key.get(),
                               certificate.chain.get(), 1) == 1) {
    return {};
  }
  const std::string reason = take_openssl_error();
  const char* type = EVP_PKEY_get0_type_name(certificate.key.get());
  return fail("{}: the TLS library in use ({}) cannot serve a certificate with this {} key: {}",
              file, OpenSSL_version(OPENSSL_VERSION_STRING), type == nullptr ? "" : type,
              schemes_of_key(certificate.key.get()) == 0
                  ? "TLS has no signature scheme for it there; take an ML-DSA key"
                  : reason);
}

void warn_of_dates(X509* leaf, const std::string& file) {
  const auto now = static_cast<int64_t>(wall_now() / kSecond);
  const int64_t begins = to_unix(X509_get0_notBefore(leaf));
  const int64_t ends = to_unix(X509_get0_notAfter(leaf));
  if (ends < now) {
    log::warning("tls", "{}: the certificate of {} expired {} days ago", file, subject_of(leaf),
                 (now - ends) / 86400);
  } else if (begins > now) {
    log::warning("tls", "{}: the certificate of {} is valid only in {} hours", file,
                 subject_of(leaf), (begins - now + 3599) / 3600);
  }
}

std::string ip_text(const ASN1_OCTET_STRING* ip) {
  const int length = ASN1_STRING_length(ip);
  const int family = length == 4 ? AF_INET : AF_INET6;
  char text[INET6_ADDRSTRLEN];
  if (length != 4 && length != 16) return {};
  inet_ntop(family, ASN1_STRING_get0_data(ip), text, sizeof text);
  return text;
}

std::string common_name(X509* leaf) {
  char text[256];
  const int n =
      X509_NAME_get_text_by_NID(X509_get_subject_name(leaf), NID_commonName, text, sizeof text);
  return n > 0 && std::strlen(text) == static_cast<size_t>(n) ? to_lower(text) : std::string();
}

}  // namespace

int64_t to_unix(const ASN1_TIME* time) {
  tm broken_down{};
  if (ASN1_TIME_to_tm(time, &broken_down) != 1) return 0;
  return timegm(&broken_down);
}

std::string subject_of(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(certificate), 0,
                     XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  const char* text = nullptr;
  const long n = BIO_get_mem_data(bio.get(), &text);
  std::string escaped;
  append_text_escaped(escaped, {text, static_cast<size_t>(n)});
  return escaped.empty() ? "without a subject" : escaped;
}

std::vector<std::string> names_of(X509* leaf) {
  std::vector<std::string> names;
  bool has_dns = false;
  auto* list =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(leaf, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(list); ++i) {
    int type = 0;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(list, i), &type);
    std::string name;
    if (type == GEN_DNS) {
      const auto* s = static_cast<const ASN1_STRING*>(value);
      name = to_lower({reinterpret_cast<const char*>(ASN1_STRING_get0_data(s)),
                       static_cast<size_t>(ASN1_STRING_length(s))});
      has_dns = true;
    } else if (type == GEN_IPADD) {
      name = ip_text(static_cast<const ASN1_OCTET_STRING*>(value));
    }
    if (!name.empty() && !std::ranges::contains(names, name)) names.push_back(std::move(name));
  }
  GENERAL_NAMES_free(list);
  take_openssl_error();
  if (!has_dns) {
    if (std::string name = common_name(leaf);
        !name.empty() && !std::ranges::contains(names, name)) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

Result<Certificate> parse_certificate(const PemSource& source) {
  auto chain = parse_chain(source.chain, source.chain_name);
  if (!chain) return std::unexpected(chain.error());
  auto key = parse_key(source.key, source.key_name);
  if (!key) return std::unexpected(key.error());
  if (auto fits = check_key(*chain, key->get(), source); !fits)
    return std::unexpected(fits.error());
  if (auto ordered = check_order(*chain, source.chain_name); !ordered) {
    return std::unexpected(ordered.error());
  }
  X509* leaf = chain->front().get();
  Certificate certificate;
  certificate.names = names_of(leaf);
  certificate.not_before = to_unix(X509_get0_notBefore(leaf));
  certificate.not_after = to_unix(X509_get0_notAfter(leaf));
  certificate.key = std::move(*key);
  certificate.chain.reset(sk_X509_new_null());
  for (size_t i = 1; i < chain->size(); ++i) {
    sk_X509_push(certificate.chain.get(), (*chain)[i].release());
  }
  certificate.leaf = std::move(chain->front());
  if (auto usable = check_usable(certificate, source.chain_name); !usable) {
    return std::unexpected(usable.error());
  }
  fill_rank(certificate);
  if (source.warn) warn_of_dates(leaf, source.chain_name);
  return certificate;
}

}  // namespace pqedge::crypto
