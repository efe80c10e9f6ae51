// The smallest configuration of each program: everything that is not here is its default.
#pragma once

#include <cstdint>
#include <string>

#include "measure/limits/servers.h"

namespace pqedge::measure {

struct ServerPorts {
  uint16_t plain = 0;
  uint16_t secure = 0;
  uint16_t admin = 0;
};

std::string nginx_config(const ServerFiles& files, const ServerPorts& ports, bool http3);
std::string haproxy_config(const ServerFiles& files, const ServerPorts& ports, bool http3);
std::string node_script(const ServerFiles& files, const ServerPorts& ports);
std::string apache_config(const ServerFiles& files, const ServerPorts& ports,
                          const std::string& modules);
std::string caddy_config(const ServerFiles& files, const ServerPorts& ports);
std::string pqedge_config(const ServerFiles& files, const ServerPorts& ports);

}  // namespace pqedge::measure
