#include "config/insecure_backends.h"

#include <format>

#include "base/problem.h"

namespace pqedge::config {

Result<void> check_insecure_backends(const Configuration& configuration, bool allowed) {
  if (allowed) return {};
  std::string message;
  const auto& pools = configuration.edge.pools;
  for (size_t i = 0; i < pools.size(); ++i) {
    if (!pools[i].tls || pools[i].tls_settings.verify) continue;
    const std::string key = entry_key("pool", i, "tls_verify");
    if (!message.empty()) message += '\n';
    message += std::format(
        "{}: {}: the servers of pool \"{}\" would be trusted without looking at their "
        "certificates; "
        "name their authority with tls_ca, or start with --allow-insecure-backends as well",
        configuration.position(key), key, pools[i].name);
  }
  if (message.empty()) return {};
  return std::unexpected(Error{std::move(message)});
}

}  // namespace pqedge::config
