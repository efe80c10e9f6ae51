// A TCP connection that is passed on: bytes both ways, nothing is decrypted.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/chunk.h"
#include "edge/passthrough.h"
#include "net/facts.h"
#include "net/loop.h"
#include "net/stream.h"

namespace pqedge::edge {

class Worker;

class PassthroughHandler {
 public:
  // The connection has ended and its line is in the log. Destroy it, but not from inside this call.
  virtual void on_passthrough_end() = 0;

 protected:
  ~PassthroughHandler() = default;
};

class TcpPassthrough {
 public:
  struct Client {
    net::Fd fd;
    const net::ConnectionFacts& facts;  // with the SNI; outlive this
    std::string_view listener;          // its name
    Slice hello;                        // what was read: the server's first bytes
  };
  TcpPassthrough(Worker& worker, PassthroughRef passthrough, Client client,
                 PassthroughHandler& handler);
  ~TcpPassthrough();
  TcpPassthrough(const TcpPassthrough&) = delete;
  TcpPassthrough& operator=(const TcpPassthrough&) = delete;

  void start();
  void cut(std::string_view why);  // ends it at once

 private:
  // One of the two sockets, and the direction that comes from it.
  struct Side final : net::StreamHandler {
    Side(TcpPassthrough& o, std::string_view n) : owner(o), name(n) {}
    void on_readable() override { owner.pump(*this); }
    void on_writable() override { owner.room_at(*this); }
    void on_stream_error(const Error& error) override { owner.broke(*this, error); }
    void on_connected() override { owner.connected(*this); }

    TcpPassthrough& owner;
    std::string_view name;
    std::unique_ptr<net::Stream> stream;
    ChunkRef buffer;  // while there is something to read
    uint64_t received = 0;
    bool paused = false;  // the other side is slow
    bool ended = false;   // nothing more is read from here
  };

  Side& other(const Side& side) { return &side == &client_ ? server_ : client_; }
  void connect();
  bool try_server();
  void connect_failed(const Error& error);
  void connected(const Side& side);
  void write_proxy_header();
  void pump(Side& from);
  void pass(Side& from, size_t size);
  void room_at(Side& to);
  void broke(Side& side, const Error& error);
  void end_of(Side& from);
  void finish_if_done();
  void finish(std::string_view reason);
  void on_timer();
  void arm_idle();
  void record(std::string_view reason) const;

  Worker& worker_;
  PassthroughRef passthrough_;
  const net::ConnectionFacts& facts_;
  std::string listener_;
  PassthroughHandler& handler_;
  Side client_{*this, "the client"};
  Side server_{*this, "the server"};
  Slice hello_;
  PassthroughLease lease_;
  std::vector<upstream::ServerState*> tried_;
  Nanos began_ = 0;
  Nanos connect_began_ = 0;
  Nanos connect_time_ = kNever;
  Nanos last_ = 0;   // when a byte last came
  std::string why_;  // of an end that was not in good order
  bool connected_ = false;
  bool finished_ = false;
  net::Timer timer_;  // connecting, then idle
};

}  // namespace pqedge::edge
