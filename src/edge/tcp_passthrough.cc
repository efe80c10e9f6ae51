#include "edge/tcp_passthrough.h"

#include <format>

#include "base/log.h"
#include "edge/passthrough_record.h"
#include "edge/worker.h"
#include "wire/proxy_protocol/header.h"

namespace pqedge::edge {
namespace {

// What one direction holds for a peer that does not read.
constexpr size_t kHigh = 128 * 1024;
constexpr size_t kLow = 64 * 1024;
// Less than that is copied together: each slice keeps a whole chunk.
constexpr size_t kSmall = 8 * 1024;

}  // namespace

TcpPassthrough::TcpPassthrough(Worker& worker, PassthroughRef passthrough, Client client,
                               PassthroughHandler& handler)
    : worker_(worker),
      passthrough_(std::move(passthrough)),
      facts_(client.facts),
      listener_(client.listener),
      handler_(handler),
      hello_(std::move(client.hello)),
      began_(worker.loop().now()),
      last_(began_),
      timer_([](void* self) { static_cast<TcpPassthrough*>(self)->on_timer(); }, this) {
  client_.stream = net::make_plain_stream(worker.loop(), std::move(client.fd));
  client_.stream->set_handler(&client_);
  client_.stream->pause_reading();  // until there is somewhere to pass it on
  client_.received = hello_.size;
  const auto& count = passthrough_->count(PassthroughTransport::tcp);
  count.connections.add();
  count.open.add();
  count.bytes_in.add(hello_.size);
}

TcpPassthrough::~TcpPassthrough() {
  passthrough_->count(PassthroughTransport::tcp).open.subtract();
}

void TcpPassthrough::start() { connect(); }

// ---- the server ---------------------------------------------------------------------------------

void TcpPassthrough::connect() {
  while (!finished_ && !try_server()) {
  }
}

// False: that one cannot be had, another is to be tried.
bool TcpPassthrough::try_server() {
  auto server = passthrough_->pick(worker_.loop().now(), tried_, facts_.peer);
  if (server == nullptr) {
    passthrough_->count(PassthroughTransport::tcp).failed.add();
    finish(tried_.empty() ? "every server is at its maximum of connections" : why_);
    return true;
  }
  tried_.push_back(server.get());
  lease_ = PassthroughLease(std::move(server));
  connect_began_ = worker_.loop().now();
  auto fd = net::connect_stream(lease_->address);
  if (!fd) {
    why_ = fd.error().message;
    if (net::is_own_shortage(fd.error().code)) {  // it says nothing of the server
      passthrough_->count(PassthroughTransport::tcp).failed.add();
      log::error("passthrough", "{}: {}", passthrough_->settings.name, why_);
      finish(why_);
      return true;
    }
    lease_.note_failure(worker_.loop().now());
    return false;
  }
  server_.stream = net::make_plain_stream(worker_.loop(), std::move(*fd));
  server_.stream->set_handler(&server_);
  timer_.arm(worker_.loop(), passthrough_->pool.connect_timeout);
  return true;
}

void TcpPassthrough::connect_failed(const Error& error) {
  why_ = std::format("cannot connect to {}: {}", lease_->name, error.message);
  log::debug("passthrough", "{}: {}", passthrough_->settings.name, why_);
  lease_.note_failure(worker_.loop().now());
  server_.stream.reset();
  connect();
}

void TcpPassthrough::connected(const Side& side) {
  if (&side == &client_) return;  // it was from the start
  connected_ = true;
  why_.clear();
  connect_time_ = worker_.loop().now() - connect_began_;
  write_proxy_header();
  server_.stream->write(std::move(hello_));
  last_ = worker_.loop().now();
  arm_idle();
  client_.stream->resume_reading();
}

void TcpPassthrough::write_proxy_header() {
  const uint8_t version = passthrough_->pool.send_proxy;
  if (version == 0) return;
  proxy_protocol::Header header;
  header.source = facts_.peer;
  header.destination = facts_.local;
  header.authority = facts_.sni;
  const std::string text = version == 1 ? proxy_protocol::write_version1(header)
                                        : proxy_protocol::write_version2(header);
  server_.stream->write_copy(as_bytes(text));
}

// ---- bytes --------------------------------------------------------------------------------------

void TcpPassthrough::pump(Side& from) {
  if (!connected_ || from.ended || finished_) return;
  Side& to = other(from);
  while (true) {
    if (to.stream->backlog() >= kHigh) {
      from.paused = true;
      from.stream->pause_reading();
      to.stream->notify_below(kLow);
      return;
    }
    if (!from.buffer) from.buffer = ChunkRef::make();
    const net::IoResult result = from.stream->read({from.buffer->data(), Chunk::kCapacity});
    switch (result.status) {
      case net::IoStatus::ok: pass(from, result.size); break;
      case net::IoStatus::would_block: from.buffer = {}; return;
      case net::IoStatus::end_of_stream: return end_of(from);
      case net::IoStatus::error: return broke(from, from.stream->last_error());
    }
  }
}

void TcpPassthrough::pass(Side& from, size_t size) {
  Side& to = other(from);
  last_ = worker_.loop().now();
  from.received += size;
  const auto& count = passthrough_->count(PassthroughTransport::tcp);
  (&from == &client_ ? count.bytes_in : count.bytes_out).add(size);
  const uint8_t* data = from.buffer->data();
  if (size < kSmall) {
    to.stream->write_copy({data, size});
  } else {
    to.stream->write(Slice{std::move(from.buffer), data, size});
  }
}

void TcpPassthrough::room_at(Side& to) {
  last_ = worker_.loop().now();
  Side& from = other(to);
  if (std::exchange(from.paused, false)) from.stream->resume_reading();
  finish_if_done();
}

// ---- the end ------------------------------------------------------------------------------------

// That peer has ended its direction: the other one is told once everything went on to it.
void TcpPassthrough::end_of(Side& from) {
  from.ended = true;
  from.buffer = {};
  other(from).stream->shutdown_write();
  finish_if_done();
}

// Nothing goes to or comes from that side any more; what it sent before goes on to the other.
void TcpPassthrough::broke(Side& side, const Error& error) {
  if (finished_) return;
  if (&side == &server_ && !connected_) return connect_failed(error);
  if (why_.empty()) why_ = std::format("{} broke off: {}", side.name, error.message);
  if (!connected_) return finish(why_);
  other(side).ended = true;
  end_of(side);
}

void TcpPassthrough::finish_if_done() {
  if (finished_ || !client_.ended || !server_.ended) return;
  bool waiting = false;
  for (Side* side : {&client_, &server_}) {
    if (side->stream->backlog() == 0) continue;
    side->stream->notify_below(0);
    waiting = true;
  }
  if (!waiting) finish(why_);
}

void TcpPassthrough::cut(std::string_view why) {
  if (finished_) return;
  client_.stream->abort();
  if (server_.stream != nullptr) server_.stream->abort();
  finish(why);
}

void TcpPassthrough::finish(std::string_view reason) {
  if (std::exchange(finished_, true)) return;
  timer_.disarm();
  record(reason);
  client_.stream->pause_reading();
  lease_.release();
  handler_.on_passthrough_end();
}

void TcpPassthrough::arm_idle() {
  timer_.arm_at(worker_.loop(), last_ + passthrough_->settings.idle_timeout);
}

void TcpPassthrough::on_timer() {
  if (!connected_) {
    return connect_failed(Error{"the connect timeout passed", 0});
  }
  if (worker_.loop().now() < last_ + passthrough_->settings.idle_timeout) return arm_idle();
  cut("idle timeout");
}

void TcpPassthrough::record(std::string_view reason) const {
  PassthroughRecord line;
  line.facts = &facts_;
  line.listener = listener_;
  line.passthrough = passthrough_.get();
  if (lease_) line.backend = lease_->name;
  line.bytes_in = client_.received;
  line.bytes_out = server_.received;
  line.duration = worker_.loop().now() - began_;
  line.connect = connect_time_;
  line.reason = reason;
  record_passthrough(worker_, line);
}

}  // namespace pqedge::edge
