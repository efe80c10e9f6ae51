#include "unit/wire/http3_test_client.h"

#include <gtest/gtest.h>

#include <charconv>

namespace pqedge::wire_test {
namespace {

Http3TestClient& self(void* user) { return *static_cast<Http3TestClient*>(user); }

std::string text(nghttp3_rcbuf* b) {
  const nghttp3_vec v = nghttp3_rcbuf_get_buf(b);
  return {reinterpret_cast<const char*>(v.base), v.len};
}

}  // namespace

Http3TestClient::~Http3TestClient() {
  vanish();
  if (http_ != nullptr) nghttp3_conn_del(http_);
}

void Http3TestClient::on_handshake_done() {
  nghttp3_callbacks c{};
  c.recv_header = [](nghttp3_conn*, int64_t id, int32_t, nghttp3_rcbuf* name, nghttp3_rcbuf* value,
                     uint8_t, void* user, void*) {
    Answer& a = self(user).answers_[id];
    const std::string n = text(name);
    const std::string v = text(value);
    if (n == ":status") {
      std::from_chars(v.data(), v.data() + v.size(), a.status);
    } else {
      a.headers.emplace_back(n, v);
    }
    return 0;
  };
  c.end_headers = [](nghttp3_conn*, int64_t id, int, void* user, void*) {
    Answer& a = self(user).answers_[id];
    if (a.status < 200) {
      a.informational.push_back(a.status);
      a.headers.clear();
    }
    return 0;
  };
  c.recv_trailer = [](nghttp3_conn*, int64_t id, int32_t, nghttp3_rcbuf* name, nghttp3_rcbuf* value,
                      uint8_t, void* user, void*) {
    self(user).answers_[id].trailers.emplace_back(text(name), text(value));
    return 0;
  };
  c.recv_data = [](nghttp3_conn*, int64_t id, const uint8_t* data, size_t size, void* user, void*) {
    self(user).answers_[id].body.append(reinterpret_cast<const char*>(data), size);
    return 0;
  };
  c.end_stream = [](nghttp3_conn*, int64_t id, void* user, void*) {
    self(user).answers_[id].ended = true;
    self(user).order_.push_back(id);
    return 0;
  };
  c.shutdown = [](nghttp3_conn*, int64_t id, void* user) {
    self(user).goaway_ = id;
    return 0;
  };
  nghttp3_settings settings;
  nghttp3_settings_default(&settings);
  settings.qpack_max_dtable_capacity = 4096;
  settings.qpack_encoder_max_dtable_capacity = 4096;
  settings.qpack_blocked_streams = 16;
  ASSERT_EQ(nghttp3_conn_client_new(&http_, &c, &settings, nghttp3_mem_default(), this), 0);
  const int64_t control = open_unidirectional();
  const int64_t encoder = open_unidirectional();
  const int64_t decoder = open_unidirectional();
  ASSERT_EQ(nghttp3_conn_bind_control_stream(http_, control), 0);
  ASSERT_EQ(nghttp3_conn_bind_qpack_streams(http_, encoder, decoder), 0);
}

nghttp3_ssize Http3TestClient::read_body(nghttp3_conn*, int64_t id, nghttp3_vec* vectors, size_t,
                                         uint32_t* flags, void* user, void*) {
  std::string& body = self(user).bodies_[id];
  *flags |= NGHTTP3_DATA_FLAG_EOF;
  if (body.empty()) return 0;
  vectors[0] = {reinterpret_cast<uint8_t*>(body.data()), body.size()};
  return 1;
}

int64_t Http3TestClient::request(const Headers& headers, const std::string* body) {
  const int64_t id = open_bidirectional();
  EXPECT_GE(id, 0);
  requested_.insert(id);
  std::vector<nghttp3_nv> fields;
  for (const auto& [name, value] : headers) {
    fields.push_back({reinterpret_cast<const uint8_t*>(name.data()),
                      reinterpret_cast<const uint8_t*>(value.data()), name.size(), value.size(),
                      NGHTTP3_NV_FLAG_NONE});
  }
  if (body != nullptr) bodies_[id] = *body;
  const nghttp3_data_reader reader{read_body};
  EXPECT_EQ(nghttp3_conn_submit_request(http_, id, fields.data(), fields.size(),
                                        body == nullptr ? nullptr : &reader, nullptr),
            0);
  wake();
  return id;
}

int64_t Http3TestClient::get(const std::string& path, const Headers& more) {
  Headers headers = {{":method", "GET"},
                     {":scheme", "https"},
                     {":authority", "localhost"},
                     {":path", path},
                     {"user-agent", "test"}};
  headers.insert(headers.end(), more.begin(), more.end());
  return request(headers);
}

int64_t Http3TestClient::post(const std::string& path, std::string body, const Headers& more) {
  Headers headers = {{":method", "POST"},
                     {":scheme", "https"},
                     {":authority", "localhost"},
                     {":path", path},
                     {"content-length", std::to_string(body.size())}};
  headers.insert(headers.end(), more.begin(), more.end());
  return request(headers, &body);
}

std::string Http3TestClient::header(int64_t stream, const std::string& name) {
  for (const auto& [n, v] : answers_[stream].headers) {
    if (n == name) return v;
  }
  return "(none)";
}

void Http3TestClient::on_stream_data(int64_t id, Bytes bytes, bool end) {
  const bool ours = id % 4 != 0 || requested_.contains(id);
  if (!ours) return;  // opened by the test itself
  const nghttp3_ssize n =
      nghttp3_conn_read_stream(http_, id, bytes.data(), bytes.size(), end ? 1 : 0);
  if (n < 0)
    ADD_FAILURE() << "the client cannot read stream " << id << ": "
                  << nghttp3_strerror(static_cast<int>(n));
}

void Http3TestClient::on_stream_closed(int64_t id) {
  nghttp3_conn_close_stream(http_, id, NGHTTP3_H3_NO_ERROR);
}

// All is copied at once, so nghttp3 may think that it was acknowledged.
void Http3TestClient::before_write() {
  if (http_ == nullptr) return;
  for (;;) {
    int64_t id = -1;
    int end = 0;
    nghttp3_vec vectors[16];
    const nghttp3_ssize n = nghttp3_conn_writev_stream(http_, &id, &end, vectors, 16);
    ASSERT_GE(n, 0);
    if (id < 0) return;
    size_t size = 0;
    for (nghttp3_ssize i = 0; i < n; ++i) {
      write(id, Bytes{vectors[i].base, vectors[i].len});
      size += vectors[i].len;
    }
    if (end != 0) write(id, Bytes{}, true);
    ASSERT_EQ(nghttp3_conn_add_write_offset(http_, id, size), 0);
    ASSERT_EQ(nghttp3_conn_add_ack_offset(http_, id, size), 0);
  }
}

}  // namespace pqedge::wire_test
