#include "measure/load/connection.h"

#include "measure/load/http1.h"
#include "measure/load/http2.h"
#include "measure/load/http3.h"

namespace pqedge::measure::load {

Connection::Connection(Context& context, size_t streams) : context_(context), exchanges_(streams) {
  free_.reserve(streams);
  for (size_t i = streams; i > 0; --i) free_.push_back(static_cast<uint32_t>(i - 1));
}

size_t Connection::room() const { return state_ == State::kReady ? free_.size() : 0; }

Exchange& Connection::take(Nanos intended, Nanos now) {
  Exchange& exchange = exchanges_[free_.back()];
  free_.pop_back();
  context_.plan.begin(exchange);
  exchange.intended = intended;
  exchange.sent = now;
  exchange.active = true;
  ++active_;
  return exchange;
}

void Connection::release(Exchange& exchange) {
  exchange.active = false;
  free_.push_back(static_cast<uint32_t>(&exchange - exchanges_.data()));
  --active_;
  if (context_.options.handshake_each) leave();
}

void Connection::finish(Exchange& exchange, Nanos now) {
  context_.tally.traffic.body_bytes += exchange.body;
  if (const auto fault = context_.plan.judge(exchange)) {
    context_.tally.failed(fault->failure, fault->detail);
  }
  context_.tally.completed(exchange.intended, exchange.sent, now, exchange.status);
  release(exchange);
}

void Connection::fail_exchange(Exchange& exchange, Failure failure, std::string_view detail) {
  context_.tally.failed(failure, detail);
  release(exchange);
}

void Connection::send_again(Exchange& exchange) {
  context_.tally.retried();
  context_.again.push_back(exchange.intended);
  release(exchange);
}

void Connection::become_ready(SSL* ssl, Nanos now) {
  state_ = State::kReady;
  if (ssl == nullptr) return;
  if (context_.facts.version.empty()) context_.facts = TlsClient::facts(ssl);
  context_.tally.handshake_done(now - opened_, SSL_session_reused(ssl) == 1);
}

void Connection::leave() {
  if (state_ == State::kReady) state_ = State::kLeaving;
}

void Connection::lost(Failure failure, std::string_view detail) {
  if (state_ == State::kClosed) return;
  if (state_ == State::kConnecting) context_.tally.failed(failure, detail);
  state_ = State::kClosed;
  deadline_ = kNever;
  for (Exchange& exchange : exchanges_) {
    if (exchange.active) fail_exchange(exchange, failure, detail);
  }
}

void Connection::abandon() {
  if (state_ == State::kConnecting) state_ = State::kLeaving;
  lost(Failure::kUnanswered, "the run is over");
}

void Connection::expire(Nanos now) {
  const Nanos timeout = context_.options.timeout;
  if (state_ == State::kConnecting && now - opened_ > timeout) {
    return lost(Failure::kConnect, "not connected in time");
  }
  for (const Exchange& exchange : exchanges_) {
    if (exchange.active && now - exchange.sent > timeout) {
      return lost(Failure::kTimeout, "no complete answer in time");
    }
  }
}

std::unique_ptr<Connection> make_connection(Context& context) {
  switch (context.options.protocol) {
    case Protocol::kHttp1: return std::make_unique<Http1Connection>(context);
    case Protocol::kHttp2: return std::make_unique<Http2Connection>(context);
    case Protocol::kHttp3: return std::make_unique<Http3Connection>(context);
  }
  return nullptr;
}

}  // namespace pqedge::measure::load
