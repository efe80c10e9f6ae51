// What a [[pool]] speaks with its servers, and how long it uses a connection.
#include <format>

#include "config/section_readers.h"

namespace pqedge::config {

void read_protocol(Table& t, upstream::PoolSettings& s) {
  using upstream::Protocol;
  t.choice<Protocol>("protocol", s.protocol,
                     {{"http/1.1", Protocol::http1},
                      {"h2", Protocol::h2},
                      {"h2c", Protocol::h2c},
                      {"h3", Protocol::h3},
                      {"auto", Protocol::automatic}});
  t.count("max_streams", s.max_streams);
  t.count("max_connection_requests", s.max_connection_requests);
  t.duration("max_connection_age", s.max_connection_age);
  if (t.has("max_streams") && s.protocol == Protocol::http1) {
    t.problem(t.key_path("max_streams"), "has no effect with protocol = \"http/1.1\"",
              "its connections serve one request at a time");
  }
}

}  // namespace pqedge::config
