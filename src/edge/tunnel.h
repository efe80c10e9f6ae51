// Bytes both ways between a client and a server, once an answer has begun a tunnel (http/stream.h).
#pragma once

#include <string_view>

#include "base/chunk.h"
#include "base/counters.h"
#include "http/stream.h"
#include "net/loop.h"

namespace pqedge::edge {

// What asks for a tunnel, on its way to a backend of HTTP/1.1: no body, and for a WebSocket from
// HTTP/2 or 3 a key of ours.
void prepare_upgrade(http::Request& request);

// What is wrong with the answer to a request that asks for a tunnel; empty: nothing.
std::string_view tunnel_fault(const http::Request& request, const http::Response& response);

// The answer that begins a tunnel, for the client's version, before prepare_for_client().
void prepare_tunnel_answer(const http::Request& request, http::Response& response);

// Small messages for a peer that is slow to take them, put together: each would keep a whole chunk.
class Packer {
 public:
  // `waiting`: bytes that wait before these.
  Slice pack(Slice bytes, size_t waiting);

 private:
  ChunkRef chunk_;
  size_t used_ = 0;
};

// Whose tunnel it is.
class TunnelOwner {
 public:
  // No byte came from either side for too long.
  virtual void on_tunnel_silent() = 0;
  // Both directions toward the server have ended: its stream is gone.
  virtual void on_tunnel_server_done() = 0;

 protected:
  ~TunnelOwner() = default;
};

// Moves the bytes and gives credit back. Whether either side still is there is its owner's to see
// to: after a reset of one nothing may be called but the destructor.
class Tunnel {
 public:
  Tunnel(net::Loop& loop, http::ServerStream& client, http::ClientStream& server, Nanos timeout,
         std::string_view protocol, TunnelOwner& owner);
  ~Tunnel();
  Tunnel(const Tunnel&) = delete;
  Tunnel& operator=(const Tunnel&) = delete;

  void from_client(Slice bytes);
  void client_ended();
  void client_writable();
  void from_server(Slice bytes);
  void server_ended();
  void server_writable();

 private:
  void touch();
  void on_timer();
  Nanos limit() const;
  bool server_gone() const { return client_ended_ && server_ended_; }

  net::Loop& loop_;
  http::ServerStream& client_;
  http::ClientStream& server_;
  const Nanos timeout_;
  const Nanos half_open_;
  TunnelOwner& owner_;
  const counters::Counter& open_;
  Packer to_client_;
  Packer to_server_;
  size_t client_owed_ = 0;  // came from there and went on, no credit given for it yet
  size_t server_owed_ = 0;
  bool client_ended_ = false;
  bool server_ended_ = false;
  Nanos last_ = 0;  // when a byte last came
  net::Timer timer_;
};

}  // namespace pqedge::edge
