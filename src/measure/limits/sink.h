// A backend for proxies under test: takes a head of any size and answers 200.
#pragma once

#include <memory>
#include <thread>

#include "base/result.h"
#include "net/address.h"
#include "net/socket.h"

namespace pqedge::measure {

class Sink {
 public:
  static Result<std::unique_ptr<Sink>> start();
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  const net::Address& address() const { return address_; }

 private:
  Sink() = default;
  void serve();

  net::Fd listener_;
  net::Fd stop_;
  net::Address address_;
  std::thread thread_;
};

}  // namespace pqedge::measure
