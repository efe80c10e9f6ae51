// Names looked up in DNS (c-ares, in a thread of its own) for who lives on a loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/address.h"
#include "net/loop.h"

namespace pqedge::jobs {

struct FoundAddresses {
  std::vector<net::Address> addresses;  // in the order of their bytes, without repetition
  uint32_t ttl = 0;                     // the shortest, in seconds
};

struct FoundService {
  std::string target;
  uint16_t port = 0;
  uint16_t priority = 0;
  uint16_t weight = 0;
};

struct FoundServices {
  std::vector<FoundService> services;
  uint32_t ttl = 0;
};

class Resolver {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  // `servers` empty: those of the system, followed when /etc/resolv.conf changes.
  static Result<std::unique_ptr<Resolver>> create(net::Loop& loop,
                                                  const std::vector<net::Address>& servers,
                                                  Nanos timeout);
  // What was asked is dropped; an answer may still be on its way through the loop.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // A and AAAA, /etc/hosts included. `done` is called once, on the loop; an answer without an
  // address is an error.
  void addresses(const std::string& name, uint16_t port, Done<FoundAddresses> done);
  void services(const std::string& name, Done<FoundServices> done);

 private:
  explicit Resolver(net::Loop& loop) : loop_(loop) {}

  net::Loop& loop_;
  void* channel_ = nullptr;  // ares_channel_t
};

}  // namespace pqedge::jobs
