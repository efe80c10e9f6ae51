// What a configuration says about TLS toward the servers of one pool.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"

namespace pqedge::crypto {

struct BackendTlsSettings {
  bool verify = true;       // false only with --allow-insecure-backends on the command line
  std::string ca_file;      // PEM; empty: the system's authorities
  std::string server_name;  // SNI, and what the certificate must name; empty: the server's address
  std::string verify_name;  // what the certificate must name instead of server_name
  std::string chain_file;   // the certificate that is shown to the servers; empty: none
  std::string key_file;
  std::string min_version = "1.3";
  std::vector<std::string> groups = {"compatible"};
  // Groups whose key shares go into the first hello. Empty: the first of `groups`.
  std::vector<std::string> key_shares;
  bool session_resumption = true;
  Nanos handshake_timeout = 5 * kSecond;
};

}  // namespace pqedge::crypto
