#include "route/tunnel_settings.h"

namespace pqedge::route {

bool is_target(const ConnectTarget& target, std::string_view host, uint16_t port) {
  if (target.port != 0 && target.port != port) return false;
  const std::string_view pattern = target.host;
  if (pattern == "*") return true;
  if (!pattern.starts_with("*.")) return pattern == host;
  // The star stands for at least one byte.
  return host.size() > pattern.size() - 1 && host.ends_with(pattern.substr(1));
}

}  // namespace pqedge::route
