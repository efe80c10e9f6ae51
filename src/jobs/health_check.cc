#include "jobs/health_check.h"

#include <algorithm>
#include <format>

#include "base/text.h"
#include "net/socket.h"
#include "wire/proxy_protocol/header.h"

namespace pqedge::jobs {
namespace {

using upstream::HealthSettings;

std::string proxy_preface(uint8_t version) {
  if (version == 0) return {};
  const proxy_protocol::Header header{.version = version, .is_local = true};
  return version == 1 ? proxy_protocol::write_version1(header)
                      : proxy_protocol::write_version2(header);
}

// What a server said, on its way into the log: one line, and short.
std::string quoted(std::string_view text) {
  std::string out;
  append_text_escaped(out, text.substr(0, 200));
  return out;
}

}  // namespace

HealthCheck::HealthCheck(net::Loop& loop, upstream::ServerState& server,
                         std::shared_ptr<const HealthProbe> probe, Done done)
    : loop_(loop),
      server_(server),
      probe_(std::move(probe)),
      done_(std::move(done)),
      timer_(
          [](void* self) { static_cast<HealthCheck*>(self)->finish(false, "no answer in time"); },
          this),
      end_([](void* self) { static_cast<HealthCheck*>(self)->end(); }, this) {}

HealthCheck::~HealthCheck() { drop_connection(); }

void HealthCheck::drop_connection() {
  if (stream_ != nullptr) std::exchange(stream_, nullptr)->cancel();
  connection_.reset();
  connector_.reset();
  plain_.reset();
}

void HealthCheck::begin() {
  const HealthSettings& s = probe_->settings;
  began_ = loop_.now();
  timer_.arm(loop_, s.timeout);
  net::Address address = server_.address;
  if (s.port != 0 && address.is_ip()) address = address.with_port(s.port);
  if (s.kind == HealthSettings::Kind::tcp) return begin_connecting_only(address);
  upstream::ConnectOptions options{
      .loop = loop_,
      .server = server_,
      .address = address,
      .protocol = probe_->protocol,
      .limits = probe_->limits,
      .tls = probe_->tls,
      .tls_context = probe_->tls_context,
      .tls_sessions =
          probe_->tls == nullptr ? nullptr : std::make_shared<crypto::BackendSessions>(),
      .preface = proxy_preface(probe_->send_proxy),
      .owner = *this};
  connector_ = upstream::make_connector(std::move(options), *this);
  if (const auto ok = connector_->begin(); !ok) not_begun(ok.error());
}

void HealthCheck::begin_connecting_only(const net::Address& address) {
  auto fd = net::connect_stream(address);
  if (!fd) return not_begun(fd.error());
  plain_ = net::make_plain_stream(loop_, std::move(*fd));
  plain_->set_handler(this);
}

void HealthCheck::on_connect_failed(upstream::Failure why, std::string_view detail) {
  if (why == upstream::Failure::own_shortage) return finish({}, quoted(detail));
  finish(false, quoted(detail));
}

// Without a descriptor of our own nothing is learned of the server.
void HealthCheck::not_begun(const Error& error) {
  if (upstream::failure_of(error) == upstream::Failure::own_shortage) {
    return finish({}, error.message);
  }
  finish(false, error.message);
}

void HealthCheck::on_tls_failed(crypto::BackendFault, const Error& error) {
  finish(false, "TLS: " + error.message);
}

void HealthCheck::on_connected(std::unique_ptr<http::ClientConnection> connection,
                               const crypto::BackendTlsFacts&) {
  connection_ = std::move(connection);
  if (finished_) return loop_.defer(end_);
  response_.emplace(arena_);
  stream_ = &connection_->open_stream(*this);
  send_request();
}

void HealthCheck::send_request() {
  const HealthSettings& s = probe_->settings;
  const bool grpc = s.kind == HealthSettings::Kind::grpc;
  http::Request& r = request_.emplace(arena_);
  r.scheme = probe_->tls != nullptr ? "https" : "http";
  r.method_text = grpc ? std::string_view("POST") : std::string_view(s.method);
  r.method = http::parse_method(r.method_text);
  r.target = grpc ? std::string_view("/grpc.health.v1.Health/Check") : std::string_view(s.path);
  r.authority = !s.host.empty()             ? arena_.copy(s.host)
                : server_.address.is_unix() ? std::string_view("localhost")
                                            : arena_.copy(server_.address.to_string());
  r.fields.add(http::Name::user_agent, "pqedge-health-check");
  if (grpc) return send_grpc();
  stream_->send_request_head(r, true);
}

void HealthCheck::send_grpc() {
  http::Request& r = *request_;
  r.fields.add(http::Name::content_type, "application/grpc");
  r.fields.add("te", "trailers");
  const std::string message = grpc_health_request(probe_->settings.service);
  r.body = http::BodyKind::length;
  r.content_length = message.size();
  stream_->send_request_head(r, false);
  if (stream_ == nullptr) return;
  copy_to_slices(as_bytes(message), [this](Slice slice) {
    if (stream_ != nullptr) stream_->send_request_body(std::move(slice));
  });
  if (stream_ != nullptr) stream_->send_request_end(nullptr);
}

void HealthCheck::on_response_head(bool end) {
  status_ = response_->status;
  if (end) on_response_end();
}

void HealthCheck::on_response_body(Slice bytes) {
  const size_t room = kMostBody - body_.size();
  const bool wanted =
      !probe_->settings.body.empty() || probe_->settings.kind == HealthSettings::Kind::grpc;
  if (wanted && room != 0) {
    body_.append(reinterpret_cast<const char*>(bytes.data), std::min(room, bytes.size));
  }
  if (stream_ != nullptr) stream_->response_consumed(bytes.size);
}

void HealthCheck::on_response_end() {
  stream_ = nullptr;
  if (probe_->settings.kind == HealthSettings::Kind::grpc) return judge_grpc();
  judge();
}

void HealthCheck::on_response_reset(http::Abort why, bool, std::string_view detail) {
  stream_ = nullptr;
  finish(false, detail.empty() ? std::string(http::abort_name(why)) : quoted(detail));
}

void HealthCheck::on_client_connection_closed(std::string_view) {
  finish(false, "the connection was closed");
  closing_ = true;  // there is nothing to be said any more
  loop_.defer(end_);
}

bool HealthCheck::status_is_well() const {
  const auto& wanted = probe_->settings.statuses;
  if (wanted.empty()) return status_ >= 200 && status_ < 400;
  return std::ranges::find(wanted, status_) != wanted.end();
}

void HealthCheck::judge() {
  if (!status_is_well()) return finish(false, std::format("status {}", status_));
  const std::string& wanted = probe_->settings.body;
  if (!wanted.empty() && body_.find(wanted) == std::string::npos) {
    return finish(false, std::format("status {}, and the body is another", status_));
  }
  finish(true, std::format("status {}", status_));
}

void HealthCheck::judge_grpc() {
  if (status_ != 200) return finish(false, std::format("status {}", status_));
  // In an answer without a message it stands in the head (gRPC over HTTP/2, "Trailers-Only").
  std::string_view code = response_->trailers.get(http::Name::grpc_status);
  if (code.empty()) code = response_->fields.get(http::Name::grpc_status);
  if (code != "0") return finish(false, "grpc-status " + quoted(code));
  const auto serving = read_grpc_health(body_);
  if (!serving) return finish(false, serving.error().message);
  finish(*serving, *serving ? "SERVING" : "not SERVING");
}

// Later calls, of a connection that ends, say nothing new.
void HealthCheck::finish(std::optional<bool> well, std::string text) {
  if (finished_) return;
  finished_ = true;
  timer_.disarm();
  loop_.defer(end_);
  const Nanos took = monotonic_now() - began_;
  if (auto done = std::exchange(done_, nullptr)) done(well, std::move(text), took);
}

// From the end of a turn. A server is left in good order where that can be, so that its log has no
// line for each check.
void HealthCheck::end() {
  if (connection_ == nullptr || stream_ != nullptr || std::exchange(closing_, true)) {
    return drop_connection();
  }
  connection_->close();  // on_client_connection_closed() follows
}

// ---- grpc.health.v1
// ------------------------------------------------------------------------------

// message HealthCheckRequest { string service = 1; }, framed by a flag (not compressed) and its
// length.
std::string grpc_health_request(std::string_view service) {
  std::string message;
  if (!service.empty()) {
    message += '\x0a';
    for (size_t n = service.size();;) {
      const auto low = static_cast<char>(n & 0x7f);
      n >>= 7;
      message += n == 0 ? low : static_cast<char>(low | '\x80');
      if (n == 0) break;
    }
    message += service;
  }
  std::string out(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) {
    out += static_cast<char>((message.size() >> shift) & 0xff);
  }
  return out + message;
}

// message HealthCheckResponse { ServingStatus status = 1; }, SERVING = 1. Other fields are skipped.
Result<bool> read_grpc_health(std::string_view body) {
  const auto bad = [] { return fail("the answer is no message of grpc.health.v1"); };
  if (body.size() < 5 || body[0] != '\0') return bad();
  uint32_t length = 0;
  for (size_t i = 1; i < 5; ++i) length = length << 8 | static_cast<uint8_t>(body[i]);
  if (length != body.size() - 5) return bad();
  body.remove_prefix(5);

  const auto varint = [&body]() -> std::optional<uint64_t> {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (body.empty()) return std::nullopt;
      const auto byte = static_cast<uint8_t>(body.front());
      body.remove_prefix(1);
      value |= uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  };
  uint64_t status = 0;
  while (!body.empty()) {
    const auto tag = varint();
    if (!tag || *tag >> 3 == 0) return bad();
    const auto value = (*tag & 7) == 0 || (*tag & 7) == 2 ? varint() : std::optional<uint64_t>(0);
    if (!value) return bad();
    size_t skip = 0;
    switch (*tag & 7) {
      case 0:
        if (*tag >> 3 == 1) status = *value;
        break;
      case 1: skip = 8; break;
      case 2:
        if (*value > body.size()) return bad();
        skip = static_cast<size_t>(*value);
        break;
      case 5: skip = 4; break;
      default: return bad();
    }
    if (skip > body.size()) return bad();
    body.remove_prefix(skip);
  }
  return status == 1;
}

}  // namespace pqedge::jobs
