// The last step of every exchange: the access log's line and the counters.
#include <algorithm>

#include "edge/exchange.h"
#include "edge/listener_view.h"
#include "edge/worker.h"

namespace pqedge::edge {
namespace {

counters::Histogram duration_of(http::Version version) {
  return counters::Histogram("pqedge_request_duration_seconds",
                             "From the first byte of a request to the end of its answer.",
                             {{"version", std::string(http::version_name(version))}});
}

const counters::Histogram& duration_histogram(http::Version version) {
  static const std::array<counters::Histogram, 4> histograms = {
      duration_of(http::Version::http10), duration_of(http::Version::http11),
      duration_of(http::Version::http2), duration_of(http::Version::http3)};
  return histograms[static_cast<size_t>(version)];
}

std::string_view ech_text(net::EchUse use) {
  switch (use) {
    case net::EchUse::none: return {};
    case net::EchUse::accepted: return "accepted";
    case net::EchUse::refused: return "refused";
  }
  return {};
}

}  // namespace

void Exchange::count_stream() {
  if (plan_->stream == nullptr) return;
  (tunnel_ != nullptr ? plan_->stream->connections : plan_->stream->failed).add();
  plan_->stream->bytes_in.add(stream_->bytes_in());
  plan_->stream->bytes_out.add(stream_->bytes_out());
}

// `end` is empty for an answer that went out whole, else why it did not.
void Exchange::record(std::string_view end) {
  const Nanos duration = worker_.loop().now() - began_;
  const bool is_stream = listener_->settings.takes_stream();
  if (is_stream) {
    count_stream();
  } else {
    plan_->by_class[std::min<size_t>(status_ / 100, 5)].add();
    duration_histogram(request_->version).observe_micros(duration / kMicrosecond);
  }

  record::Recorder& recorder = worker_.recorder();
  if (!recorder.enabled()) return;
  const net::ConnectionFacts& connection = facts();
  const http::Request& r = *request_;
  record::AccessRecord line;
  line.time = wall_now() - duration;
  line.request_id = identity_.request_id;
  line.client = identity_.client_ip;
  line.client_port = connection.peer.port();
  line.listener = listener_->settings.name;
  line.tls_version = connection.tls_version;
  line.group = connection.group;
  line.cipher = connection.cipher;
  line.signature = connection.signature;
  line.sni = connection.sni;
  line.ech = ech_text(connection.ech);
  line.outer_sni = connection.outer_sni;
  line.resumed = connection.resumed;
  if (connection.client != nullptr) line.client_subject = connection.client->subject;
  line.early_data = early_data_;
  line.hello_retry = connection.hello_retry;
  if (connection.secure()) line.handshake = connection.handshake_time;
  line.handshake_in = connection.handshake_in;
  line.handshake_out = connection.handshake_out;
  if (is_stream) {
    line.http_version = connection.secure() ? "stream/tls" : "stream/tcp";
  } else {
    line.http_version = http::version_name(r.version);
    line.method = r.method_text;
    line.status = status_;
  }
  line.host = r.host.empty() ? r.authority : r.host;
  line.path = came_target_.empty() ? r.target : came_target_;
  if (r.method == http::Method::connect) line.path = r.authority;
  line.bytes_in = stream_->bytes_in();
  line.bytes_out = stream_->bytes_out();
  line.duration = duration;
  if (tries_.begun > 0) {
    const upstream::Lease& lease = attempt_->lease();
    line.connect = lease.connect_time();
    line.pool = pool().settings().name;
    if (lease.server() != nullptr) line.backend = lease.server()->name;
    line.tries = tries_.begun;
    line.backend_tls_version = lease.tls().version;
    line.backend_group = lease.tls().group;
  }
  if (first_byte_ != 0) line.first_byte = first_byte_ - began_;
  line.route = plan_->name;
  line.user_agent = r.fields.get(http::Name::user_agent);
  line.reason = end.empty() ? reason_ : end;
  recorder.push(line);
}

}  // namespace pqedge::edge
