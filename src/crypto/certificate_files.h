// Certificates in files: which there are, and reading them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "crypto/certificates.h"
#include "crypto/certificates_internal.h"

namespace pqedge::crypto {

// A chain and its key. The same file for both where one holds both.
struct CertificateFiles {
  std::string chain;
  std::string key;
  std::string timestamps;  // signed certificate timestamps; empty: none
  bool is_default = false;
  std::string id() const { return "file:" + chain; }
};

// What one [[certificate]] stands for: its two files, or the pairs in its directory and one level
// below it: NAME.crt, NAME.cer or NAME.pem with NAME.key beside it, fullchain.pem with privkey.pem
// (certbot), tls.crt with tls.key (Kubernetes), or one NAME.pem that holds both. Names that begin
// with a dot are left out. Sorted by name. An error: the directory cannot be read, or holds more
// than kMaxPairs.
inline constexpr size_t kMaxPairs = 10'000;
Result<std::vector<CertificateFiles>> list_certificate_files(const CertificateSettings& settings);

// Reads and checks both files; fills `file`, `id`, the stamps and `is_default` too.
Result<Certificate> load_certificate(const CertificateFiles& files,
                                     const CertificateStore::LoadOptions& options);

}  // namespace pqedge::crypto
