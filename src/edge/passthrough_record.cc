#include "edge/passthrough_record.h"

#include <string>

#include "edge/worker.h"

namespace pqedge::edge {

void record_passthrough(Worker& worker, const PassthroughRecord& r) {
  record::Recorder& recorder = worker.recorder();
  if (!recorder.enabled()) return;
  const std::string client = r.facts->peer.ip();
  const bool udp = r.facts->transport == net::Transport::quic;
  record::AccessRecord line;
  line.time = wall_now() - r.duration;
  line.client = client;
  line.client_port = r.facts->peer.port();
  line.listener = r.listener;
  line.sni = r.facts->sni;
  // What is inside is not known: not even whether it is HTTP.
  line.http_version = udp ? "passthrough/udp" : "passthrough/tcp";
  line.bytes_in = r.bytes_in;
  line.bytes_out = r.bytes_out;
  line.duration = r.duration;
  line.connect = r.connect;
  line.route = r.passthrough->settings.name;
  line.pool = r.passthrough->pool.name;
  line.backend = r.backend;
  line.reason = r.reason;
  recorder.push(line);
}

}  // namespace pqedge::edge
