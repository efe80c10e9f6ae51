// A [[listener]] whose connections and datagrams go straight to a pool.
#include "config/section_readers.h"

namespace pqedge::config {

void read_listener_stream(Table& t, edge::ListenerSettings& l) {
  edge::StreamSettings& s = l.stream;
  t.read("pool", s.pool);
  t.duration("idle_timeout", s.idle_timeout);
  t.duration("udp_timeout", s.udp_timeout);
  t.count("udp_sessions", s.udp_sessions);
  if (t.has("pool")) {
    if (s.pool.empty()) {
      t.problem(t.key_path("pool"), "is empty", "leave it out, or name a [[pool]]");
    }
    if (!t.has("tls")) l.tls = false;
    if (!t.has("protocols")) {
      l.http1 = l.http2 = l.http3 = false;
      l.tcp = true;
    }
  }
  if (t.has("idle_timeout") && !l.tcp) {
    t.problem(t.key_path("idle_timeout"), "has no effect without \"tcp\" in protocols",
              "that of clients of HTTP is idle in [timeouts]");
  }
  for (const char* key : {"udp_timeout", "udp_sessions"}) {
    if (t.has(key) && !l.udp) {
      t.problem(t.key_path(key), "has no effect without \"udp\" in protocols");
    }
  }
}

}  // namespace pqedge::config
