// The programs under test: how each is started with its default settings, and nothing else set but
// where it listens, its certificate and its answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "measure/limits/child.h"
#include "net/address.h"

namespace pqedge::measure {

struct RunningServer {
  std::string software;
  std::string version;
  uint16_t plain_port = 0;   // HTTP/1.1
  uint16_t secure_port = 0;  // HTTP/2 over TLS
  bool http3 = false;        // on the same number, over UDP
  Child child;
};

struct ServerFiles {
  const Workspace& workspace;
  std::string certificate;  // PEM files
  std::string key;
  std::string both;      // certificate and key in one
  net::Address backend;  // for a program that only forwards
};

// `program` is a name of limit_programs(). No value: it is not installed.
Result<std::optional<RunningServer>> start_server(std::string_view program,
                                                  const std::string& path_or_empty,
                                                  const ServerFiles& files);

// The name of the binaries that a program may have, for messages: "apache2 or httpd".
std::string binaries_of(std::string_view program);

}  // namespace pqedge::measure
