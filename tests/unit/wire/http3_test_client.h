// HTTP/3 requests for tests: nghttp3's connection layer over QuicTestClient.
#pragma once

#include <nghttp3/nghttp3.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "unit/wire/quic_test_client.h"

namespace pqedge::wire_test {

class Http3TestClient final : public QuicTestClient {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;
  struct Answer {
    std::vector<int> informational;
    int status = 0;
    Headers headers;
    Headers trailers;
    std::string body;
    bool ended = false;
  };

  Http3TestClient(net::Loop& loop, Options options) : QuicTestClient(loop, std::move(options)) {}
  ~Http3TestClient() override;

  // Without a body the end comes with the head. Returns the stream.
  int64_t get(const std::string& path, const Headers& more = {});
  int64_t request(const Headers& headers, const std::string* body = nullptr);
  int64_t post(const std::string& path, std::string body, const Headers& more = {});
  Answer& answer(int64_t stream) { return answers_[stream]; }
  bool answered(int64_t stream) { return answers_[stream].ended; }
  std::string header(int64_t stream, const std::string& name);
  std::optional<int64_t> goaway() const { return goaway_; }
  // The streams whose answers are complete, in the order they were completed.
  const std::vector<int64_t>& order() const { return order_; }

 private:
  void on_handshake_done() override;
  void on_stream_data(int64_t id, Bytes bytes, bool end) override;
  void on_stream_closed(int64_t id) override;
  void before_write() override;
  static nghttp3_ssize read_body(nghttp3_conn*, int64_t id, nghttp3_vec* vectors, size_t count,
                                 uint32_t* flags, void* user, void*);

  nghttp3_conn* http_ = nullptr;
  std::set<int64_t> requested_;
  std::map<int64_t, Answer> answers_;
  std::map<int64_t, std::string> bodies_;
  std::optional<int64_t> goaway_;
  std::vector<int64_t> order_;
};

}  // namespace pqedge::wire_test
