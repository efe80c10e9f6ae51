#include "admin/connection.h"

#include <utility>

#include "admin/listener.h"
#include "base/log.h"
#include "base/text.h"
#include "net/stream.h"
#include "wire/http1/server.h"

namespace pqedge::admin {

Connection::Connection(Listener& listener, net::Fd fd, const net::Address& peer,
                       std::shared_ptr<const http::Limits> limits)
    : listener_(listener) {
  facts_.peer = peer;
  if (const auto local = net::local_address(fd.get())) facts_.local = *local;
  facts_.transport =
      listener.side() == Side::control ? net::Transport::unix_socket : net::Transport::tcp;
  facts_.accepted_at = listener.loop().now();
  codec_ =
      http1::make_server(listener.loop(), net::make_plain_stream(listener.loop(), std::move(fd)),
                         facts_, std::move(limits), *this);
}

http::ServerStreamHandler& Connection::on_stream(http::ServerStream& stream) {
  stream_ = &stream;
  request_.reset();
  arena_.reset();
  request_.emplace(arena_);
  body_.clear();
  waits_for_body_ = false;
  return *this;
}

void Connection::on_closed(std::string_view) {
  listener_.forget(*this);
  delete this;
}

void Connection::on_head(bool end) {
  waits_for_body_ = !end && listener_.site().wants_body(*request_, listener_.side());
  if (!waits_for_body_) return respond();
  if (!request_->expects_continue) return;
  http::Response go_on(arena_);
  go_on.status = 100;
  stream_->send_informational(go_on);
}

void Connection::on_end() {
  if (std::exchange(waits_for_body_, false)) respond();
}

void Connection::respond() {
  const Answer answer = listener_.site().respond(*request_, listener_.side(), facts_, body_);
  const bool control = listener_.side() == Side::control;
  if (request_->method != http::Method::get && (control || answer.status != 404)) {
    std::string line = control ? "control socket: " : "admin " + facts_.peer.to_string() + ": ";
    append_text_escaped(line, request_->method_text);
    line += ' ';
    append_text_escaped(line, request_->target.substr(0, 256));
    log::info("admin", "{}: {}", line, answer.status);
  }
  send(answer);
}

void Connection::on_body(Slice bytes) {
  // The codec holds the whole to Limits::max_body.
  if (waits_for_body_) body_.append(reinterpret_cast<const char*>(bytes.data), bytes.size);
  if (stream_ != nullptr) stream_->consumed(bytes.size);
}

void Connection::on_bad_request(uint16_t status, std::string_view reason) {
  waits_for_body_ = false;
  send({.status = status, .body = std::string(reason) + "\n"});
}

void Connection::send(const Answer& answer) {
  stream_->ignore_request_body();
  http::Response response(arena_);
  response.status = answer.status;
  response.body = http::BodyKind::length;
  response.content_length = answer.body.size();
  response.fields.add(http::Name::date, arena_.copy(http::http_date()));
  response.fields.add(http::Name::content_type, answer.content_type);
  response.fields.add(http::Name::cache_control, "no-store");
  response.fields.add(http::Name::x_content_type_options, "nosniff");
  if (answer.wants_token) response.fields.add("WWW-Authenticate", "Bearer realm=\"pqedge\"");
  if (!answer.allow.empty()) response.fields.add("Allow", answer.allow);
  stream_->send_head(response, answer.body.empty());
  if (answer.body.empty()) return;
  copy_to_slices(as_bytes(answer.body), [this](Slice s) { stream_->send_body(std::move(s)); });
  stream_->send_end(nullptr);
}

}  // namespace pqedge::admin
