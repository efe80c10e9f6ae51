// RFC 9113 6.9.2: a change of SETTINGS_INITIAL_WINDOW_SIZE that takes a stream's window beyond the
// largest is an error of the connection. nghttp2 resets the stream, and goes on.
#pragma once

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstdint>

namespace pqedge::http2 {

class WindowWatch {
 public:
  // Before SETTINGS are taken, with the list of the open streams.
  template <typename Streams>
  void begin(nghttp2_session* session, Streams& streams) {
    initial_ = initial_window(session);
    widest_ = 0;
    streams.for_each([&](const auto& s) {
      const int64_t window = nghttp2_session_get_stream_remote_window_size(session, s.id());
      widest_ = std::max(widest_, window);
    });
  }
  // And after. False: too far.
  bool holds(nghttp2_session* session) const {
    return widest_ + initial_window(session) - initial_ <= kLargest;
  }

 private:
  static constexpr int64_t kLargest = 0x7fff'ffff;

  static int64_t initial_window(nghttp2_session* session) {
    return nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE);
  }

  int64_t initial_ = 0;
  int64_t widest_ = 0;
};

}  // namespace pqedge::http2
