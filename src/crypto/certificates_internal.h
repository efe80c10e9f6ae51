// What a CertificateStore holds, for the code that hands it to OpenSSL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "crypto/certificates.h"
#include "crypto/handles.h"

namespace pqedge::crypto {

// A leaf, its key and its intermediates. Immutable once it is in a store.
struct Certificate {
  X509Ptr leaf;
  KeyPtr key;
  X509StackPtr chain;              // intermediates, without the leaf; never null
  std::vector<std::string> names;  // lower case; wildcards as "*.example.org"; IPs as text
  std::string file;                // empty when it came from memory
  int64_t not_after = 0;           // Unix seconds
};

// The texts of a chain and its key, and what to call them in messages.
struct PemSource {
  std::string_view chain;
  std::string_view key;
  std::string chain_name;
  std::string key_name;
  bool warn = true;  // in the log, of a certificate that is expired or not yet valid
};
// Parses and checks: every block is a certificate, each is issued by the next, the key fits the
// first.
Result<Certificate> parse_certificate(const PemSource& source);

// Names that a client may ask for: dNSName and iPAddress of subjectAltName, or, where there is no
// dNSName, the common name (RFC 6125 6.4.4).
std::vector<std::string> names_of(X509* leaf);

// Unix seconds.
int64_t to_unix(const ASN1_TIME* time);

// The subject on one line, its bytes escaped for logs.
std::string subject_of(X509* certificate);

}  // namespace pqedge::crypto
