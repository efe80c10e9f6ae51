// What a configuration says about the admin side.
#pragma once

#include <string>
#include <vector>

#include "net/address.h"

namespace pqedge::admin {

struct Settings {
  // Read-only over TCP: /healthz, /readyz, /metrics. Empty: none.
  std::vector<net::Address> listen;
  std::vector<std::string> hosts;  // further Host values to accept than the addresses and localhost
  // What changes state (reload, drain) goes over this Unix socket, mode 0600. Empty: none.
  std::string control_socket;
  // Holds a bearer token: who has it may do over `listen` what the control socket does. Empty:
  // nobody.
  std::string token_file;
};

}  // namespace pqedge::admin
