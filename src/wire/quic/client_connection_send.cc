// How a connection of ours fills packets, at the end of a turn, and how it ends.
#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <format>

#include "crypto/backend_handshake.h"
#include "crypto/code_names.h"
#include "wire/quic/client_connection.h"

namespace pqedge::quic {
namespace {

constexpr size_t kBurst = 64 * 1024 - 1;  // the kernel takes no more at once
constexpr Nanos kSendAgain = kMillisecond;

}  // namespace

// ---- what goes ----------------------------------------------------------------------------------

void ClientConnection::flush() {
  if (ending_ == Ending::ended) return;
  if (!closing() && told_done_ && application_ != nullptr) application_->before_send();
  if (!closing()) {
    if (loop_.now() >= send_again_at_) write_packets();
    tell_progress();
    arm_timer();
  } else if (ending_ == Ending::close && write_before_close_ && application_ != nullptr) {
    write_packets();
  }
  if (closing()) end_now();
}

// Writes until nothing is left, the congestion window or the pace says stop (a timer goes on then),
// or the socket takes no more.
void ClientConnection::write_packets() {
  static thread_local std::array<uint8_t, kBurst> room;
  const ngtcp2_tstamp now = loop_.now();
  size_t budget = ngtcp2_conn_get_send_quantum(conn_);
  const Ending ending = ending_;
  while (ending_ == ending) {
    const size_t want =
        std::clamp(budget, ngtcp2_conn_get_max_tx_udp_payload_size(conn_), room.size());
    ngtcp2_path_storage path;
    ngtcp2_path_storage_zero(&path);
    ngtcp2_pkt_info info{};
    size_t segment = 0;
    const ngtcp2_ssize n = ngtcp2_conn_write_aggregate_pkt2(conn_, &path.path, &info, room.data(),
                                                            want, &segment, write_packet, 0, now);
    if (n < 0) {
      ngtcp2_ccerr close;
      ngtcp2_ccerr_set_liberr(&close, static_cast<int>(n), nullptr, 0);
      request_close(close, ngtcp2_strerror(static_cast<int>(n)));
      break;
    }
    if (n == 0) break;
    const auto size = static_cast<size_t>(n);
    if (!send({room.data(), size}, segment, info.ecn)) break;
    budget -= std::min(budget, size);
    if (budget < segment) break;
  }
  ngtcp2_conn_update_pkt_tx_time(conn_, now);
}

// False: no more for now. What the kernel did not take is lost, as on any full path.
bool ClientConnection::send(Bytes packets, size_t segment, uint8_t ecn) {
  switch (const int code = socket_->send(packets, segment, ecn); code) {
    case 0:
    case EMSGSIZE:  // longer than the path takes: that is how its length is found out
      return true;
    case EAGAIN:
    case ENOBUFS:
    case ENOMEM: send_again_at_ = loop_.now() + kSendAgain; return false;
    default:  // what the network said of an earlier one
      refused(code);
      return !closing();
  }
}

void ClientConnection::arm_timer() {
  if (closing()) return;
  const ngtcp2_tstamp expiry = ngtcp2_conn_get_expiry(conn_);
  const Nanos when = send_again_at_ > loop_.now() ? std::min(expiry, send_again_at_) : expiry;
  if (when == UINT64_MAX) {
    timer_.disarm();
  } else {
    timer_.arm_at(loop_, when);
  }
}

void ClientConnection::on_timer() {
  if (closing()) return;
  if (ngtcp2_conn_get_expiry(conn_) > loop_.now()) return wake();
  switch (const int status = ngtcp2_conn_handle_expiry(conn_, loop_.now()); status) {
    case 0: wake(); return;
    case NGTCP2_ERR_IDLE_CLOSE: request_end(Ending::drop, "the connection was idle"); return;
    default: read_failed(status); return;
  }
}

// ---- the end ------------------------------------------------------------------------------------

void ClientConnection::read_failed(int error) {
  ngtcp2_ccerr close;
  switch (error) {
    case NGTCP2_ERR_DRAINING: return closed_by_server();
    case NGTCP2_ERR_CLOSING: return;
    case NGTCP2_ERR_RECV_VERSION_NEGOTIATION:
      return request_end(Ending::drop, "the server does not speak QUIC version 1");
    case NGTCP2_ERR_DROP_CONN:
      return request_end(Ending::drop, "the QUIC handshake could not go on");
    case NGTCP2_ERR_CRYPTO: {
      const unsigned long first = ERR_peek_error();
      const crypto::BackendFault fault = crypto::fault_of_error(ssl_.get(), first);
      fail_tls(fault, crypto::describe_fault(fault, ssl_.get(), first));
      ERR_clear_error();
      ngtcp2_ccerr_set_tls_alert(&close, ngtcp2_conn_get_tls_alert(conn_), nullptr, 0);
      return request_close(close, "the TLS handshake failed");
    }
    default:
      ngtcp2_ccerr_set_liberr(&close, error, nullptr, 0);
      return request_close(close, ngtcp2_strerror(error));
  }
}

// By CONNECTION_CLOSE, with an alert (RFC 9001 4.8) or without, or by a stateless reset.
void ClientConnection::closed_by_server() {
  constexpr uint64_t kCryptoError = 0x100;
  const ngtcp2_ccerr& said = *ngtcp2_conn_get_ccerr(conn_);
  const uint64_t alert = said.error_code - kCryptoError;
  const bool transport = said.type == NGTCP2_CCERR_TYPE_TRANSPORT;
  if (transport && said.error_code >= kCryptoError && alert <= UINT8_MAX) {
    const crypto::BackendFault fault = crypto::fault_of_alert(static_cast<int>(alert));
    fail_tls(fault, {std::format("{} (the alert {})", crypto::text(fault),
                                 crypto::alert_name(static_cast<uint8_t>(alert))),
                     0});
  } else if (!completed_) {
    unreachable_ = std::format("the server ended the QUIC handshake, error {:#x}", said.error_code);
  }
  request_end(Ending::drop, "the server ended the connection");
}

void ClientConnection::request_close(const ngtcp2_ccerr& error, std::string_view reason) {
  if (closing()) return;
  close_error_ = error;
  request_end(Ending::close, reason);
}

void ClientConnection::request_end(Ending how, std::string_view reason) {
  if (closing()) return;
  ending_ = how;
  close_reason_ = reason;
  loop_.defer(turn_end_);
}

void ClientConnection::send_close() {
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  ngtcp2_pkt_info info{};
  std::array<uint8_t, NGTCP2_MAX_UDP_PAYLOAD_SIZE> packet;
  const ngtcp2_ssize n = ngtcp2_conn_write_connection_close(
      conn_, &path.path, &info, packet.data(), packet.size(), &close_error_, loop_.now());
  if (n <= 0) return;
  const auto size = static_cast<size_t>(n);
  socket_->send({packet.data(), size}, size, info.ecn);
}

void ClientConnection::end_now() {
  if (ending_ == Ending::close) send_close();
  ending_ = Ending::ended;
  release();
  tell_end();
}

void ClientConnection::tell_end() {
  const std::string_view why = unreachable_.empty() ? close_reason_ : unreachable_;
  if (tls_fault_) {
    observer_.on_tls_failed(*tls_fault_, tls_error_);
  } else if (!told_done_) {
    observer_.on_unreachable(why);
  }
  ConnectionHandler* application = std::exchange(application_, nullptr);
  if (told_done_ && application != nullptr) application->on_connection_closed(close_reason_);
}

void ClientConnection::release() {
  ending_ = Ending::ended;
  timer_.disarm();
  forget_progress();
  if (conn_ != nullptr) ngtcp2_conn_del(std::exchange(conn_, nullptr));
  if (ssl_ != nullptr) {
    // SSL_free may call back.
    SSL_set_app_data(ssl_.get(), nullptr);
    // QUIC has no close_notify; without one OpenSSL takes the session for a broken one.
    SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  }
  if (crypto_ != nullptr) ngtcp2_crypto_ossl_ctx_del(std::exchange(crypto_, nullptr));
  ssl_ = nullptr;
  if (socket_) {
    loop_.remove(socket_->fd(), *this);
    receiver_.reset();
    socket_.reset();
  }
}

}  // namespace pqedge::quic
