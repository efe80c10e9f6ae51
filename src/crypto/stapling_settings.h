// What a configuration says about OCSP stapling and Certificate Transparency.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"

namespace pqedge::crypto {

struct OcspSettings {
  bool stapling = true;           // for certificates that name a responder; quiet for others
  std::string cache_dir;          // responses survive a restart there; empty: in memory only
  bool local_responders = false;  // also ask loopback and link-local addresses
  Nanos timeout = 10 * kSecond;   // of one question to one responder
  Nanos retry = 60 * kSecond;     // after a failure; doubles up to an hour
};

struct TransparencySettings {
  std::string log_list;             // JSON, version 3 of the public lists; empty: none
  std::vector<std::string> submit;  // URLs of logs in log_list that certificates are sent to
  std::string cache_dir;            // timestamps got by that survive a restart there
};

}  // namespace pqedge::crypto
