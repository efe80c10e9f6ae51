#include "measure/load/http2.h"

#include <sys/epoll.h>

#include <array>
#include <cstring>
#include <format>

#include "base/bytes.h"
#include "base/text.h"

namespace pqedge::measure::load {

namespace {

constexpr uint32_t kSessionWindow = (1U << 30) - 1;
constexpr size_t kSessionOutputWanted = 256 * 1024;

}  // namespace

struct Http2Callbacks {
  static Http2Connection& self(void* user) { return *static_cast<Http2Connection*>(user); }

  static Exchange* exchange(nghttp2_session* session, int32_t stream) {
    return static_cast<Exchange*>(nghttp2_session_get_stream_user_data(session, stream));
  }

  static int on_header(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_length, const uint8_t* value, size_t value_length, uint8_t,
                       void*) {
    if (name_length != 7 || std::memcmp(name, ":status", 7) != 0) return 0;
    if (Exchange* e = exchange(session, frame->hd.stream_id); e != nullptr) {
      const auto status = parse_decimal(as_text({value, value_length}));
      e->status = static_cast<int>(status.value_or(0));
    }
    return 0;
  }

  static int on_data(nghttp2_session* session, uint8_t, int32_t stream, const uint8_t* data,
                     size_t size, void* user) {
    if (Exchange* e = exchange(session, stream); e != nullptr) {
      self(user).context_.plan.take_body(*e, {data, size});
    }
    return 0;
  }

  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Http2Connection& connection = self(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      connection.leave();
      return 0;
    }
    const bool message = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!message || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    if (Exchange* e = exchange(session, frame->hd.stream_id); e != nullptr) {
      nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, nullptr);
      // Answered before the upload was through: the rest of it is not wanted (RFC 9113 8.1).
      if (e->uploaded < connection.context_.plan.upload_size()) {
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                  NGHTTP2_NO_ERROR);
      }
      connection.finish(*e, connection.now_);
    }
    return 0;
  }

  static int on_stream_close(nghttp2_session* session, int32_t stream, uint32_t error, void* user) {
    Exchange* e = exchange(session, stream);
    if (e == nullptr) return 0;
    // nghttp2 closes the streams above a GOAWAY's last one as refused, too (RFC 9113 8.7).
    if (error == NGHTTP2_REFUSED_STREAM) {
      self(user).send_again(*e);
    } else {
      self(user).fail_exchange(*e, Failure::kReset, nghttp2_http2_strerror(error));
    }
    return 0;
  }

  static nghttp2_ssize read_upload(nghttp2_session* session, int32_t stream, uint8_t* to,
                                   size_t length, uint32_t* flags, nghttp2_data_source*,
                                   void* user) {
    Exchange* e = exchange(session, stream);
    if (e == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // being reset
    const RequestPlan& plan = self(user).context_.plan;
    const auto bytes = plan.upload_bytes(e->uploaded, length);
    std::memcpy(to, bytes.data(), bytes.size());
    e->uploaded += bytes.size();
    if (e->uploaded == plan.upload_size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<nghttp2_ssize>(bytes.size());
  }

  static const nghttp2_session_callbacks* all() {
    static const nghttp2_session_callbacks* const made = [] {
      nghttp2_session_callbacks* c = nullptr;
      if (nghttp2_session_callbacks_new(&c) != 0) return c;
      nghttp2_session_callbacks_set_on_header_callback(c, &on_header);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, &on_data);
      nghttp2_session_callbacks_set_on_frame_recv_callback(c, &on_frame);
      nghttp2_session_callbacks_set_on_stream_close_callback(c, &on_stream_close);
      return c;
    }();
    return made;
  }
};

Http2Connection::Http2Connection(Context& context)
    : Connection(context, context.options.streams), stream_(context) {
  for (const auto& [name, value] : context.plan.fields()) {
    // nghttp2 copies nothing and writes nothing through these.
    fields_.push_back({const_cast<uint8_t*>(as_bytes(name).data()),
                       const_cast<uint8_t*>(as_bytes(value).data()), name.size(), value.size(),
                       NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE});
  }
}

Result<void> Http2Connection::open(Nanos now) {
  opened_ = now;
  wants_write_ = true;
  return stream_.connect(context_.tally.handshakes());
}

Result<void> Http2Connection::begin_session() {
  nghttp2_session* session = nullptr;
  if (nghttp2_session_client_new(&session, Http2Callbacks::all(), this) != 0) {
    return fail("nghttp2: out of memory");
  }
  session_.reset(session);
  const std::array settings = {
      nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kSessionWindow},
  };
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kSessionWindow);
  return {};
}

void Http2Connection::on_events(uint32_t epoll_events, Nanos now) {
  now_ = now;
  if (state_ == State::kConnecting) {
    if (stream_.handshake(epoll_events) == TcpStream::Progress::kError) {
      const Failure failure = stream_.connected() ? Failure::kHandshake : Failure::kConnect;
      return lost(failure, stream_.error());
    }
    if (!stream_.ready()) return;
    if (TlsClient::facts(stream_.ssl()).alpn != "h2") {
      return lost(Failure::kHandshake, "the server did not choose h2");
    }
    if (const auto begun = begin_session(); !begun) {
      return lost(Failure::kHandshake, begun.error().message);
    }
    become_ready(stream_.ssl(), now);
    return take_all(false);
  }
  if ((epoll_events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) take_all(true);
}

void Http2Connection::take_all(bool from_socket) {
  const auto take = [&](std::span<const uint8_t> bytes) {
    const auto taken = nghttp2_session_mem_recv2(session_.get(), bytes.data(), bytes.size());
    if (taken >= 0) return true;
    lost(Failure::kProtocol, nghttp2_strerror(static_cast<int>(taken)));
    return false;
  };
  const auto progress = from_socket ? stream_.read(take) : stream_.drain(take);
  if (progress == TcpStream::Progress::kEnd) {
    lost(Failure::kClosed, "closed by the server");
  } else if (progress == TcpStream::Progress::kError) {
    lost(Failure::kClosed, stream_.error());
  }
}

void Http2Connection::submit(Nanos intended, Nanos now) {
  Exchange& exchange = take(intended, now);
  const nghttp2_data_provider2 upload{{.ptr = nullptr}, &Http2Callbacks::read_upload};
  const int32_t stream =
      nghttp2_submit_request2(session_.get(), nullptr, fields_.data(), fields_.size(),
                              context_.plan.upload_size() > 0 ? &upload : nullptr, &exchange);
  exchange.stream = stream;
  if (stream < 0) {
    // Out of stream IDs, or a GOAWAY came: this request belongs on another connection.
    send_again(exchange);
    leave();
  }
}

bool Http2Connection::gather() {
  frames_.clear();
  while (frames_.size() + stream_.unsent() < kSessionOutputWanted) {
    const uint8_t* bytes = nullptr;
    const auto size = nghttp2_session_mem_send2(session_.get(), &bytes);
    if (size < 0) return false;
    if (size == 0) break;
    frames_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  }
  return stream_.write(as_bytes(frames_));
}

void Http2Connection::flush(Nanos) {
  if (state_ == State::kClosed) return;
  auto progress = TcpStream::Progress::kOk;
  do {
    if (session_ && !gather()) return lost(Failure::kProtocol, "cannot write frames");
    progress = stream_.flush();
    // As long as the socket takes all of it, nothing would call for more.
  } while (progress == TcpStream::Progress::kOk && stream_.unsent() == 0 && !frames_.empty());
  if (progress == TcpStream::Progress::kError) {
    return lost(state_ == State::kConnecting ? Failure::kConnect : Failure::kClosed,
                stream_.error());
  }
  wants_write_ = stream_.wants_write();
  if (session_ && nghttp2_session_want_read(session_.get()) == 0 &&
      nghttp2_session_want_write(session_.get()) == 0) {
    lost(Failure::kClosed, "closed by the server");
  }
}

void Http2Connection::close(Nanos) {
  if (state_ == State::kClosed) return;
  abandon();
  if (session_) {
    nghttp2_session_terminate_session(session_.get(), NGHTTP2_NO_ERROR);
    gather();
  }
  stream_.close();
}

}  // namespace pqedge::measure::load
