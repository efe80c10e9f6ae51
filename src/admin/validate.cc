#include "admin/validate.h"

#include "route/validate.h"

namespace pqedge::admin {

Problems validate(const Settings& settings) {
  Problems out;
  for (size_t i = 0; i < settings.listen.size(); ++i) {
    const net::Address& address = settings.listen[i];
    const std::string key = entry_key("admin.listen", i);
    if (!address.is_ip()) {
      out.push_back({key, "is not an IP address and port",
                     "what is served on a Unix socket is control_socket"});
      continue;
    }
    if (address.port() == 0) out.push_back({key, "port 0 is not an address to listen on"});
    if (!address.is_loopback()) {
      out.push_back({key, "can be reached from other machines: metrics name hosts and backends",
                     "listen on 127.0.0.1, or keep others out with a firewall", "", true});
    }
    for (size_t earlier = 0; earlier < i; ++earlier) {
      if (settings.listen[earlier] == address) {
        out.push_back(
            {key, address.to_string() + " is there twice", "", entry_key("admin.listen", earlier)});
        break;
      }
    }
  }
  for (size_t i = 0; i < settings.hosts.size(); ++i) {
    if (!route::is_host_pattern(settings.hosts[i], false)) {
      out.push_back({entry_key("admin.hosts", i), in_quotes(settings.hosts[i]) + " is not a host",
                     "write the name alone, as it stands in a Host field without the port"});
    }
  }
  if (!settings.hosts.empty() && settings.listen.empty()) {
    out.push_back({"admin.hosts", "has no effect without listen"});
  }
  if (!settings.token_file.empty() && settings.listen.empty()) {
    out.push_back({"admin.token_file", "has no effect without listen",
                   "the control socket needs no token: only its owner can open it"});
  }
  for (size_t i = 0; i < settings.listen.size() && !settings.token_file.empty(); ++i) {
    if (settings.listen[i].is_loopback()) continue;
    out.push_back({entry_key("admin.listen", i),
                   "takes orders by token_file, which crosses the "
                   "network unencrypted",
                   "listen on 127.0.0.1, behind a tunnel or a proxy with TLS", "", true});
  }
  return out;
}

}  // namespace pqedge::admin
