// The demonstration backend of the embedded default configuration: an HTTP/1.1 server in a thread
// of its own on a loopback port, reached through a pool like any other.
//
//   /           a page that shows how the request came
//   /bytes/N    N bytes (at most 1 TiB)
//   /echo       the request body
//   /slow       ten lines, one every 200 ms
//   /status/N   an answer with status N (200..599)
#pragma once

#include <memory>

#include "base/result.h"
#include "net/address.h"

namespace pqedge::jobs {

class DemoBackend {
 public:
  static Result<std::unique_ptr<DemoBackend>> start();
  virtual ~DemoBackend() = default;  // stops the thread
  virtual const net::Address& address() const = 0;
};

}  // namespace pqedge::jobs
