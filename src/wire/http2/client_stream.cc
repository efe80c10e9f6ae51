#include "wire/http2/client_stream.h"

#include <algorithm>

#include "wire/http2/client_connection.h"
#include "wire/http2/response_fields.h"

namespace pqedge::http2 {
namespace {

constexpr uint8_t kMaxInformational = 16;

nghttp2_ssize read_source(nghttp2_session*, int32_t, uint8_t*, size_t length, uint32_t* data_flags,
                          nghttp2_data_source* source, void*) {
  return static_cast<ClientStream*>(source->ptr)->read_data(length, data_flags);
}

}  // namespace

// Streams that ended, kept for the next of the thread: no allocation in the steady state.
struct ClientStreamPool {
  static constexpr size_t kMaxFree = 1024;

  static ClientStreamPool& of_thread() {
    static thread_local ClientStreamPool pool;
    return pool;
  }
  ClientStreamPool() { free.reserve(kMaxFree); }
  ~ClientStreamPool() {
    for (ClientStream* s : free) delete s;
    closed = true;
  }
  ClientStream* take() {
    if (free.empty()) return new ClientStream;
    ClientStream* s = free.back();
    free.pop_back();
    return s;
  }
  void give_back(ClientStream* s) {
    if (closed || free.size() == kMaxFree) {
      delete s;
    } else {
      free.push_back(s);
    }
  }

  std::vector<ClientStream*> free;
  bool closed = false;  // the thread is ending
};

ClientStream* ClientStream::take(ClientConnection& connection, http::ClientStreamHandler& handler,
                                 uint64_t earlier) {
  ClientStream* s = ClientStreamPool::of_thread().take();
  s->connection_ = &connection;
  s->handler_ = &handler;
  s->id_ = 0;
  s->sending_ = Sending::head_due;
  s->answer_ = Answer::head;
  s->method_ = http::Method::get;
  s->failure_ = s->not_sent_ = http::Abort::none;
  s->answered_ = s->own_reset_ = s->peer_reset_ = s->head_leaves_ = false;
  s->deferred_ = s->above_mark_ = s->length_known_ = false;
  s->informationals_ = 0;
  s->unconsumed_ = 0;
  s->request_left_ = s->head_at_ = 0;
  s->earlier_ = earlier;
  s->failure_detail_ = {};
  return s;
}

void ClientStream::give_back() {
  static_cast<ListNode<ClientOpenList>&>(*this).unlink();
  static_cast<ListNode<ClientFailedList>&>(*this).unlink();
  let_go();
  ClientStreamPool::of_thread().give_back(this);
}

// Nothing reaches the handler any more, and what was kept for it is dropped.
void ClientStream::let_go() {
  handler_ = nullptr;
  static_cast<ListNode<ClientStagedList>&>(*this).unlink();
  static_cast<ListNode<ClientWritableList>&>(*this).unlink();
  staged_.clear();
  out_.clear();
  trailers_.reset();
}

// ---- the request

void ClientStream::send_request_head(const http::Request& request, bool end) {
  if (handler_ == nullptr || sending_ != Sending::head_due || failure_ != http::Abort::none) return;
  const auto fields = FieldBlock::of_thread().request(request);
  nghttp2_data_provider2 body{};
  body.source.ptr = this;
  body.read_callback = read_source;
  const int32_t id = nghttp2_submit_request2(connection_->session(), nullptr, fields.data(),
                                             fields.size(), end ? nullptr : &body, this);
  if (id == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE) {
    connection_->exhaust();
    return fail(http::Abort::refused, "the connection has no stream identifiers left");
  }
  if (id < 0) return fail(http::Abort::internal_error, "the request cannot be sent");
  id_ = id;
  connection_->note_id(id);
  method_ = request.method;
  length_known_ = request.body == http::BodyKind::length;
  request_left_ = request.content_length;
  sending_ = end ? Sending::ending : Sending::body;
  connection_->schedule_pump();
}

void ClientStream::send_request_body(Slice bytes) {
  if (handler_ == nullptr || sending_ != Sending::body || bytes.empty()) return;
  if (length_known_) {
    if (bytes.size > request_left_) {
      return fail(http::Abort::internal_error, "request body longer than its Content-Length");
    }
    request_left_ -= bytes.size;
  }
  out_.push(std::move(bytes));
  if (out_.size() > kLowWater) above_mark_ = true;
  if (std::exchange(deferred_, false)) nghttp2_session_resume_data(connection_->session(), id_);
  connection_->schedule_pump();
}

void ClientStream::send_request_end(const http::Fields* trailers) {
  if (handler_ == nullptr || sending_ != Sending::body) return;
  if (length_known_ && request_left_ != 0) {
    return fail(http::Abort::internal_error, "request body shorter than its Content-Length");
  }
  sending_ = Sending::ending;
  trailers_ = OwnedTrailers::of(trailers);
  if (std::exchange(deferred_, false)) nghttp2_session_resume_data(connection_->session(), id_);
  connection_->schedule_pump();
  if (answer_ == Answer::whole) handler_ = nullptr;  // it has heard all
}

nghttp2_ssize ClientStream::read_data(size_t length, uint32_t* data_flags) {
  if (own_reset_) return NGHTTP2_ERR_DEFERRED;  // RST_STREAM is queued
  const size_t n = std::min(length, out_.size());
  const bool last = sending_ == Sending::ending && n == out_.size();
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

void ClientStream::take_data(size_t size, net::Stream& transport) {
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
  if (above_mark_ && out_.size() <= kLowWater) {
    above_mark_ = false;
    connection_->owe_writable(*this);
  }
}

void ClientStream::tell_writable() {
  if (handler_ != nullptr && sending_ == Sending::body) handler_->on_request_writable();
}

void ClientStream::on_end_sent() { sending_ = Sending::sent; }

bool ClientStream::anything_sent() const { return head_leaves_ && connection_->is_sent(head_at_); }

// ---- the answer

void ClientStream::begin_section() {
  deliver_staged();
  if (handler_ == nullptr) return;
  answered_ = true;
  if (answer_ == Answer::head) {
    reader_.begin_head(connection_->limits(), handler_->response());
  } else {
    reader_.begin_trailers(connection_->limits(), handler_->response());
  }
}

bool ClientStream::on_field(std::string_view name, std::string_view value, bool sensitive) {
  if (handler_ == nullptr || answer_ == Answer::whole) return true;
  reader_.field(handler_->response(), name, value, sensitive);
  return !reader_.hopeless();
}

void ClientStream::on_section_end(bool end) {
  if (handler_ == nullptr || answer_ == Answer::whole) return;
  http::Response& response = handler_->response();
  if (answer_ == Answer::body) {
    if (!reader_.end_trailers()) return refuse(reader_.reason());
    return on_answer_end();
  }
  if (!reader_.end_head(response, method_, end)) return refuse(reader_.reason());
  if (response.status < 200) {
    if (++informationals_ > kMaxInformational) return refuse("too many informational answers");
    return handler_->on_informational();
  }
  if (!end && http::response_has_body(method_, response.status)) {
    answer_ = Answer::body;
    return handler_->on_response_head(false);
  }
  answer_ = Answer::whole;
  http::ClientStreamHandler& handler = *handler_;
  if (sending_ >= Sending::ending) handler_ = nullptr;
  handler.on_response_head(true);
  // It has no body, and does not say that it has ended (RFC 9110 6.4.1): nothing is waited for.
  if (!end) submit_reset(ErrorCode::cancel);
}

void ClientStream::on_data(const ChunkRef& chunk, Bytes bytes) {
  connection_->credit_connection(bytes.size());
  if (handler_ == nullptr || answer_ != Answer::body) return;
  unconsumed_ += static_cast<uint32_t>(bytes.size());
  if (bytes.size() >= StagedBody::kReferenceMin) {
    deliver_staged();
    return hand_over({chunk, bytes.data(), bytes.size()});
  }
  while (!bytes.empty() && handler_ != nullptr) {
    const size_t n = staged_.add(bytes);
    if (n == 0) {
      deliver_staged();
      continue;
    }
    bytes = bytes.subspan(n);
    connection_->stage(*this);
  }
}

void ClientStream::deliver_staged() {
  static_cast<ListNode<ClientStagedList>&>(*this).unlink();
  if (staged_.empty()) return;
  hand_over(staged_.take());
  staged_.trim();
}

void ClientStream::hand_over(Slice bytes) {
  if (handler_ != nullptr) handler_->on_response_body(std::move(bytes));
}

void ClientStream::on_answer_end() {
  deliver_staged();
  if (handler_ == nullptr || answer_ == Answer::whole) return;
  answer_ = Answer::whole;
  staged_.clear();
  http::ClientStreamHandler& handler = *handler_;
  if (sending_ >= Sending::ending) handler_ = nullptr;
  handler.on_response_end();
}

void ClientStream::response_consumed(size_t n) {
  n = std::min<size_t>(n, unconsumed_);
  unconsumed_ -= static_cast<uint32_t>(n);
  if (n == 0 || answer_ == Answer::whole || id_ == 0) return;
  nghttp2_session_consume_stream(connection_->session(), id_, n);
  connection_->schedule_pump();
}

// ---- the end

void ClientStream::submit_reset(ErrorCode code) {
  if (id_ == 0 || std::exchange(own_reset_, true)) return;
  nghttp2_submit_rst_stream(connection_->session(), NGHTTP2_FLAG_NONE, id_,
                            static_cast<uint32_t>(code));
  connection_->schedule_pump();
}

void ClientStream::fail(http::Abort why, std::string_view detail) {
  failure_ = why;
  failure_detail_ = detail;
  out_.clear();
  sending_ = Sending::ending;
  submit_reset(ErrorCode::internal_error);
  connection_->owe_failure(*this);
}

// The peer broke a rule or a limit.
void ClientStream::refuse(std::string_view detail) {
  submit_reset(ErrorCode::protocol_error);
  tell_reset(http::Abort::protocol_error, false, detail);
}

void ClientStream::cancel() {
  let_go();
  if (id_ == 0) return connection_->release(*this);
  if (answer_ != Answer::whole || sending_ != Sending::sent) submit_reset(ErrorCode::cancel);
}

void ClientStream::tell_reset(http::Abort why, bool unanswered, std::string_view detail) {
  http::ClientStreamHandler* const handler = handler_;
  if (handler == nullptr) return;
  let_go();
  handler->on_response_reset(why, unanswered, detail);
}

}  // namespace pqedge::http2
