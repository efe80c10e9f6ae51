// nghttp2's callbacks of a connection to a backend.
#include <memory>

#include "wire/http2/client_connection.h"
#include "wire/http2/memory.h"

namespace pqedge::http2 {
namespace {

constexpr size_t kMaxContinuations = 32;
constexpr size_t kMaxOutboundAcks = 1024;  // PING and SETTINGS acknowledgements in its queue
constexpr size_t kMaxSettings = 32;        // entries of one SETTINGS frame
// Of a head that is sent: what came in by Limits::max_head, and what was added to it.
constexpr size_t kMaxSentHead = 16 * 1024 * 1024;

std::string_view text(nghttp2_rcbuf* buffer) {
  const nghttp2_vec v = nghttp2_rcbuf_get_buf(buffer);
  return {reinterpret_cast<const char*>(v.base), v.len};
}

}  // namespace

struct ClientCallbacks {
  static ClientConnection& of(void* user_data) {
    return *static_cast<ClientConnection*>(user_data);
  }
  static ClientStream* stream_of(nghttp2_session* session, int32_t id) {
    return static_cast<ClientStream*>(nghttp2_session_get_stream_user_data(session, id));
  }
  static int result(const ClientConnection& c) {
    return c.failure_ == http::Abort::none ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  // ---- receiving

  static int on_begin_frame(nghttp2_session* session, const nghttp2_frame_hd* hd, void* user_data) {
    ClientConnection& c = of(user_data);
    if (hd->type == NGHTTP2_SETTINGS) c.windows_.begin(session, c.open_);
    return 0;
  }

  static int on_begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void*) {
    if (ClientStream* s = stream_of(session, frame->hd.stream_id)) s->begin_section();
    return 0;
  }

  static int on_header(nghttp2_session* session, const nghttp2_frame* frame, nghttp2_rcbuf* name,
                       nghttp2_rcbuf* value, uint8_t flags, void* user_data) {
    ClientStream* s = stream_of(session, frame->hd.stream_id);
    if (s == nullptr) return 0;
    if (s->on_field(text(name), text(value), (flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0)) return 0;
    of(user_data).fail_later(http::Abort::protocol_error,
                             "the answer's field section is many times too large");
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  // Fields that nghttp2 would leave out and go on: RFC 9113 8.2.1 calls the message malformed.
  static int on_invalid_header(nghttp2_session*, const nghttp2_frame*, nghttp2_rcbuf*,
                               nghttp2_rcbuf*, uint8_t, void*) {
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int on_data_chunk(nghttp2_session* session, uint8_t, int32_t id, const uint8_t* data,
                           size_t size, void* user_data) {
    ClientConnection& c = of(user_data);
    if (ClientStream* s = stream_of(session, id)) {
      s->on_data(*c.feeding_, {data, size});
    } else {
      c.credit_connection(size);
    }
    return result(c);
  }

  static int on_frame_recv(nghttp2_session* session, const nghttp2_frame* frame, void* user_data) {
    ClientConnection& c = of(user_data);
    ClientStream* s = frame->hd.stream_id == 0 ? nullptr : stream_of(session, frame->hd.stream_id);
    const bool end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
        if (s != nullptr) s->on_section_end(end);
        break;
      case NGHTTP2_DATA:
        if (s != nullptr && end) s->on_answer_end();
        break;
      case NGHTTP2_RST_STREAM:
        if (s != nullptr) s->note_peer_reset();
        break;
      case NGHTTP2_SETTINGS:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) c.on_settings();
        if (!c.windows_.holds(session)) {
          nghttp2_session_terminate_session(session, NGHTTP2_FLOW_CONTROL_ERROR);
        }
        break;
      case NGHTTP2_GOAWAY: c.on_goaway(frame->goaway); break;
      default: break;
    }
    return result(c);
  }

  // ---- sending

  static int send_data(nghttp2_session*, nghttp2_frame*, const uint8_t* head, size_t size,
                       nghttp2_data_source* source, void* user_data) {
    ClientConnection& c = of(user_data);
    c.put({head, kFrameHeaderSize});
    static_cast<ClientStream*>(source->ptr)->take_data(size, *c.stream_);
    c.written_ += size;
    return c.stream_->backlog() > ClientConnection::kMaxBacklog ? NGHTTP2_ERR_PAUSE : 0;
  }

  static int before_frame_send(nghttp2_session* session, const nghttp2_frame* frame,
                               void* user_data) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    if (ClientStream* s = stream_of(session, frame->hd.stream_id);
        s != nullptr && !s->head_leaves()) {
      s->on_head_leaves(of(user_data).written_);
    }
    return 0;
  }

  static int on_frame_send(nghttp2_session* session, const nghttp2_frame* frame, void* user_data) {
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA:
        if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) break;
        if (ClientStream* s = stream_of(session, frame->hd.stream_id)) s->on_end_sent();
        break;
      case NGHTTP2_GOAWAY:
        if (frame->goaway.error_code != NGHTTP2_NO_ERROR) of(user_data).errors_sent_ = true;
        break;
      default: break;
    }
    return 0;
  }

  // The stream's on_stream_close follows where the frame was to open it.
  static int on_frame_not_send(nghttp2_session* session, const nghttp2_frame* frame, int error,
                               void*) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    ClientStream* s = stream_of(session, frame->hd.stream_id);
    if (s == nullptr || s->head_leaves()) return 0;
    const bool refused = error == NGHTTP2_ERR_START_STREAM_NOT_ALLOWED ||
                         error == NGHTTP2_ERR_SESSION_CLOSING ||
                         error == NGHTTP2_ERR_STREAM_CLOSING;
    s->note_not_sent(refused ? http::Abort::refused : http::Abort::internal_error);
    return 0;
  }

  static int on_stream_close(nghttp2_session* session, int32_t id, uint32_t code, void* user_data) {
    if (ClientStream* s = stream_of(session, id)) of(user_data).on_stream_gone(*s, id, code);
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
    nghttp2_option_set_no_auto_window_update(o, 1);
    nghttp2_option_set_no_closed_streams(o, 1);
    nghttp2_option_set_max_continuations(o, kMaxContinuations);
    nghttp2_option_set_max_outbound_ack(o, kMaxOutboundAcks);
    nghttp2_option_set_max_settings(o, kMaxSettings);
    nghttp2_option_set_max_send_header_block_length(o, kMaxSentHead);
  }

  static void set_callbacks(nghttp2_session_callbacks* c) {
    using C = ClientCallbacks;
    nghttp2_session_callbacks_set_on_begin_frame_callback(c, C::on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(c, C::on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(c, C::on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback2(c, C::on_invalid_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, C::on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, C::on_frame_recv);
    nghttp2_session_callbacks_set_send_data_callback(c, C::send_data);
    nghttp2_session_callbacks_set_before_frame_send_callback(c, C::before_frame_send);
    nghttp2_session_callbacks_set_on_frame_send_callback(c, C::on_frame_send);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(c, C::on_frame_not_send);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, C::on_stream_close);
  }
};

}  // namespace

nghttp2_session* new_client_session(ClientConnection& connection) {
  static const Prototype prototype;
  nghttp2_session* session = nullptr;
  nghttp2_mem mem = library_memory();
  nghttp2_session_client_new3(&session, prototype.callbacks.get(), &connection,
                              prototype.option.get(), &mem);
  return session;
}

}  // namespace pqedge::http2
