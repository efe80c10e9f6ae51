// The addresses that a configuration listens on, and whether they can be had.
#pragma once

#include <vector>

#include "base/result.h"
#include "edge/settings.h"
#include "net/address.h"

namespace pqedge::edge {

struct Binding {
  net::Address address;
  const ListenerSettings* listener;
};
std::vector<Binding> bindings(const Settings& settings);

// An address that somebody holds is an error that names the holder where it can be found out.
Result<void> check_free(const Binding& binding, bool udp);

// A configuration is often checked beside the pqedge that will be told to reload it.
bool held_by_pqedge(const net::Address& address);

}  // namespace pqedge::edge
