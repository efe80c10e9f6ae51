// Network namespaces of this process, each with one TUN device. Needs root.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "net/socket.h"

namespace pqedge::measure::link {

struct End {          // one side of the link
  std::string ip;     // "10.77.0.1"
  std::string peer;   // the other side's
  size_t mtu = 1500;  // of its device
};

class Namespace {
 public:
  // Makes a namespace with its loopback up and a TUN device for `end`. TCP in it uses cubic, keeps
  // no metrics of earlier connections, and IPv6 is off: no packet crosses but those of the test.
  static Result<Namespace> make(const End& end);

  int tun() const { return tun_.get(); }
  int descriptor() const { return space_.get(); }  // for setns()

  // Moves the calling thread into the namespace, for good.
  Result<void> enter() const;
  // Calls it on a thread of its own in the namespace, and waits.
  Result<void> run(const std::function<Result<void>()>& work) const;

 private:
  net::Fd space_;
  net::Fd tun_;
};

}  // namespace pqedge::measure::link
