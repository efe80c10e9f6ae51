// A QUIC client for tests, over ngtcp2 and a real socket on the loop of the test. Its streams are
// raw bytes, its datagrams can be held, doubled, reordered or replaced on their way.
#pragma once

#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_ossl.h>
#include <openssl/ssl.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "net/loop.h"
#include "net/socket.h"

namespace pqedge::wire_test {

using Datagram = std::vector<uint8_t>;

// Runs turns of the loop until `done`, or fails the test after far longer than anything takes.
bool run_until(net::Loop& loop, const std::function<bool()>& done);
// Runs some turns that wait for nothing: what is under way on this machine arrives.
void settle(net::Loop& loop, int turns = 20);

class QuicTestClient : public net::EventSource {
 public:
  struct Options {
    net::Address server;
    std::string groups = "X25519MLKEM768";
    std::string alpn = "h3";
    Datagram token;  // from NEW_TOKEN of an earlier connection
    uint64_t stream_window = 256 * 1024;
    uint64_t connection_window = 1024 * 1024;
    uint64_t unidirectional_streams = 16;
    bool extend_windows = true;  // give credit for all that comes
    bool log = false;            // keep ngtcp2's log: the frames received are in it
  };
  struct Stream {
    std::string received;
    bool ended = false;
    std::optional<uint64_t> reset;  // RESET_STREAM from the server
    std::optional<uint64_t> closed_with;
    bool closed = false;
  };
  struct Close {
    bool application = false;
    uint64_t code = 0;
    std::string reason;
  };

  QuicTestClient(net::Loop& loop, Options options);
  virtual ~QuicTestClient();

  bool handshake_done() const { return handshake_done_; }
  bool retried() const { return retried_; }
  const std::optional<Close>& closed() const { return closed_; }
  bool stateless_reset() const { return stateless_reset_; }
  const Datagram& new_token() const { return new_token_; }
  std::string group() const;
  ngtcp2_conn* conn() const { return conn_; }
  net::Address local() const { return local_; }
  int datagrams_received() const { return datagrams_received_; }
  const std::vector<Datagram>& sent() const { return sent_; }

  const std::string& log() const { return log_; }

  int64_t open_bidirectional();
  int64_t open_unidirectional();
  void write(int64_t stream, Bytes bytes, bool end = false);
  void write(int64_t stream, std::string_view bytes, bool end = false) {
    write(stream, as_bytes(bytes), end);
  }
  void reset(int64_t stream, uint64_t code);
  void stop_sending(int64_t stream, uint64_t code);
  Stream& stream(int64_t id) { return streams_[id]; }
  bool has_stream(int64_t id) const { return streams_.contains(id); }
  const std::map<int64_t, Stream>& streams() const { return streams_; }
  void extend_stream(int64_t id, uint64_t n);
  void extend_connection(uint64_t n);
  void close(uint64_t code);

  // Goes on from another port: what a NAT does to a client.
  void rebind();
  // Each datagram about to leave passes here instead of to send_datagram().
  std::function<void(const Datagram&)> on_datagram;
  void send_datagram(Bytes bytes);
  // Writes what there is to write at the end of this turn.
  void wake();
  // Forgets the connection without a word, as a client whose power went.
  void vanish();

 protected:
  virtual void on_handshake_done() {}
  virtual void on_stream_data(int64_t, Bytes, bool) {}
  virtual void on_stream_closed(int64_t) {}
  virtual void before_write() {}

 private:
  struct Outgoing {
    std::vector<std::unique_ptr<std::string>> pieces;  // until the connection is gone
    size_t piece = 0;
    size_t offset = 0;
    bool end = false;
    bool end_sent = false;
    bool blocked = false;
    bool dead = false;
  };
  static ngtcp2_callbacks callbacks();
  static void append_log(void* user, const char* format, ...);
  void open_socket();
  void start();
  void on_events(uint32_t events) override;
  void receive(Bytes bytes);
  void write_packets();
  bool write_one();
  void write_close();
  void arm();
  void on_timer();
  void failed(int error);

  net::Loop& loop_;
  Options options_;
  net::Fd fd_;
  net::Address local_;
  SSL_CTX* ssl_context_ = nullptr;
  SSL* ssl_ = nullptr;
  ngtcp2_crypto_ossl_ctx* crypto_ = nullptr;
  ngtcp2_crypto_conn_ref ref_{};
  ngtcp2_conn* conn_ = nullptr;
  std::map<int64_t, Stream> streams_;
  std::map<int64_t, Outgoing> outgoing_;
  std::vector<Datagram> sent_;
  std::string log_;
  Datagram new_token_;
  std::optional<Close> closed_;
  bool handshake_done_ = false;
  bool retried_ = false;
  bool stateless_reset_ = false;
  std::optional<uint64_t> close_requested_;
  int datagrams_received_ = 0;
  net::Timer timer_;
  net::Deferred flush_;
};

}  // namespace pqedge::wire_test
