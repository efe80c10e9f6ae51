// nghttp2's client session against a test::Server: an HTTP/2 implementation that is not ours.
#pragma once

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include "http2_support.h"

namespace pqedge::http2::test {

class Client {
 public:
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  struct Answer {
    std::string status;
    Pairs fields;
    Pairs trailers;
    std::string body;
    bool ended = false;
    bool head_ended = false;
    bool closed = false;
    uint32_t error = 0;
    std::vector<std::string> informational;

    std::string field(std::string_view name) const {
      for (const auto& [n, v] : fields) {
        if (n == name) return v;
      }
      return {};
    }
  };

  // `auto_window`: credit is given as the answer is read, as clients do.
  explicit Client(Server& server, bool auto_window = true) : server_(server) {
    nghttp2_session_callbacks* c = nullptr;
    nghttp2_session_callbacks_new(&c);
    nghttp2_session_callbacks_set_on_begin_headers_callback(c, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(c, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_close);
    nghttp2_option* o = nullptr;
    nghttp2_option_new(&o);
    nghttp2_option_set_no_auto_window_update(o, auto_window ? 0 : 1);
    nghttp2_session_client_new2(&session_, c, this, o);
    nghttp2_option_del(o);
    nghttp2_session_callbacks_del(c);
  }
  ~Client() { nghttp2_session_del(session_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  nghttp2_session* session() { return session_; }
  void settings(std::vector<nghttp2_settings_entry> entries = {}) {
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, entries.data(), entries.size());
  }

  // Sends a request; `body` null: END_STREAM with the head.
  int32_t request(const Pairs& fields, const std::string* body = nullptr,
                  const Pairs& trailers = {}) {
    std::vector<nghttp2_nv> nv = to_nv(fields);
    nghttp2_data_provider2 provider{};
    if (body == nullptr) {
      return nghttp2_submit_request2(session_, nullptr, nv.data(), nv.size(), nullptr, nullptr);
    }
    bodies_.push_back(std::make_unique<Upload>(Upload{*body, trailers, 0}));
    provider.source.ptr = bodies_.back().get();
    provider.read_callback = read_body;
    return nghttp2_submit_request2(session_, nullptr, nv.data(), nv.size(), &provider, nullptr);
  }
  int32_t get(std::string path = "/", Pairs more = {}) {
    Pairs fields = {
        {":method", "GET"}, {":scheme", "https"}, {":authority", "a.test"}, {":path", path}};
    fields.insert(fields.end(), more.begin(), more.end());
    return request(fields);
  }
  int32_t post(const std::string& body, Pairs more = {}, const Pairs& trailers = {}) {
    Pairs fields = {
        {":method", "POST"}, {":scheme", "https"}, {":authority", "a.test"}, {":path", "/"}};
    fields.insert(fields.end(), more.begin(), more.end());
    return request(fields, &body, trailers);
  }

  // Bytes to and fro until both sides are quiet.
  void exchange() {
    for (int quiet = 0; quiet < 3;) {
      const bool sent = send();
      server_.turn();
      quiet = receive() || sent ? 0 : quiet + 1;
    }
  }
  bool send() {
    bool any = false;
    for (;;) {
      const uint8_t* data = nullptr;
      const nghttp2_ssize n = nghttp2_session_mem_send2(session_, &data);
      if (n <= 0) return any;
      any = true;
      if (server_.stream != nullptr)
        server_.stream->receive(as_text({data, static_cast<size_t>(n)}));
    }
  }
  bool receive() {
    const std::string bytes = server_.take_sent();
    if (bytes.empty()) return false;
    received += bytes;
    const nghttp2_ssize n = nghttp2_session_mem_recv2(
        session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    EXPECT_EQ(n, static_cast<nghttp2_ssize>(bytes.size())) << nghttp2_strerror(static_cast<int>(n));
    return true;
  }
  Answer& answer(int32_t id) { return answers_[id]; }

  std::vector<ParsedFrame> frames() const { return parse_frames(received); }

  std::vector<uint32_t> goaways;     // error codes
  std::vector<int32_t> goaway_last;  // last stream ids
  std::vector<int32_t> data_order;   // stream of each DATA frame
  std::string received;              // all bytes from the server

 private:
  struct Upload {
    std::string bytes;
    Pairs trailers;
    size_t at;
  };

  static std::vector<nghttp2_nv> to_nv(const Pairs& fields) {
    std::vector<nghttp2_nv> nv;
    for (const auto& [name, value] : fields) {
      nv.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                    reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(),
                    value.size(), NGHTTP2_NV_FLAG_NONE});
    }
    return nv;
  }
  static nghttp2_ssize read_body(nghttp2_session* session, int32_t id, uint8_t* into, size_t size,
                                 uint32_t* flags, nghttp2_data_source* source, void*) {
    auto& u = *static_cast<Upload*>(source->ptr);
    const size_t n = std::min(size, u.bytes.size() - u.at);
    std::copy_n(u.bytes.data() + u.at, n, into);
    u.at += n;
    if (u.at == u.bytes.size()) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (!u.trailers.empty()) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        const std::vector<nghttp2_nv> nv = to_nv(u.trailers);
        nghttp2_submit_trailer(session, id, nv.data(), nv.size());
      }
    }
    return static_cast<nghttp2_ssize>(n);
  }
  static Client& of(void* user) { return *static_cast<Client*>(user); }
  static int on_begin_headers(nghttp2_session*, const nghttp2_frame*, void*) { return 0; }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                       void* user) {
    Answer& a = of(user).answers_[frame->hd.stream_id];
    std::string n(as_text({name, name_size}));
    std::string v(as_text({value, value_size}));
    if (n == ":status") {
      if (v[0] == '1') {
        a.informational.push_back(v);
      } else {
        a.status = v;
      }
    } else if (frame->headers.cat == NGHTTP2_HCAT_HEADERS && !a.status.empty() && a.head_ended) {
      a.trailers.emplace_back(std::move(n), std::move(v));
    } else {
      a.fields.emplace_back(std::move(n), std::move(v));
    }
    return 0;
  }
  static int on_data(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size,
                     void* user) {
    of(user).answers_[id].body.append(as_text({data, size}));
    return 0;
  }
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Client& c = of(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      c.goaways.push_back(frame->goaway.error_code);
      c.goaway_last.push_back(frame->goaway.last_stream_id);
    }
    if (frame->hd.type == NGHTTP2_DATA) c.data_order.push_back(frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_HEADERS && !c.answers_[frame->hd.stream_id].status.empty()) {
      c.answers_[frame->hd.stream_id].head_ended = true;
    }
    const bool message = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
    if (message && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      c.answers_[frame->hd.stream_id].ended = true;
    }
    return 0;
  }
  static int on_close(nghttp2_session*, int32_t id, uint32_t code, void* user) {
    Answer& a = of(user).answers_[id];
    a.closed = true;
    a.error = code;
    return 0;
  }

  Server& server_;
  nghttp2_session* session_ = nullptr;
  std::map<int32_t, Answer> answers_;
  std::vector<std::unique_ptr<Upload>> bodies_;
};

}  // namespace pqedge::http2::test
