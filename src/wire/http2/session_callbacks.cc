#include "wire/http2/session_callbacks.h"

#include <memory>

#include "wire/http2/counters.h"
#include "wire/http2/memory.h"
#include "wire/http2/server_connection.h"

namespace pqedge::http2 {
namespace {

// nghttp2's own limits, wider than ours or of use where ours do not reach.
constexpr size_t kMaxContinuations = 32;     // a block of 64 KiB in frames of 2 KiB
constexpr size_t kMaxOutboundAcks = 1024;    // PING and SETTINGS acknowledgements in its queue
constexpr size_t kMaxSettings = 32;          // entries of one SETTINGS frame
constexpr uint64_t kResetsWide = 1'000'000;  // its reset limiter: the flood budget acts first

// DATA smaller than this that does not empty the stream's queue was cut by the peer's window: it is
// no work to be proud of (CVE-2019-9511).
constexpr size_t kWorthyData = 256;

std::string_view text(nghttp2_rcbuf* buffer) {
  const nghttp2_vec v = nghttp2_rcbuf_get_buf(buffer);
  return {reinterpret_cast<const char*>(v.base), v.len};
}

}  // namespace

struct SessionCallbacks {
  static Connection& of(void* user_data) { return *static_cast<Connection*>(user_data); }
  static ServerStream* stream_of(nghttp2_session* session, int32_t id) {
    return static_cast<ServerStream*>(nghttp2_session_get_stream_user_data(session, id));
  }

  // ---- receiving

  static int on_begin_frame(nghttp2_session* session, const nghttp2_frame_hd* hd, void* user_data) {
    Connection& c = of(user_data);
    if (hd->type == NGHTTP2_SETTINGS) c.windows_.begin(session, c.open_);
    if (hd->type == NGHTTP2_HEADERS) c.block_bytes_ = 0;
    if (hd->type == NGHTTP2_HEADERS || hd->type == NGHTTP2_CONTINUATION) {
      c.block_bytes_ += kFrameHeaderSize + hd->length;
    }
    return 0;
  }

  static int on_begin_headers(nghttp2_session* session, const nghttp2_frame* frame,
                              void* user_data) {
    Connection& c = of(user_data);
    const int32_t id = frame->hd.stream_id;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
      c.decoding_ = stream_of(session, id);
      if (c.decoding_ != nullptr) c.decoding_->begin_trailers();
      return 0;
    }
    ServerStream* s = ServerStream::take(c, id);
    c.open_.push_back(*s);
    ++c.open_count_;
    c.decoding_ = s;
    nghttp2_session_set_stream_user_data(session, id, s);
    s->begin_head();
    s->set_handler(c.handler_.on_stream(*s));
    return 0;
  }

  static int on_header(nghttp2_session*, const nghttp2_frame*, nghttp2_rcbuf* name,
                       nghttp2_rcbuf* value, uint8_t flags, void* user_data) {
    Connection& c = of(user_data);
    if (c.decoding_ == nullptr) return 0;
    if (c.decoding_->on_field(text(name), text(value), (flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0)) {
      return 0;
    }
    kHeaderBombs.add();
    c.fail_later({ErrorCode::enhance_your_calm, http::Abort::flood, "header bomb"});
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  // Fields that nghttp2 would leave out and go on (bad characters in a name or value): RFC 9113
  // 8.2.1 calls the request malformed.
  static int on_invalid_header(nghttp2_session*, const nghttp2_frame*, nghttp2_rcbuf*,
                               nghttp2_rcbuf*, uint8_t, void*) {
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int on_data_chunk(nghttp2_session* session, uint8_t, int32_t id, const uint8_t* data,
                           size_t size, void* user_data) {
    Connection& c = of(user_data);
    if (ServerStream* s = stream_of(session, id)) {
      s->on_data(*c.feeding_, {data, size});
    } else {
      c.credit_connection(size);
    }
    return c.failure_.reason.empty() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  static int on_frame_recv(nghttp2_session* session, const nghttp2_frame* frame, void* user_data) {
    Connection& c = of(user_data);
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS: on_section_end(c, frame); break;
      case NGHTTP2_DATA: on_data_frame(c, stream_of(session, frame->hd.stream_id), frame); break;
      case NGHTTP2_RST_STREAM:
        if (ServerStream* s = stream_of(session, frame->hd.stream_id)) s->note_peer_reset();
        break;
      case NGHTTP2_PRIORITY_UPDATE:
        on_priority_update(c, session,
                           *static_cast<const nghttp2_ext_priority_update*>(frame->ext.payload));
        break;
      case NGHTTP2_SETTINGS:
        if (!c.windows_.holds(session)) {
          c.fail_later({ErrorCode::flow_control_error, http::Abort::protocol_error,
                        "a window beyond the largest"});
        }
        break;
      case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0 && c.ping_out_) {
          c.ping_out_ = false;
          c.finish_drain();
        }
        break;
      default: break;
    }
    return c.failure_.reason.empty() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  // Of a request that has come nghttp2 takes it; of one that has not, it would let the field of the
  // request have the last word.
  static void on_priority_update(Connection& c, nghttp2_session* session,
                                 const nghttp2_ext_priority_update& update) {
    if (update.stream_id <= nghttp2_session_get_last_proc_stream_id(session)) {
      if (ServerStream* s = stream_of(session, update.stream_id)) s->set_early_priority({});
      return;
    }
    c.early_priorities_.remember(
        update.stream_id,
        http::parse_priority(as_text(Bytes(update.field_value, update.field_value_len))));
  }

  static void on_section_end(Connection& c, const nghttp2_frame* frame) {
    ServerStream* s = std::exchange(c.decoding_, nullptr);
    if (s == nullptr) return;
    s->add_bytes_in(c.block_bytes_);
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return s->on_trailers_complete();
    ++c.requests_;
    s->set_early_priority(c.early_priorities_.take(s->id()));
    s->on_head_complete((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0);
  }

  static void on_data_frame(Connection& c, ServerStream* s, const nghttp2_frame* frame) {
    const bool end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    // The scanner cannot see into padding: a frame of nothing else is an empty one.
    const size_t padding = frame->data.padlen;
    if (padding > 0 && frame->hd.length == padding && !end) c.charge(Charge::empty_data);
    if (s == nullptr) return;
    s->add_bytes_in(kFrameHeaderSize + frame->hd.length);
    // In a tunnel small messages are what there is to be sent.
    if (s->tunnel() && !end && frame->hd.length > 0 && frame->hd.length < FrameScanner::kTinyData) {
      c.budget_.earn(FloodBudget::kTinyData);
    }
    if (end) s->on_end();
  }

  // ---- sending

  static int send_data(nghttp2_session*, nghttp2_frame* frame, const uint8_t* head, size_t size,
                       nghttp2_data_source* source, void* user_data) {
    Connection& c = of(user_data);
    auto& s = *static_cast<ServerStream*>(source->ptr);
    c.put({head, kFrameHeaderSize});
    s.take_data(size, *c.stream_);
    c.written_ += size;
    s.add_bytes_out(kFrameHeaderSize + size);
    if (size >= kWorthyData || !s.has_queued()) c.budget_.earn(FloodBudget::kSentData);
    static_cast<void>(frame);  // no padding is asked for, so it has none
    return c.stream_->backlog() > Connection::kMaxBacklog ? NGHTTP2_ERR_PAUSE : 0;
  }

  static int on_frame_send(nghttp2_session* session, const nghttp2_frame* frame, void* user_data) {
    Connection& c = of(user_data);
    const int32_t id = frame->hd.stream_id;
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA:
        if (ServerStream* s = stream_of(session, id)) {
          if (frame->hd.type == NGHTTP2_HEADERS) {
            s->add_bytes_out(kFrameHeaderSize + frame->hd.length);
          }
          if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) s->on_end_sent();
        }
        break;
      case NGHTTP2_RST_STREAM: on_reset_sent(c, stream_of(session, id), id); break;
      case NGHTTP2_GOAWAY:
        c.on_goaway_sent();
        if (frame->goaway.error_code != NGHTTP2_NO_ERROR) {
          c.errors_sent_ = true;
          connection_errors(static_cast<ErrorCode>(frame->goaway.error_code)).add();
        }
        break;
      default: break;
    }
    return 0;
  }

  // nghttp2 resets streams by itself when the peer breaks a rule. An attacker makes it do so at
  // will, and each time the request it began is thrown away (CVE-2025-8671).
  static void on_reset_sent(Connection& c, ServerStream* s, int32_t id) {
    if (s != nullptr && s->own_reset()) return;
    if (s == nullptr) c.recent_.add(id, true);  // refused: there are too many streams
    kProvokedResets.add();
    c.charge(Charge::provoked_reset);
  }

  static int on_stream_close(nghttp2_session* session, int32_t id, uint32_t code, void* user_data) {
    Connection& c = of(user_data);
    ServerStream* s = stream_of(session, id);
    if (s == nullptr) return 0;
    if (c.decoding_ == s) c.decoding_ = nullptr;
    c.recent_.add(id, !s->peer_reset() && (s->own_reset() || code != NGHTTP2_NO_ERROR));
    if (s->has_handler() && s->finished()) {
      c.budget_.earn(FloodBudget::kFinishedStream);
      c.closing_.push_back(*s);
    } else {
      s->tell_reset(s->abort_reason());
      c.release(*s);
    }
    return 0;
  }
};

namespace {

struct DeleteCallbacks {
  void operator()(nghttp2_session_callbacks* c) const { nghttp2_session_callbacks_del(c); }
};
struct DeleteOption {
  void operator()(nghttp2_option* o) const { nghttp2_option_del(o); }
};

// Shared by all sessions: nghttp2 copies what it needs when a session is made.
struct Prototype {
  std::unique_ptr<nghttp2_session_callbacks, DeleteCallbacks> callbacks;
  std::unique_ptr<nghttp2_option, DeleteOption> option;

  Prototype() {
    nghttp2_session_callbacks* c = nullptr;
    nghttp2_option* o = nullptr;
    memory::insist([&] { return nghttp2_session_callbacks_new(&c) == 0; });
    callbacks.reset(c);
    memory::insist([&] { return nghttp2_option_new(&o) == 0; });
    option.reset(o);
    set_callbacks(c);
    set_options(o);
  }

  static void set_callbacks(nghttp2_session_callbacks* c) {
    using S = SessionCallbacks;
    nghttp2_session_callbacks_set_on_begin_frame_callback(c, S::on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(c, S::on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(c, S::on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback2(c, S::on_invalid_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, S::on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, S::on_frame_recv);
    nghttp2_session_callbacks_set_send_data_callback(c, S::send_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(c, S::on_frame_send);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, S::on_stream_close);
  }

  static void set_options(nghttp2_option* o) {
    nghttp2_option_set_no_auto_window_update(o, 1);
    nghttp2_option_set_no_closed_streams(o, 1);
    nghttp2_option_set_max_continuations(o, kMaxContinuations);
    nghttp2_option_set_max_outbound_ack(o, kMaxOutboundAcks);
    nghttp2_option_set_max_settings(o, kMaxSettings);
    nghttp2_option_set_stream_reset_rate_limit(o, kResetsWide, kResetsWide);
    nghttp2_option_set_builtin_recv_extension_type(o, NGHTTP2_PRIORITY_UPDATE);
  }
};

}  // namespace

nghttp2_session* new_server_session(Connection& connection) {
  static const Prototype prototype;
  nghttp2_session* session = nullptr;
  nghttp2_mem mem = library_memory();
  nghttp2_session_server_new3(&session, prototype.callbacks.get(), &connection,
                              prototype.option.get(), &mem);
  return session;
}

}  // namespace pqedge::http2
