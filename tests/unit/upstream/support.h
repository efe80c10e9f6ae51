// Servers for tests of choosing among them.
#pragma once

#include <format>
#include <initializer_list>
#include <memory>
#include <string>

#include "upstream/balance.h"
#include "upstream/member.h"

namespace pqedge::upstream {

// Servers 127.0.0.1:1, :2, ... with these weights.
inline Members members_with(std::initializer_list<uint32_t> weights,
                            const std::string& pool = "test") {
  Members out;
  for (const uint32_t weight : weights) {
    ServerSettings s;
    s.name = std::format("127.0.0.1:{}", out.size() + 1);
    s.address = *net::Address::parse(s.name);
    s.weight = weight;
    out.push_back({std::make_shared<ServerState>(pool, s), s, member_id(pool, s)});
  }
  return out;
}

inline PoolSettings pool_with(Balance balance, const std::string& name = "test") {
  PoolSettings s;
  s.name = name;
  s.balance = balance;
  return s;
}

// The first that a balancer names, or kNone.
inline size_t first_of(Balancer& b, const Choice& choice = {}, Nanos now = kSecond) {
  return b.begin(choice, now) == Balancer::Found::some ? b.next() : Balancer::kNone;
}

inline Choice keyed(uint64_t key) {
  Choice c;
  c.key = key;
  c.keyed = true;
  return c;
}

}  // namespace pqedge::upstream
