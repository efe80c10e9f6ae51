#include "edge/tunnel.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "wire/websocket/handshake.h"

namespace pqedge::edge {
namespace {

using http::Name;

// Above it no credit is given back to whoever sends.
constexpr size_t kHighWater = 128 * 1024;
// Slices below it are put together where they have to wait.
constexpr size_t kWorthASend = 4096;
// One direction of a WebSocket has ended, which says nothing in it: the other is not waited for as
// long as both.
constexpr Nanos kHalfOpen = 60 * kSecond;

bool is_multiplexed(http::Version v) {
  return v == http::Version::http2 || v == http::Version::http3;
}

bool is_success(uint16_t status) { return status >= 200 && status < 300; }

struct Counted {
  explicit Counted(std::string_view protocol)
      : begun("pqedge_tunnels_total", "Tunnels begun, by what goes through.",
              {{"protocol", std::string(protocol)}}),
        open("pqedge_tunnels", "Tunnels open now, by what goes through.",
             {{"protocol", std::string(protocol)}}, counters::Kind::gauge) {}
  counters::Counter begun;
  counters::Counter open;
};
const Counted websockets{"websocket"};
const Counted connects{"connect"};
const Counted streams{"tcp"};  // of listeners without HTTP
const Counted others{"other"};

const Counted& counted(std::string_view protocol) {
  if (protocol == "websocket") return websockets;
  if (protocol == "tcp") return streams;
  return protocol.empty() ? connects : others;
}

}  // namespace

// ---- heads --------------------------------------------------------------------------------------

void prepare_upgrade(http::Request& request) {
  request.body = http::BodyKind::none;
  request.content_length = 0;
  request.expects_continue = false;
  request.fields.remove(Name::content_length);
  if (request.upgrade != "websocket" || !is_multiplexed(request.version)) return;
  // RFC 8441 5: neither is used there.
  request.fields.remove(Name::sec_websocket_accept);
  request.fields.set(Name::sec_websocket_key, websocket::new_key(*request.arena));
}

std::string_view tunnel_fault(const http::Request& request, const http::Response& response) {
  if (!response.tunnel) {
    // Any 2xx would tell the client that its tunnel is there (RFC 9110 9.3.6).
    const bool promises =
        is_multiplexed(request.version) || request.method == http::Method::connect;
    return promises && is_success(response.status) ? "the backend did not switch protocols"
                                                   : std::string_view{};
  }
  if (request.upgrade != "websocket") return {};
  // RFC 6455 4.1: who answers without having understood the key speaks no WebSocket.
  const std::string_view key = request.fields.get(Name::sec_websocket_key);
  if (key.empty()) return "the backend took a WebSocket handshake without a key";
  if (response.fields.count(Name::sec_websocket_accept) != 1 ||
      trim_ows(response.fields.get(Name::sec_websocket_accept)) != websocket::accept_of(key)) {
    return "the backend's Sec-WebSocket-Accept does not fit the key";
  }
  return {};
}

void prepare_tunnel_answer(const http::Request& request, http::Response& response) {
  const bool switches = !request.upgrade.empty() && !is_multiplexed(request.version);
  response.status = switches ? 101 : 200;
  response.body = http::BodyKind::stream;
  response.fields.remove(Name::content_length);
  if (is_multiplexed(request.version)) response.fields.remove(Name::sec_websocket_accept);
}

// ---- bytes --------------------------------------------------------------------------------------

Slice Packer::pack(Slice bytes, size_t waiting) {
  if (waiting == 0) chunk_ = {};
  if (waiting == 0 || bytes.size >= kWorthASend) return bytes;
  if (!chunk_ || used_ + bytes.size > Chunk::kCapacity) {
    chunk_ = ChunkRef::make();
    used_ = 0;
  }
  uint8_t* const place = chunk_->data() + used_;
  std::copy_n(bytes.data, bytes.size, place);
  used_ += bytes.size;
  return Slice{chunk_, place, bytes.size};
}

Tunnel::Tunnel(net::Loop& loop, http::ServerStream& client, http::ClientStream& server,
               Nanos timeout, std::string_view protocol, TunnelOwner& owner)
    : loop_(loop),
      client_(client),
      server_(server),
      timeout_(timeout),
      half_open_(protocol == "websocket" ? std::min(timeout, kHalfOpen) : timeout),
      owner_(owner),
      open_(counted(protocol).open),
      last_(loop.now()),
      timer_([](void* self) { static_cast<Tunnel*>(self)->on_timer(); }, this) {
  counted(protocol).begun.add();
  open_.add();
  timer_.arm_at(loop_, last_ + limit());
}

Tunnel::~Tunnel() { open_.subtract(); }

void Tunnel::from_client(Slice bytes) {
  touch();
  client_owed_ += bytes.size;
  server_.send_request_body(to_server_.pack(std::move(bytes), server_.request_backlog()));
  if (server_.request_backlog() <= kHighWater) client_.consumed(std::exchange(client_owed_, 0));
}

void Tunnel::server_writable() {
  touch();
  if (client_owed_ > 0) client_.consumed(std::exchange(client_owed_, 0));
}

void Tunnel::from_server(Slice bytes) {
  touch();
  server_owed_ += bytes.size;
  client_.send_body(to_client_.pack(std::move(bytes), client_.backlog()));
  if (client_.backlog() <= kHighWater) server_.response_consumed(std::exchange(server_owed_, 0));
}

void Tunnel::client_writable() {
  touch();
  if (server_owed_ > 0 && !server_gone()) {
    server_.response_consumed(std::exchange(server_owed_, 0));
  }
}

// ---- the ends -----------------------------------------------------------------------------------

void Tunnel::client_ended() {
  if (std::exchange(client_ended_, true)) return;
  touch();
  server_.send_request_end(nullptr);
  if (server_ended_) return owner_.on_tunnel_server_done();
  timer_.arm_at(loop_, last_ + limit());
}

void Tunnel::server_ended() {
  if (std::exchange(server_ended_, true)) return;
  touch();
  if (client_ended_) {
    owner_.on_tunnel_server_done();
  } else {
    timer_.arm_at(loop_, last_ + limit());
  }
  client_.send_end(nullptr);  // the last: it may be the end of everything
}

// ---- time ---------------------------------------------------------------------------------------

void Tunnel::touch() { last_ = loop_.now(); }

Nanos Tunnel::limit() const { return client_ended_ || server_ended_ ? half_open_ : timeout_; }

void Tunnel::on_timer() {
  const Nanos until = last_ + limit();
  if (loop_.now() < until) return timer_.arm_at(loop_, until);
  owner_.on_tunnel_silent();
}

}  // namespace pqedge::edge
