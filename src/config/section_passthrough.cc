#include <format>

#include "base/text.h"
#include "config/section_readers.h"

namespace pqedge::config {
namespace {

// Bytes in hexadecimal digits.
void read_hex(Table& t, std::string_view key, std::vector<uint8_t>& out) {
  std::string text;
  t.read(key, text);
  if (!t.has(key)) return;
  const auto bytes = from_hex(text);
  if (!bytes || bytes->empty()) {
    t.problem(t.key_path(key), in_quotes(text) + " is no row of bytes",
              "write two hexadecimal digits for each, as in \"c0ffee\"");
    return;
  }
  out.assign(bytes->begin(), bytes->end());
}

void read_server_id(Table& t, edge::ServerIdSettings& s) {
  std::string server;
  t.require("server", "name a server of the pool, as it stands there");
  t.read("server", server);
  if (!server.empty()) {
    if (const auto address = net::Address::parse(server)) {
      s.server = *address;
    } else {
      t.problem(t.key_path("server"), address.error().message);
    }
  }
  read_hex(t, "prefix", s.prefix);
  read_hex(t, "quic_lb", s.quic_lb);
  t.count("rotation", s.rotation);
  if (t.has("rotation") && !t.has("quic_lb")) {
    t.problem(t.key_path("rotation"), "has no effect without quic_lb");
  }
}

}  // namespace

void read_passthrough(Table& t, size_t index, edge::PassthroughSettings& s) {
  s.name = std::format("passthrough-{}", index + 1);
  t.read("name", s.name);
  t.require("hosts", "name the hosts that are passed on, as in [\"a.test\"]");
  t.strings("hosts", s.hosts);
  t.require("pool", "name the [[pool]] that they are passed on to");
  t.read("pool", s.pool);
  t.strings("listeners", s.listeners);
  if (t.has("protocols")) s.tls = s.quic = false;
  t.choices<bool edge::PassthroughSettings::*>(
      "protocols",
      {{"tls", &edge::PassthroughSettings::tls}, {"quic", &edge::PassthroughSettings::quic}},
      [&](auto protocol) { s.*protocol = true; });
  t.duration("idle_timeout", s.idle_timeout);
  t.duration("quic_idle_timeout", s.quic_idle_timeout);
  t.tables("server_ids",
           [&](Table& entry, size_t) { read_server_id(entry, s.server_ids.emplace_back()); });
}

}  // namespace pqedge::config
