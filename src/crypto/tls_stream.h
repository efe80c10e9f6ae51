// TLS over a TCP socket: the stream that make_tls_server_stream() returns. Toward backends only its
// handshake differs: tls_client_stream.h.
//
// A turn: events say that there are bytes, OpenSSL reads them from the socket in records, the
// handler answers; at the end of the turn everything queued is sealed into as few records as it
// fills, and leaves in one send(). Handlers are called from the loop only, never from inside a call
// of their own on the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "crypto/handles.h"
#include "crypto/record_socket.h"
#include "crypto/tls.h"

namespace pqedge::crypto {

class TlsStream : public net::Stream, public net::EventSource, private HandshakeDriver {
 public:
  TlsStream(net::Loop& loop, net::Fd fd, std::shared_ptr<ServerContexts> contexts,
            net::ConnectionFacts& facts, const AlpnList& alpn, HandshakeHandler& handler,
            Slice ahead = {});
  ~TlsStream() override;

  net::IoResult read(MutableBytes into) override;
  void write(Slice slice) override;
  void write_copy(Bytes bytes) override;
  size_t backlog() const override { return queue_.size() + socket_.kept(); }
  void notify_below(size_t low) override;
  void flush() override;
  void shutdown_write() override;
  void abort() override;
  void pause_reading() override { paused_ = true; }
  void resume_reading() override;
  bool truncated() const override { return input_ == Input::truncated; }
  const Error& last_error() const override { return error_; }
  int fd() const override { return socket_.fd(); }

  void on_events(uint32_t events) override;

 protected:
  // Sealed before a send: all that a fast client takes at once, little when the last send was
  // refused.
  static constexpr size_t kLeastBurst = 16 * 1024;
  static constexpr size_t kMostBurst = 64 * 1024;

  enum class Phase : uint8_t {
    silent,  // no byte came yet, there is no SSL
    handshaking,
    early,  // early data is here and may be answered; the client's Finished is not (RFC 8446 2.3)
    open,
    failed,  // error_ is set; nothing is read or written any more
  };
  enum class Input : uint8_t { open, closed, truncated };
  enum class Output : uint8_t {
    open,
    closing,   // close_notify follows the queue
    closed,    // it is sealed
    finished,  // all was sent, and the FIN
  };

  struct Away;

  // Tells whether the stream was destroyed by a handler that was called meanwhile.
  class Watch {
   public:
    // Not inline: GCC would warn that the address of a local outlives it, which the destructor sees
    // to.
    [[gnu::noinline]] explicit Watch(TlsStream& stream) : stream_(stream), outer_(stream.watch_) {
      stream.watch_ = this;
    }
    ~Watch() {
      if (!gone_) stream_.watch_ = outer_;
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    bool gone() const { return gone_; }

   private:
    friend class TlsStream;
    TlsStream& stream_;
    Watch* outer_;
    bool gone_ = false;
  };

  virtual bool begin();
  void advance_handshake();
  int step_handshake();
  virtual void finish_handshake();
  void note_completed();
  void open_early();
  void advance_early();
  void confirm();
  virtual void fail_handshake(bool closed);
  // An error of OpenSSL's while reading, still in its queue; the FIN that came without a
  // close_notify.
  virtual void note_read_error() {}
  virtual void note_truncation();
  void answer_plain_http();
  void pause_handshake();
  void take_back(bool ran);
  void resume_handshake() override;

  bool may_have_input() const;
  size_t take_early(MutableBytes into);
  net::IoStatus settle_read(int result);
  net::IoStatus end_of_socket();
  static void on_state(const SSL* ssl, int where, int result);

  Bytes next_plaintext();
  bool seal_one();
  bool seal_close();
  void send_queued();
  RecordSocket::Sent send_gathered();
  void wrote(size_t n);

  void on_turn_end();
  void on_socket_error();
  void call_readable();
  void fail(Error error);
  void fail_and_tell(Error error);

  net::Loop& loop_;
  RecordSocket socket_;  // before ssl_, whose BIO points to it
  std::shared_ptr<ServerContexts> contexts_;
  SslPtr ssl_;                  // null while a signing thread has it
  std::shared_ptr<Away> away_;  // then
  net::ConnectionFacts& facts_;
  Nanos began_ = 0;  // the handshake
  HandshakeHandler& handshake_handler_;
  PausePoint pause_;
  SessionState session_;
  // Early data that the handler has not read: at most what the policy allows, and gone with the
  // handshake. In one piece: each record may be of one byte.
  std::vector<uint8_t> early_data_;
  size_t early_taken_ = 0;  // of it
  SliceQueue queue_;        // plaintext
  ChunkRef copies_;         // where write_copy() gathers; given back when the queue is empty
  size_t copies_used_ = 0;  // bytes of it handed out
  size_t low_mark_ = SIZE_MAX;
  size_t burst_ = kMostBurst;
  net::Deferred turn_end_;
  Error error_;
  Watch* watch_ = nullptr;
  int control_messages_ = 0;
  Phase phase_ = Phase::silent;
  Input input_ = Input::open;
  Output output_ = Output::open;
  bool exhausted_ = true;  // read() said so: on_readable() waits for an event
  bool paused_ = false;
  bool above_mark_ = false;
  bool readable_owed_ = false;
  bool error_owed_ = false;
  bool reading_early_ = false;  // SSL_read_early_data() has not said that it is over
  bool begin_owed_ = false;     // the first bytes are here already
};

}  // namespace pqedge::crypto
