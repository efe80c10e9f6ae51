#include "wire/http2/client_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "wire/http2/client_counters.h"

namespace pqedge::http2 {
namespace {

// A read into less room than this is not worth its system call.
constexpr size_t kMinReadRoom = 8 * 1024;

// RFC 9113 7, of a stream that the backend ended.
std::string_view reset_text(uint32_t code) {
  switch (static_cast<ErrorCode>(code)) {
    case ErrorCode::no_error: return "the backend ended the stream before its answer (NO_ERROR)";
    case ErrorCode::protocol_error: return "the backend reset the stream (PROTOCOL_ERROR)";
    case ErrorCode::internal_error: return "the backend reset the stream (INTERNAL_ERROR)";
    case ErrorCode::flow_control_error: return "the backend reset the stream (FLOW_CONTROL_ERROR)";
    case ErrorCode::stream_closed: return "the backend reset the stream (STREAM_CLOSED)";
    case ErrorCode::frame_size_error: return "the backend reset the stream (FRAME_SIZE_ERROR)";
    case ErrorCode::cancel: return "the backend reset the stream (CANCEL)";
    case ErrorCode::enhance_your_calm: return "the backend reset the stream (ENHANCE_YOUR_CALM)";
    default: return "the backend reset the stream";
  }
}

}  // namespace

ClientConnection::ClientConnection(net::Loop& loop, std::unique_ptr<net::Stream> stream,
                                   std::shared_ptr<const http::Limits> limits,
                                   const ClientOptions& options,
                                   http::ClientConnectionHandler& owner)
    : loop_(loop),
      stream_(std::move(stream)),
      limits_(std::move(limits)),
      options_(options),
      owner_(owner),
      last_life_(loop.now()),
      pump_work_([](void* self) { static_cast<ClientConnection*>(self)->pump(); }, this),
      closed_work_(
          [](void* self) {
            auto* c = static_cast<ClientConnection*>(self);
            c->owner_.on_client_connection_closed(c->end_reason_);  // destroys the connection
          },
          this),
      read_again_([](void* self) { static_cast<ClientConnection*>(self)->on_readable(); }, this),
      timer_([](void* self) { static_cast<ClientConnection*>(self)->on_timer(); }, this) {
  stream_->set_handler(this);
  if (options_.server_streams != nullptr) {
    peer_streams_ = std::clamp<uint32_t>(*options_.server_streams, 1, peer_streams_);
  }
}

ClientConnection::~ClientConnection() {
  stream_->set_handler(nullptr);
  nghttp2_session_del(session_);
  // The owner is tearing down: handlers are its own business.
  while (!open_.empty()) open_.front().give_back();
}

void ClientConnection::start() {
  session_ = new_client_session(*this);
  if (session_ == nullptr) return finish("out of memory");
  const std::array<nghttp2_settings_entry, 4> settings = {{
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits_->body_window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits_->max_response_head},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},  // RFC 9218 2.1
  }};
  const int settled =
      nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  const uint32_t window = std::max(limits_->connection_window, limits_->body_window);
  const int widened = nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                                            static_cast<int32_t>(window));
  if (settled != 0 || widened != 0) return finish("out of memory");
  schedule_pump();
}

// ---- streams

http::ClientStream& ClientConnection::open_stream(http::ClientStreamHandler& handler) {
  ClientStream* s = ClientStream::take(*this, handler, requests_++);
  open_.push_back(*s);
  // Who was silent for long may be gone without a word (a firewall, a machine that was cut off).
  if (open_count_++ == 0 && loop_.now() - last_life_ > kLongUnused) send_ping();
  return *s;
}

bool ClientConnection::available() const {
  return !closed_ && !going_away_ && !doubtful_ &&
         open_count_ < std::min(options_.max_streams, peer_streams_);
}

void ClientConnection::release(ClientStream& stream) {
  --open_count_;
  available_due_ = true;
  stream.give_back();
  schedule_pump();
}

bool ClientConnection::is_sent(uint64_t offset) const {
  return (closed_ ? taken_ : written_ - stream_->backlog()) > offset;
}

void ClientConnection::credit_connection(size_t n) {
  nghttp2_session_consume_connection(session_, n);
  schedule_pump();
}

// ---- reading

void ClientConnection::on_readable() {
  size_t budget = kReadBudget;
  ChunkRef chunk = ChunkRef::make();
  size_t used = 0;
  while (!closed_) {
    if (budget == 0) {  // edge-triggered: nobody will tell us again
      read_again_.arm_at(loop_, loop_.now() + 1);
      break;
    }
    if (!chunk->shared()) {
      used = 0;
    } else if (Chunk::kCapacity - used < kMinReadRoom) {
      chunk = ChunkRef::make();
      used = 0;
    }
    const MutableBytes room{chunk->data() + used, std::min(Chunk::kCapacity - used, budget)};
    const net::IoResult r = stream_->read(room);
    if (r.status == net::IoStatus::would_block) break;
    if (r.status != net::IoStatus::ok) return on_transport_end();
    on_life();
    used += r.size;
    budget -= r.size;
    if (!feed(chunk, room.first(r.size))) return;
    deliver_staged();
  }
  if (!closed_) schedule_pump();
}

// False: the connection has ended.
bool ClientConnection::feed(const ChunkRef& chunk, Bytes bytes) {
  feeding_ = &chunk;
  const size_t good = frames_.pass(bytes);
  const nghttp2_ssize n = nghttp2_session_mem_recv2(session_, bytes.data(), good);
  feeding_ = nullptr;
  if (n < 0) fail_later(http::Abort::protocol_error, "the backend broke HTTP/2");
  if (const auto error = frames_.error()) {
    nghttp2_session_terminate_session(session_, static_cast<uint32_t>(*error));
  }
  if (failure_ == http::Abort::none) return true;
  fail(failure_, failure_detail_);
  return false;
}

void ClientConnection::deliver_staged() {
  while (!staged_.empty()) staged_.front().deliver_staged();
}

void ClientConnection::on_life() {
  last_life_ = loop_.now();
  if (!std::exchange(ping_out_, false)) return;
  timer_.disarm();
  if (std::exchange(doubtful_, false)) available_due_ = true;
}

void ClientConnection::on_transport_end() {
  fail(http::Abort::connection_lost, stream_->truncated()
                                         ? "the backend ended TLS without a close_notify"
                                         : "the backend closed the connection");
}

void ClientConnection::on_stream_error(const Error&) {
  fail(http::Abort::connection_lost, "connection to the backend lost");
}

// ---- writing

void ClientConnection::put(Bytes bytes) {
  stream_->write_copy(bytes);
  written_ += bytes.size();
}

void ClientConnection::on_writable() {
  if (!closed_) pump();
}

// At the end of a turn in which something was queued or given back: one pass for all streams, and
// one write.
void ClientConnection::pump() {
  do {
    if (closed_) return;
    if (failure_ != http::Abort::none) return fail(failure_, failure_detail_);
    pull();
    tell_failures();
  } while (tell_writable());
  if (closed_) return;
  stream_->flush();
  if (!closed_) settle();
  if (!closed_ && std::exchange(available_due_, false) && available()) owner_.on_available();
}

void ClientConnection::pull() {
  while (stream_->backlog() <= kMaxBacklog) {
    const uint8_t* data = nullptr;
    const nghttp2_ssize n = nghttp2_session_mem_send2(session_, &data);
    if (n < 0) return fail_later(http::Abort::internal_error, "HTTP/2 session");
    if (n == 0) return;  // nothing to send, or DATA filled the transport
    put({data, static_cast<size_t>(n)});
  }
}

void ClientConnection::tell_failures() {
  while (!failed_.empty()) {
    ClientStream& s = failed_.pop_front();
    s.tell_failure();
    if (s.id() == 0) release(s);
  }
}

// True: someone was told, so that there may be more to send.
bool ClientConnection::tell_writable() {
  if (writable_.empty()) return false;
  IntrusiveList<ClientStream, ClientWritableList> batch;
  batch.splice_back(writable_);
  while (!batch.empty()) batch.pop_front().tell_writable();
  return stream_->backlog() <= kMaxBacklog;
}

// After a flush: whether the connection has ended, and who says when there is room again.
void ClientConnection::settle() {
  const bool dry = nghttp2_session_want_write(session_) == 0;
  if (errors_sent_ && dry) {
    return fail(http::Abort::protocol_error,
                settings_seen_ ? "the backend broke HTTP/2" : "the backend does not speak HTTP/2");
  }
  if (close_due_ || (going_away_ && open_count_ == 0)) {
    stream_->shutdown_write();
    return fail(http::Abort::connection_lost, {});  // nobody is there to be told
  }
  const size_t backlog = stream_->backlog();
  if (backlog == 0) {
    // pull() stopped at the mark, and the flush took everything: nobody else would ask for more.
    if (!dry) schedule_pump();
    return;
  }
  stream_->notify_below(backlog > kMaxBacklog / 2 && !dry ? kMaxBacklog / 2 : 0);
}

// ---- what the peer says

void ClientConnection::on_settings() {
  settings_seen_ = true;
  peer_streams_ =
      nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
  if (options_.server_streams != nullptr) *options_.server_streams = peer_streams_;
  available_due_ = true;
}

// The owner hears of it before the streams are told, since they may look for another connection at
// once.
void ClientConnection::on_goaway(const nghttp2_goaway& goaway) {
  kGoaways.add();
  going_away_ = true;
  goaway_last_ = goaway.last_stream_id;
  uint64_t refused = 0;
  open_.for_each([&](ClientStream& s) {
    if (s.has_handler() && (s.id() == 0 || s.id() > goaway_last_)) ++refused;
  });
  const auto taken = static_cast<uint64_t>(std::max(0, std::min(goaway_last_, highest_id_)));
  owner_.on_going_away((taken + 1) / 2, refused);
}

void ClientConnection::on_stream_gone(ClientStream& s, int32_t id, uint32_t code) {
  s.deliver_staged();  // it came before the reset
  const auto error = static_cast<ErrorCode>(code);
  const bool beyond_goaway = going_away_ && id > goaway_last_;
  if (!s.has_handler()) {
    // It ended in good order, or was cancelled.
  } else if (s.has_failed()) {
    s.tell_failure();
  } else if (s.not_sent() != http::Abort::none) {
    s.tell_reset(s.not_sent(), s.not_sent() == http::Abort::refused, "the request was not sent");
  } else if (!s.answered() && (beyond_goaway || error == ErrorCode::refused_stream)) {
    kRefusedStreams.add();
    s.tell_reset(http::Abort::refused, true,
                 beyond_goaway ? "the backend takes no more requests on the connection (GOAWAY)"
                               : "the backend refused the stream");
  } else if (s.peer_reset() && error == ErrorCode::http_1_1_required && !s.answered()) {
    owner_.on_http11_required();
    s.tell_reset(http::Abort::refused, true, "the backend wants HTTP/1.1");
  } else if (s.peer_reset()) {
    s.tell_reset(http::Abort::cancelled, false, reset_text(code));
  } else {
    s.tell_reset(http::Abort::protocol_error, false, "the backend's answer is malformed");
  }
  release(s);
}

// ---- the end

void ClientConnection::close() {
  if (closed_ || close_due_) return;
  close_due_ = going_away_ = true;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, nullptr, 0);
  schedule_pump();
}

void ClientConnection::fail_later(http::Abort why, std::string_view detail) {
  if (failure_ != http::Abort::none) return;
  failure_ = why;
  failure_detail_ = detail;
  schedule_pump();
}

void ClientConnection::fail(http::Abort why, std::string_view detail) {
  if (closed_) return;
  finish(detail);
  if (why == http::Abort::protocol_error) kBadConnections.add();
  const bool lost = why == http::Abort::connection_lost;
  IntrusiveList<ClientStream, ClientOpenList> all;
  all.splice_back(open_);
  while (!all.empty()) {
    ClientStream& s = all.pop_front();
    open_.push_back(s);
    s.deliver_staged();
    // A kept connection that died before a byte of an answer, or one that took no byte of the
    // request: nothing was processed that an idempotent request could not repeat.
    const bool unanswered =
        lost && !s.answered() && (s.earlier_requests() > 0 || !s.anything_sent());
    s.tell_reset(why, unanswered, detail);
  }
}

void ClientConnection::finish(std::string_view reason) {
  if (closed_) return;
  taken_ = written_ - stream_->backlog();
  closed_ = true;
  end_reason_ = reason;
  timer_.disarm();
  read_again_.disarm();
  loop_.defer(closed_work_);
}

// ---- whether the peer lives

void ClientConnection::probe() {
  if (closed_) return;
  doubtful_ = true;
  send_ping();
}

void ClientConnection::send_ping() {
  if (std::exchange(ping_out_, true)) return;
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  timer_.arm(loop_, options_.probe_timeout);
  schedule_pump();
}

void ClientConnection::on_timer() {
  kDeadPeers.add();
  fail(http::Abort::connection_lost, "the backend does not answer a PING");
}

bool ClientConnection::quiet() const {
  char byte;
  const ssize_t n = ::recv(stream_->fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

std::unique_ptr<http::ClientConnection> make_client(net::Loop& loop,
                                                    std::unique_ptr<net::Stream> stream,
                                                    std::shared_ptr<const http::Limits> limits,
                                                    const ClientOptions& options,
                                                    http::ClientConnectionHandler& handler) {
  auto made = std::make_unique<ClientConnection>(loop, std::move(stream), std::move(limits),
                                                 options, handler);
  made->start();
  return made;
}

}  // namespace pqedge::http2
