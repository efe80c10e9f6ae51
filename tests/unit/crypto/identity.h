// Certificates of every kind for tests, made on the spot.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "crypto/handles.h"

namespace pqedge::crypto::testing {

// A certificate, its key, and both as PEM.
struct Identity {
  KeyPtr key;
  X509Ptr certificate;
  std::string chain_pem;  // the certificate and, if it was issued by another, that one's chain
  std::string key_pem;
};

struct IdentityOptions {
  std::vector<std::string> dns;
  std::string common_name = "test";
  std::string key_type = "P-256";  // "P-256", "RSA", "ED25519", "ML-DSA-65", ...
  bool is_ca = false;
  long begins = -3600;  // seconds from now
  long ends = 86400;
  const Identity* issuer = nullptr;  // null: self-signed
  // More of them, by NID, as openssl.cnf writes them.
  std::vector<std::pair<int, std::string>> extensions;
};
Identity make_identity(const IdentityOptions& options);

std::string certificate_pem(X509* certificate);

// A directory that goes with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  std::string write(const std::string& name, const std::string& content) const;
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace pqedge::crypto::testing
