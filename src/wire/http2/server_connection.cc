#include "wire/http2/server_connection.h"

#include <algorithm>
#include <array>
#include <utility>

#include "wire/http2/counters.h"
#include "wire/http2/session_callbacks.h"

namespace pqedge::http2 {
namespace {

// A read into less room than this is not worth its system call.
constexpr size_t kMinReadRoom = 8 * 1024;

}  // namespace

Connection::Connection(net::Loop& loop, std::unique_ptr<net::Stream> stream,
                       const net::ConnectionFacts& facts,
                       std::shared_ptr<const http::Limits> limits,
                       http::ServerConnectionHandler& handler)
    : loop_(loop),
      stream_(std::move(stream)),
      facts_(facts),
      limits_(std::move(limits)),
      handler_(handler),
      budget_(loop.now()),
      scanner_(budget_, size_t{limits_->max_head} * RequestReader::kBombFactor),
      pump_work_([](void* self) { static_cast<Connection*>(self)->pump(); }, this),
      closed_work_(
          [](void* self) {
            auto* c = static_cast<Connection*>(self);
            c->handler_.on_closed(c->end_reason_);  // destroys the connection
          },
          this),
      read_again_([](void* self) { static_cast<Connection*>(self)->on_readable(); }, this),
      timer_([](void* self) { static_cast<Connection*>(self)->on_timer(); }, this) {
  stream_->set_handler(this);
  idle_since_ = transport_progress_ = loop_.now();
  scanner_.expect_preface(loop_.now());
}

Connection::~Connection() {
  stream_->set_handler(nullptr);
  nghttp2_session_del(session_);
  // The owner is tearing down: handlers are its own business.
  while (!open_.empty()) open_.front().give_back();
}

void Connection::start() {
  session_ = new_server_session(*this);
  if (session_ == nullptr) return finish("out of memory");
  const std::array<nghttp2_settings_entry, 5> settings = {{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_->max_streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
       std::min(limits_->body_window, limits_->connection_window / 4)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits_->max_head},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},    // RFC 9218 2.1
      {NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1},  // RFC 8441 3; only where it is offered
  }};
  const int settled =
      nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(),
                              settings.size() - (limits_->connect_protocol ? 0 : 1));
  const int widened = nghttp2_session_set_local_window_size(
      session_, NGHTTP2_FLAG_NONE, 0, static_cast<int32_t>(limits_->connection_window));
  const Nanos shortest = std::min({limits_->header_timeout, limits_->idle_timeout,
                                   limits_->body_timeout, limits_->send_timeout});
  tick_ = std::clamp(shortest / 4, kMillisecond, kSecond);
  if (settled != 0 || widened != 0) return finish("out of memory");
  schedule_pump();
}

// ---- reading

void Connection::on_readable() {
  size_t budget = kReadBudget;
  ChunkRef chunk = ChunkRef::make();
  size_t used = 0;
  while (state_ != State::closed) {
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
    if (r.status != net::IoStatus::ok) {
      peer_ended_ = true;
      on_transport_end();
      break;
    }
    used += r.size;
    budget -= r.size;
    if (!receive(chunk, room.first(r.size))) break;
  }
  if (state_ < State::lingering) schedule_pump();
}

// False: the connection has ended for us.
bool Connection::receive(const ChunkRef& chunk, Bytes bytes) {
  while (!bytes.empty() && state_ < State::lingering && !input_stopped_) {
    const FrameScanner::Result scanned = scanner_.scan(bytes, loop_.now());
    if (scanned.size > 0 && !feed(chunk, bytes.first(scanned.size))) return false;
    bytes = bytes.subspan(scanned.size);
    switch (scanned.stop) {
      case FrameScanner::Stop::none: break;
      case FrameScanner::Stop::old_stream:
        if (!judge_old_stream(scanned.stream_id, scanned.type)) return false;
        scanner_.permit(scanned.stream_id);
        break;
      case FrameScanner::Stop::flood:
        floods(scanned.charge).add();
        fail({ErrorCode::enhance_your_calm, http::Abort::flood, "flood"});
        return false;
      case FrameScanner::Stop::long_block:
        kHeaderBombs.add();
        fail({ErrorCode::enhance_your_calm, http::Abort::flood, "field block too long"});
        return false;
      case FrameScanner::Stop::long_string:
        if (!stop_input(scanned.in_path)) return false;
        break;
      case FrameScanner::Stop::bad_frame:
        fail({scanned.error, http::Abort::protocol_error, "bad frame"});
        return false;
    }
  }
  if (state_ < State::lingering) {
    deliver_staged();
    return true;
  }
  if (bytes.size() >= linger_left_) {
    finish(end_reason_);
    return false;
  }
  linger_left_ -= bytes.size();
  return true;
}

bool Connection::feed(const ChunkRef& chunk, Bytes bytes) {
  feeding_ = &chunk;
  const nghttp2_ssize n = nghttp2_session_mem_recv2(session_, bytes.data(), bytes.size());
  feeding_ = nullptr;
  if (n < 0) {
    switch (n) {
      case NGHTTP2_ERR_CALLBACK_FAILURE:  // ours, settled below
        break;
      case NGHTTP2_ERR_FLOODED:
        floods(Charge::ping).add();  // acknowledgements wait that the peer does not take
        fail_later({ErrorCode::enhance_your_calm, http::Abort::flood, "too many acknowledgements"});
        break;
      case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS:
        floods(Charge::continuation).add();
        fail_later({ErrorCode::enhance_your_calm, http::Abort::flood, "too many CONTINUATIONs"});
        break;
      case NGHTTP2_ERR_BAD_CLIENT_MAGIC:  // RFC 9113 3.4
        fail_later({ErrorCode::protocol_error, http::Abort::protocol_error, "bad preface"});
        break;
      default:
        fail_later({ErrorCode::internal_error, http::Abort::internal_error, "HTTP/2 session"});
        break;
    }
  }
  return settle_failure();
}

// RFC 9113 5.1 and 5.1.1: HEADERS on a stream that is not new are trailers of an open one, were
// under way when we reset it, or are an error. So are DATA; nghttp2 judges those of a stream that
// it knows. Of DATA on a stream that we do not remember nobody knows who ended it: an upload that
// was cut may go on for a round trip.
bool Connection::judge_old_stream(uint32_t stream_id, FrameType type) {
  const bool data = type == FrameType::data;
  if (nghttp2_session_find_stream(session_, static_cast<int32_t>(stream_id)) != nullptr)
    return true;
  // After the final GOAWAY nghttp2 decodes and drops what belongs to streams it did not take.
  if (state_ == State::draining) return true;
  switch (recent_.find(stream_id)) {
    case RecentStreams::Ending::reset_by_us: return true;
    case RecentStreams::Ending::ended_by_peer:
      fail({ErrorCode::stream_closed, http::Abort::protocol_error,
            data ? "DATA on a closed stream" : "HEADERS on a closed stream"});
      return false;
    case RecentStreams::Ending::unknown: break;
  }
  if (data) return true;
  fail({ErrorCode::protocol_error, http::Abort::protocol_error, "HEADERS on a lower stream"});
  return false;
}

// A string that nghttp2 cannot decode: the request gets its answer, but with it the state of the
// decoder is lost (RFC 9113 4.3), so the connection ends when the requests that run have ended.
bool Connection::stop_input(bool in_path) {
  if (decoding_ == nullptr) {  // no request that could be answered
    fail({ErrorCode::enhance_your_calm, http::Abort::flood, "field too long"});
    return false;
  }
  input_stopped_ = true;
  scanner_.forget_head();
  deliver_staged();
  ServerStream& s = *std::exchange(decoding_, nullptr);
  if (state_ == State::open) state_ = State::notified;
  finish_drain();
  if (in_path) {
    s.refuse(414, "request target too long");
  } else {
    s.refuse(431, "field too large");
  }
  return true;
}

void Connection::deliver_staged() {
  while (!staged_.empty()) staged_.pop_front().deliver_staged();
}

// HTTP/2 has no half-closed connections: who ends its direction has gone.
void Connection::on_transport_end() {
  if (state_ == State::closed) return;
  if (state_ < State::lingering) {
    reset_all(stream_->truncated() ? http::Abort::connection_lost : http::Abort::cancelled);
    stream_->shutdown_write();
  }
  finish(end_reason_);
}

void Connection::on_stream_error(const Error&) {
  if (state_ == State::closed) return;
  peer_ended_ = true;
  reset_all(http::Abort::connection_lost);
  finish("connection lost");
}

// ---- writing

void Connection::put(Bytes bytes) {
  stream_->write_copy(bytes);
  written_ += bytes.size();
}

void Connection::on_writable() {
  if (state_ != State::closed) pump();
}

// At the end of a turn in which something was queued or given back: one pass for all streams, and
// one write.
void Connection::pump() {
  while (settle_failure()) {
    pull();
    if (!tell_writable()) break;
  }
  if (state_ == State::closed) return;
  stream_->flush();
  if (settle_failure()) settle();
  if (state_ != State::closed) watch();
}

void Connection::pull() {
  while (stream_->backlog() <= kMaxBacklog) {
    const uint8_t* data = nullptr;
    const nghttp2_ssize n = nghttp2_session_mem_send2(session_, &data);
    if (n < 0) {
      fail_later({ErrorCode::internal_error, http::Abort::internal_error, "HTTP/2 session"});
      break;
    }
    if (n == 0) break;  // nothing to send, or DATA filled the transport
    put({data, static_cast<size_t>(n)});
  }
  while (!closing_.empty()) {
    ServerStream& s = closing_.pop_front();
    s.note_closed(written_);
    finishing_.push_back(s);
  }
}

// True: someone was told, so that there may be more to send.
bool Connection::tell_writable() {
  if (writable_.empty()) return false;
  IntrusiveList<ServerStream, WritableList> batch;
  batch.splice_back(writable_);
  while (!batch.empty()) batch.pop_front().tell_writable();
  return state_ < State::lingering && stream_->backlog() <= kMaxBacklog;
}

// After a flush: who is finished, and what ends with it.
void Connection::settle() {
  settle_finished();
  const size_t backlog = stream_->backlog();
  const bool dry = nghttp2_session_want_write(session_) == 0;
  if (backlog == 0 && dry && nghttp2_session_want_read(session_) == 0) {
    // GOAWAY is out: nghttp2 found a connection error, or all streams of a drain have ended. Or
    // the client said GOAWAY and nothing runs.
    return end_in_order(errors_sent_ ? "protocol error" : end_reason_);
  }
  if (requests_ >= limits_->max_requests && state_ == State::open) begin_drain({});
  if (backlog == 0) {
    // pull() stopped at the mark, and the flush took everything: nobody else would ask for more.
    if (!dry) schedule_pump();
    return;
  }
  stream_->notify_below(backlog > kMaxBacklog / 2 && !dry ? kMaxBacklog / 2 : 0);
}

void Connection::settle_finished() {
  const size_t backlog = stream_->backlog();
  const uint64_t taken = written_ > backlog ? written_ - backlog : 0;
  while (!finishing_.empty() && finishing_.front().closed_at() <= taken) {
    ServerStream& s = finishing_.pop_front();
    s.tell_finished();
    release(s);
  }
}

void Connection::credit(int32_t stream_id, size_t n) {
  nghttp2_session_consume(session_, stream_id, n);
  schedule_pump();
}

void Connection::credit_connection(size_t n) {
  if (n == 0) return;
  nghttp2_session_consume_connection(session_, n);
  schedule_pump();
}

bool Connection::charge(Charge charge) {
  if (budget_.spend(charge, loop_.now())) return true;
  if (failure_.reason.empty()) floods(charge).add();
  fail_later({ErrorCode::enhance_your_calm, http::Abort::flood, "flood"});
  schedule_pump();
  return false;
}

void Connection::release(ServerStream& stream) {
  --open_count_;
  if (open_count_ == 0) idle_since_ = loop_.now();
  stream.give_back();
}

}  // namespace pqedge::http2
