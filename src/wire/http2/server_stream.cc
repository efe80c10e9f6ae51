#include "wire/http2/server_stream.h"

#include <algorithm>
#include <cstring>

#include "wire/http2/counters.h"
#include "wire/http2/response_fields.h"
#include "wire/http2/server_connection.h"

namespace pqedge::http2 {
namespace {

nghttp2_ssize read_source(nghttp2_session*, int32_t, uint8_t*, size_t length, uint32_t* data_flags,
                          nghttp2_data_source* source, void*) {
  return static_cast<ServerStream*>(source->ptr)->read_data(length, data_flags);
}

// RFC 9113 7. `refused` promises that nothing was processed, so a client may send it again.
ErrorCode error_code(http::Abort why) {
  switch (why) {
    case http::Abort::cancelled:
    case http::Abort::timed_out: return ErrorCode::cancel;
    case http::Abort::protocol_error: return ErrorCode::protocol_error;
    case http::Abort::refused: return ErrorCode::refused_stream;
    case http::Abort::too_large:
    case http::Abort::flood: return ErrorCode::enhance_your_calm;
    case http::Abort::none:  // NO_ERROR would look like a clean end
    case http::Abort::connection_lost:
    case http::Abort::internal_error: break;
  }
  return ErrorCode::internal_error;
}

}  // namespace

// Streams that ended, kept for the next of the thread: no allocation in the steady state.
struct StreamPool {
  static constexpr size_t kMaxFree = 1024;

  static StreamPool& of_thread() {
    static thread_local StreamPool pool;
    return pool;
  }
  StreamPool() { free.reserve(kMaxFree); }
  ~StreamPool() {
    for (ServerStream* s : free) delete s;
    closed = true;
  }
  ServerStream* take() {
    if (free.empty()) return new ServerStream;
    ServerStream* s = free.back();
    free.pop_back();
    return s;
  }
  void give_back(ServerStream* s) {
    if (closed || free.size() == kMaxFree) {
      delete s;
    } else {
      free.push_back(s);
    }
  }

  std::vector<ServerStream*> free;
  bool closed = false;  // the thread is ending
};

ServerStream* ServerStream::take(Connection& connection, int32_t id) {
  ServerStream* s = StreamPool::of_thread().take();
  s->connection_ = &connection;
  s->message_ = nullptr;
  s->id_ = id;
  s->request_ = RequestState::head;
  s->response_ = ResponseState::none;
  s->abort_ = http::Abort::protocol_error;
  s->remote_ended_ = s->peer_reset_ = s->own_reset_ = false;
  s->deferred_ = s->above_mark_ = s->length_known_ = s->tunnel_ = s->connect_ = false;
  s->early_priority_.reset();
  s->unconsumed_ = 0;
  s->body_received_ = s->response_left_ = 0;
  s->bytes_in_ = s->bytes_out_ = s->closed_at_ = 0;
  s->body_progress_ = s->send_progress_ = connection.now();
  return s;
}

void ServerStream::give_back() {
  static_cast<ListNode<OpenList>&>(*this).unlink();
  static_cast<ListNode<StagedList>&>(*this).unlink();
  static_cast<ListNode<WritableList>&>(*this).unlink();
  static_cast<ListNode<ClosedList>&>(*this).unlink();
  handler_ = nullptr;
  out_.clear();
  staging_ = {};
  staged_from_ = staged_to_ = 0;
  trailers_.reset();
  StreamPool::of_thread().give_back(this);
}

const net::ConnectionFacts& ServerStream::facts() const { return connection_->facts(); }

// ---- the request

void ServerStream::begin_head() { reader_.begin_head(connection_->limits()); }

void ServerStream::begin_trailers() {
  deliver_staged();
  reader_.begin_trailers(connection_->limits());
}

bool ServerStream::on_field(std::string_view name, std::string_view value, bool sensitive) {
  if (handler_ == nullptr) return true;
  return reader_.field(*message_, name, value, sensitive);
}

void ServerStream::on_head_complete(bool end) {
  remote_ended_ = end;
  if (handler_ == nullptr) return;
  if (!reader_.end_head(*message_, end)) {
    return refuse(reader_.refusal_status(), reader_.refusal_reason());
  }
  request_ = end ? RequestState::complete : RequestState::body;
  connect_ = message_->method == http::Method::connect;
  tunnel_ = connect_ || !message_->upgrade.empty();
  body_progress_ = connection_->now();
  handler_->on_head(end);
}

// RFC 9113 8.1: trailers end the request; nghttp2 refuses others.
void ServerStream::on_trailers_complete() {
  remote_ended_ = true;
  if (handler_ == nullptr || request_ != RequestState::body) return;
  if (tunnel_) return break_off(ErrorCode::protocol_error);  // RFC 9113 8.5
  if (!reader_.end_trailers()) return refuse(reader_.refusal_status(), reader_.refusal_reason());
  request_ = RequestState::complete;
  handler_->on_end();
}

void ServerStream::on_end() {
  remote_ended_ = true;
  deliver_staged();
  if (handler_ == nullptr || request_ != RequestState::body) return;
  request_ = RequestState::complete;
  staging_ = {};
  handler_->on_end();
}

void ServerStream::on_data(const ChunkRef& chunk, Bytes bytes) {
  if (request_ != RequestState::body) return connection_->credit_connection(bytes.size());
  body_progress_ = connection_->now();
  body_received_ += bytes.size();
  unconsumed_ += static_cast<uint32_t>(bytes.size());
  if (body_received_ > connection_->limits().max_body && !tunnel_)
    return refuse(413, "request body too large");
  if (bytes.size() < kReferenceMin) return stage(bytes);
  deliver_staged();
  if (request_ == RequestState::body) hand_over({chunk, bytes.data(), bytes.size()});
}

// Small pieces of one turn become one slice, and those of a stream share a chunk.
void ServerStream::stage(Bytes bytes) {
  while (!bytes.empty() && request_ == RequestState::body) {
    if (staging_ && staged_to_ == Chunk::kCapacity) {
      deliver_staged();
      staging_ = {};
      continue;  // the handler may have dropped the rest
    }
    if (!staging_) {
      staging_ = ChunkRef::make();
      staged_from_ = staged_to_ = 0;
    }
    const size_t n = std::min(bytes.size(), Chunk::kCapacity - staged_to_);
    std::memcpy(staging_->data() + staged_to_, bytes.data(), n);
    staged_to_ += n;
    bytes = bytes.subspan(n);
    connection_->stage(*this);
  }
}

void ServerStream::deliver_staged() {
  static_cast<ListNode<StagedList>&>(*this).unlink();
  if (staged_from_ == staged_to_) return;
  const uint8_t* data = staging_->data() + staged_from_;
  const size_t n = staged_to_ - staged_from_;
  staged_from_ = staged_to_;
  hand_over({staging_, data, n});
  // Given back already: start at the front again, and no chunk is kept by an idle upload.
  if (staging_ && !staging_->shared()) staging_ = {};
  if (!staging_) staged_from_ = staged_to_ = 0;
}

void ServerStream::hand_over(Slice bytes) {
  if (handler_ != nullptr) handler_->on_body(std::move(bytes));
}

// What comes from now on is dropped. The stream gets no more credit, so that the client stops
// sending even if the answer takes its time; the connection's is given back.
void ServerStream::drop_request() {
  request_ = RequestState::dropped;
  static_cast<ListNode<StagedList>&>(*this).unlink();
  staging_ = {};
  staged_from_ = staged_to_ = 0;
  connection_->credit_connection(take_unconsumed());
}

void ServerStream::refuse(uint16_t status, std::string_view reason) {
  if (handler_ == nullptr || request_ == RequestState::dropped) return;
  drop_request();
  if (status == 431 || status == 414) {
    kHeadsTooLarge.add();
    if (!connection_->charge(Charge::oversized_head)) return;
  }
  if (response_ != ResponseState::sent) return handler_->on_bad_request(status, reason);
  if (!remote_ended_) submit_reset(ErrorCode::no_error);
}

void ServerStream::consumed(size_t n) {
  n = std::min<size_t>(n, unconsumed_);
  if (n == 0) return;
  unconsumed_ -= static_cast<uint32_t>(n);
  body_progress_ = connection_->now();  // from now on it is the client's turn again
  if (request_ == RequestState::body) {
    connection_->credit(id_, n);
  } else {
    connection_->credit_connection(n);
  }
}

void ServerStream::ignore_request_body() {
  if (request_ != RequestState::body && request_ != RequestState::head) return;
  drop_request();
  if (response_ == ResponseState::sent && !remote_ended_) submit_reset(ErrorCode::no_error);
}

// ---- the answer

void ServerStream::send_informational(const http::Response& response) {
  if (handler_ == nullptr || response_ != ResponseState::none) return;
  const auto fields = FieldBlock::of_thread().response(response);
  nghttp2_submit_headers(connection_->session(), NGHTTP2_FLAG_NONE, id_, nullptr, fields.data(),
                         fields.size(), nullptr);
  connection_->schedule_pump();
}

void ServerStream::send_head(const http::Response& response, bool end) {
  if (handler_ == nullptr || response_ != ResponseState::none) return;
  const auto fields = FieldBlock::of_thread().response(response);
  nghttp2_data_provider2 body{};
  body.source.ptr = this;
  body.read_callback = read_source;
  settle_priority(response);
  nghttp2_submit_response2(connection_->session(), id_, fields.data(), fields.size(),
                           end ? nullptr : &body);
  response_ = end ? ResponseState::ending : ResponseState::body;
  length_known_ = response.body == http::BodyKind::length;
  response_left_ = response.content_length;
  connection_->schedule_pump();
}

// Before the first of the answer. Of the backend's opinion (RFC 9218 8) counts what it names, in
// the place of what the client said.
void ServerStream::settle_priority(const http::Response& response) {
  nghttp2_session* session = connection_->session();
  const http::Field* field = response.fields.find(http::Name::priority);
  if (!early_priority_ && field == nullptr) return;
  nghttp2_extpri known{};
  if (nghttp2_session_get_extpri_stream_priority(session, &known, id_) != 0) return;
  http::Priority priority = early_priority_.value_or(http::Priority{
      .urgency = static_cast<uint8_t>(known.urgency), .incremental = known.inc != 0});
  if (field != nullptr) priority = http::parse_priority(field->value, priority);
  const nghttp2_extpri next{.urgency = priority.urgency, .inc = priority.incremental ? 1 : 0};
  nghttp2_session_change_extpri_stream_priority(session, id_, &next, 0);
}

void ServerStream::send_body(Slice bytes) {
  if (handler_ == nullptr || response_ != ResponseState::body || bytes.empty()) return;
  if (length_known_) {
    if (bytes.size > response_left_) return fail_response();
    response_left_ -= bytes.size;
  }
  if (out_.empty()) send_progress_ = connection_->now();
  out_.push(std::move(bytes));
  if (out_.size() > kLowWater) above_mark_ = true;
  if (std::exchange(deferred_, false)) nghttp2_session_resume_data(connection_->session(), id_);
  connection_->schedule_pump();
}

void ServerStream::send_end(const http::Fields* trailers) {
  if (handler_ == nullptr || response_ != ResponseState::body) return;
  // A short body must not look whole (RFC 9113 8.1.1).
  if (length_known_ && response_left_ != 0) return fail_response();
  response_ = ResponseState::ending;
  trailers_ = OwnedTrailers::of(trailers);
  if (std::exchange(deferred_, false)) nghttp2_session_resume_data(connection_->session(), id_);
  connection_->schedule_pump();
}

nghttp2_ssize ServerStream::read_data(size_t length, uint32_t* data_flags) {
  if (handler_ == nullptr) return NGHTTP2_ERR_DEFERRED;  // RST_STREAM is queued
  const size_t n = std::min(length, out_.size());
  const bool last = response_ == ResponseState::ending && n == out_.size();
  if (n == 0 && !last) {
    deferred_ = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  *data_flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (last) {
    *data_flags |= NGHTTP2_DATA_FLAG_EOF;
    if (trailers_ != nullptr) {
      *data_flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      trailers_->submit(connection_->session(), id_);
    }
  }
  return static_cast<nghttp2_ssize>(n);
}

void ServerStream::take_data(size_t size, net::Stream& transport) {
  size_t left = size;
  while (left > 0) {
    if (out_.front().size <= left) {
      left -= out_.front().size;
      transport.write(out_.pop());
    } else {
      Slice part = out_.front();
      part.size = left;
      transport.write(std::move(part));
      out_.consume(left);
      left = 0;
    }
  }
  send_progress_ = connection_->now();
  if (above_mark_ && out_.size() <= kLowWater) {
    above_mark_ = false;
    connection_->owe_writable(*this);
  }
}

void ServerStream::tell_writable() {
  if (handler_ != nullptr && response_ == ResponseState::body) handler_->on_writable();
}

// RFC 9113 8.1: a whole answer before the end of the request, of which no more is wanted.
void ServerStream::on_end_sent() {
  response_ = ResponseState::sent;
  if (request_ == RequestState::dropped && !remote_ended_) submit_reset(ErrorCode::no_error);
}

// ---- the end

void ServerStream::submit_reset(ErrorCode code) {
  own_reset_ = true;
  nghttp2_submit_rst_stream(connection_->session(), NGHTTP2_FLAG_NONE, id_,
                            static_cast<uint32_t>(code));
  connection_->schedule_pump();
}

// The answer broke its own length: a failure that the client must see, and the handler too.
void ServerStream::fail_response() {
  response_ = ResponseState::ending;
  abort_ = http::Abort::internal_error;
  out_.clear();
  submit_reset(ErrorCode::internal_error);
}

// A tunnel in which the client did what has no place there.
void ServerStream::break_off(ErrorCode code) {
  out_.clear();
  drop_request();
  submit_reset(code);
  connection_->charge(Charge::provoked_reset);
  tell_reset(http::Abort::protocol_error);
}

void ServerStream::reset(http::Abort why) {
  if (handler_ == nullptr && message_ != nullptr) return;
  handler_ = nullptr;
  out_.clear();
  trailers_.reset();
  drop_request();
  if (closed_at_ == 0) {
    // The other end of the tunnel broke: RFC 9113 8.5; where it is an upgrade, RFC 8441 5.
    const bool far_end = tunnel_ && why == http::Abort::connection_lost;
    const ErrorCode broke = connect_ ? ErrorCode::connect_error : ErrorCode::cancel;
    submit_reset(far_end ? broke : error_code(why));
    if (why == http::Abort::protocol_error) connection_->charge(Charge::provoked_reset);
  }
}

void ServerStream::reap() {
  out_.clear();
  trailers_.reset();
  submit_reset(ErrorCode::cancel);
  drop_request();
  tell_reset(http::Abort::timed_out);
}

void ServerStream::tell_finished() {
  if (http::ServerStreamHandler* h = std::exchange(handler_, nullptr)) h->on_finished();
}

void ServerStream::tell_reset(http::Abort why) {
  if (http::ServerStreamHandler* h = std::exchange(handler_, nullptr)) h->on_reset(why);
}

}  // namespace pqedge::http2
