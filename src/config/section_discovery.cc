// Where the servers of a [[pool]] come from beside its own list.
#include <format>
#include <initializer_list>

#include "config/section_readers.h"

namespace pqedge::config {

void read_discovery(Table& t, upstream::PoolSettings& s) {
  using Kind = upstream::DiscoverySettings::Kind;
  t.table("discovery", [&](Table& d) {
    upstream::DiscoverySettings& o = s.discovery;
    std::string dns;
    std::string srv;
    d.read("dns", dns);
    d.read("srv", srv);
    d.path("file", o.file);
    d.count("port", o.port);
    d.addresses("resolvers", o.resolvers);
    d.duration("min_ttl", o.min_ttl);
    d.duration("max_ttl", o.max_ttl);
    d.duration("timeout", o.timeout);
    if (d.absent()) return;
    const int sources = (d.has("dns") ? 1 : 0) + (d.has("srv") ? 1 : 0) + (d.has("file") ? 1 : 0);
    if (sources != 1) {
      d.problem(
          d.key_path("dns"), "one of dns, srv and file says where the servers are found",
          "write { dns = \"app.internal\", port = 8080 }, { srv = \"_http._tcp.app.internal\" "
          "} or { file = \"servers.json\" }");
      return;
    }
    o.kind = d.has("dns") ? Kind::addresses : d.has("srv") ? Kind::srv : Kind::file;
    o.name = o.kind == Kind::addresses ? dns : srv;
    if (o.kind == Kind::addresses) d.require("port", "a name has no port: write port = 8080");
    if (o.kind != Kind::addresses && d.has("port")) {
      d.problem(d.key_path("port"), "has no effect without dns", "ports come with the servers");
    }
    if (o.kind != Kind::file) return;
    for (const char* key : {"resolvers", "min_ttl", "max_ttl", "timeout"}) {
      if (d.has(key)) d.problem(d.key_path(key), "has no effect with file");
    }
  });
}

}  // namespace pqedge::config
