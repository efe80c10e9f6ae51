// How a connection fills packets, at the end of a turn.
#include <algorithm>
#include <array>

#include "wire/quic/connection.h"
#include "wire/quic/counters.h"
#include "wire/quic/endpoint.h"
#include "wire/quic/path.h"

namespace pqedge::quic {
namespace {

// Of a packet that carries the handshake: header, CRYPTO frame's head and tag.
constexpr uint64_t kLeastOverhead = 40;

}  // namespace

void Connection::wake() {
  if (state_ < State::closing) endpoint_.mark_dirty(*this);
}

void Connection::flush() {
  if (state_ >= State::closing) return;
  if (ending_ == Ending::none && handler_ != nullptr) handler_->before_send();
  if (ending_ == Ending::none) {
    if (!write_packets()) return;  // the socket is full: it wakes us
    if (state_ == State::handshake) note_amplification_wait();
    arm_timer();
    tell_progress();
  } else if (write_before_close_) {
    write_packets();
  }
  if (ending_ != Ending::none) end_now();
}

// Writes until nothing is left, the congestion window or the pace says stop (a timer goes on then),
// or the socket takes no more (false).
bool Connection::write_packets() {
  const ngtcp2_tstamp now = loop().now();
  size_t budget = ngtcp2_conn_get_send_quantum(conn_);
  const Ending ending = ending_;
  while (ending_ == ending) {
    const size_t want =
        std::clamp(budget, ngtcp2_conn_get_max_tx_udp_payload_size(conn_), net::UdpSender::kBurst);
    const MutableBytes room = endpoint_.sender_.room(want);
    if (room.empty()) {
      wake();
      return false;
    }
    ngtcp2_path_storage path;
    ngtcp2_path_storage_zero(&path);
    ngtcp2_pkt_info info{};
    size_t segment = 0;
    const ngtcp2_ssize n = ngtcp2_conn_write_aggregate_pkt2(
        conn_, &path.path, &info, room.data(), room.size(), &segment, write_packet, 0, now);
    if (n < 0) {
      write_failed(static_cast<int>(n));
      break;
    }
    if (n == 0) break;
    unanswered_ = 0;
    counters::sends.add();
    endpoint_.send(path.path, info.ecn, static_cast<size_t>(n), segment);
    budget -= std::min(budget, static_cast<size_t>(n));
    if (budget < segment) break;
  }
  ngtcp2_conn_update_pkt_tx_time(conn_, now);
  return true;
}

// RFC 9000 8.1: an address that may be forged gets at most three times what came from it. A flight
// with ML-DSA certificates can be longer than that allows: the rest waits for the client's next
// datagram, a round trip. Told by the sums, since ngtcp2 only writes nothing.
void Connection::note_amplification_wait() {
  if (address_validated_ || waited_for_client_) return;
  ngtcp2_conn_info info;
  ngtcp2_conn_get_conn_info(conn_, &info);
  const uint64_t limit = 3 * info.bytes_recv;
  const bool no_room = info.bytes_sent + ngtcp2_conn_get_max_tx_udp_payload_size(conn_) > limit;
  const bool all_sent = info.bytes_sent >= tls_.handshake_bytes() + kLeastOverhead * info.pkt_sent;
  if (!no_room || all_sent) return;
  waited_for_client_ = true;
  counters::amplification_waits.add();
}

void Connection::write_failed(int error) {
  if (closing()) return;
  ngtcp2_ccerr close;
  ngtcp2_ccerr_set_liberr(&close, error, nullptr, 0);
  request_close(close, ngtcp2_strerror(error));
}

// ---- timers -------------------------------------------------------------------------------------

void Connection::arm_timer() {
  if (ending_ != Ending::none) return;
  const ngtcp2_tstamp when = ngtcp2_conn_get_expiry(conn_);
  if (when == UINT64_MAX) {
    timer_.disarm();
  } else {
    timer_.arm_at(loop(), when);
  }
}

void Connection::on_timer() {
  if (state_ >= State::closing) {  // the wait for late packets is over
    --endpoint_.ended_;
    state_ = State::finished;
    endpoint_.mark_dirty(*this);
    return;
  }
  switch (const int status = ngtcp2_conn_handle_expiry(conn_, loop().now()); status) {
    case 0: wake(); return;
    case NGTCP2_ERR_IDLE_CLOSE:
      counters::idle_timeouts.add();
      request_end(Ending::drop, "the connection was idle");
      return;
    case NGTCP2_ERR_HANDSHAKE_TIMEOUT:
      counters::handshakes_timed_out.add();
      crypto::note_handshake_end(crypto::HandshakeEnd::timeout);
      request_end(Ending::drop, "the QUIC handshake took too long");
      return;
    default: write_failed(status); return;
  }
}

// ---- the last packet ----------------------------------------------------------------------------

void Connection::send_close() {
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  ngtcp2_pkt_info info{};
  std::array<uint8_t, NGTCP2_MAX_UDP_PAYLOAD_SIZE> packet;
  const ngtcp2_ssize n = ngtcp2_conn_write_connection_close(
      conn_, &path.path, &info, packet.data(), packet.size(), &close_error_, loop().now());
  if (n <= 0) return;  // before the client's address is validated there may be no room for it
  close_packet_.assign(packet.begin(), packet.begin() + n);
  close_local_ = address_of(path.path.local);
  close_peer_ = address_of(path.path.remote);
  endpoint_.send_copy(close_local_, close_peer_, close_packet_);
}

// Each time the number of packets has doubled, so that two ends do not keep each other awake.
void Connection::answer_while_closing() {
  if (state_ != State::closing) return;
  ++packets_while_closing_;
  if ((packets_while_closing_ & (packets_while_closing_ - 1)) != 0) return;
  endpoint_.send_copy(close_local_, close_peer_, close_packet_);
}

}  // namespace pqedge::quic
