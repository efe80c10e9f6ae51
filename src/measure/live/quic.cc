#include "measure/live/quic.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <format>

#include "measure/live/endpoint.h"
#include "measure/live/messages.h"
#include "measure/live/names.h"
#include "measure/live/quic_client.h"

namespace pqedge::measure::live {

namespace {

constexpr uint64_t kCryptoError = 0x0100;  // plus the TLS alert (RFC 9001 4.8)

}  // namespace

std::unexpected<Error> QuicClient::ended(std::string outcome, const std::string& message) {
  record_.outcome = std::move(outcome);
  return std::unexpected(Error{record_.target + ": " + message, 0});
}

std::unexpected<Error> QuicClient::explain(int error) {
  const ngtcp2_ccerr* reason = ngtcp2_conn_get_ccerr(quic_.get());
  uint64_t code = reason->error_code;
  if (reader_.close_error()) code = *reader_.close_error();
  if (error == NGTCP2_ERR_DRAINING && code >= kCryptoError && code < kCryptoError + 0x100) {
    const std::string alert = alert_name(static_cast<uint8_t>(code - kCryptoError));
    return ended(
        "alert " + alert,
        std::format("the server refused the handshake with the alert {} (offered: {})", alert,
                    options_.groups.empty() ? "OpenSSL's own list of groups" : options_.groups));
  }
  if (error == NGTCP2_ERR_DRAINING) {
    return ended("closed", std::format("the server closed the connection in mid-handshake, QUIC "
                                       "error {:#x}",
                                       code));
  }
  if (error == NGTCP2_ERR_HANDSHAKE_TIMEOUT || error == NGTCP2_ERR_IDLE_CLOSE) {
    return ended("timeout",
                 std::format("no handshake within {} ms; {} datagrams had come",
                             options_.timeout / kMillisecond, record_.packets.server_to_client));
  }
  if (reader_.version_negotiation()) {
    return ended("version", "the server speaks no QUIC version 1");
  }
  std::string text = ngtcp2_strerror(error);
  if (error == NGTCP2_ERR_CRYPTO) text += ", " + crypto::take_openssl_error();
  return ended("failed", "the handshake failed: " + text);
}

Result<void> QuicClient::write() {
  std::array<uint8_t, kQuicDatagram> buffer;
  for (;;) {
    ngtcp2_path_storage path;
    ngtcp2_path_storage_zero(&path);
    ngtcp2_pkt_info info{};
    const Nanos now = monotonic_now();
    const ngtcp2_ssize size =
        ngtcp2_conn_writev_stream(quic_.get(), &path.path, &info, buffer.data(), buffer.size(),
                                  nullptr, NGTCP2_WRITE_STREAM_FLAG_NONE, -1, nullptr, 0, now);
    if (size < 0) return explain(static_cast<int>(size));
    if (size == 0) {
      ngtcp2_conn_update_pkt_tx_time(quic_.get(), now);
      return {};
    }
    const Bytes datagram(buffer.data(), static_cast<size_t>(size));
    if (::send(socket_.get(), datagram.data(), datagram.size(), 0) < 0) {
      if (errno == ECONNREFUSED) {
        return ended("refused", "nothing listens on that UDP port (ICMP port unreachable)");
      }
      // EMSGSIZE and EAGAIN are losses to QUIC: it sends again.
      if (errno != EMSGSIZE && errno != EAGAIN) {
        return fail_errno(errno, "{}: send", record_.target);
      }
    }
    ++record_.packets.client_to_server;
    record_.bytes.client_to_server += datagram.size();
    reader_.sent(datagram);
    while (client_seen_ < reader_.client_messages().size()) {
      const auto& message = reader_.client_messages()[client_seen_++];
      if (message[0] == kClientHello) observer_->client_hello(message);
    }
    observer_->time("client_hello_sent");
  }
}

Result<void> QuicClient::receive() {
  std::array<uint8_t, 65536> buffer;
  for (;;) {
    const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EAGAIN) return {};
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == ECONNREFUSED) {
      return ended("refused", "nothing listens on that UDP port (ICMP port unreachable)");
    }
    if (size < 0) return fail_errno(errno, "{}: receive", record_.target);
    const Bytes datagram(buffer.data(), static_cast<size_t>(size));
    if (record_.packets.server_to_client == 0) first_flight_ = record_.packets.client_to_server;
    observer_->time("first_byte");
    ++record_.packets.server_to_client;
    record_.bytes.server_to_client += datagram.size();
    reader_.received(datagram);
    while (server_seen_ < reader_.server_messages().size()) {
      const auto& message = reader_.server_messages()[server_seen_++];
      if (message[0] == kServerHello) observer_->server_hello(message);
    }
    const ngtcp2_pkt_info info{};
    const int error = ngtcp2_conn_read_pkt(quic_.get(), ngtcp2_conn_get_path(quic_.get()), &info,
                                           datagram.data(), datagram.size(), monotonic_now());
    if (error != 0) {
      // A client that refuses the server's flight says so (RFC 9000 10.2.3).
      if (error != NGTCP2_ERR_DRAINING) say_goodbye();
      return explain(error);
    }
    if (completed_) return {};
  }
}

Result<void> QuicClient::loop() {
  while (!completed_) {
    if (auto written = write(); !written) return written;
    const Nanos wake = std::min<Nanos>(ngtcp2_conn_get_expiry(quic_.get()), deadline_);
    const auto ready = wait_for(socket_.get(), POLLIN, wake);
    if (!ready && ready.error().code != ETIMEDOUT) return ready;
    if (auto taken = receive(); !taken) return taken;
    if (completed_) break;
    const Nanos now = monotonic_now();
    if (now >= deadline_) return explain(NGTCP2_ERR_HANDSHAKE_TIMEOUT);
    if (ngtcp2_conn_get_expiry(quic_.get()) <= now) {
      if (const int error = ngtcp2_conn_handle_expiry(quic_.get(), now); error != 0) {
        return explain(error);
      }
    }
  }
  return write();  // the client's Finished
}

void QuicClient::count_end() {
  record_.packets_known = true;
  record_.facts["packets"] =
      "UDP datagrams, one system call each (no segmentation or receive offload), to the client's "
      "Finished";
  record_.facts["bytes"] = "of UDP payload";
  record_.facts["group"] =
      "read from key_share in the ServerHello, in Initial packets that were decrypted from the "
      "datagrams on the wire (RFC 9001 5.2)";
  record_.sizes["client_datagrams"] = first_flight_;
  record_.sizes["initial_packets_client"] = reader_.initial_packets(false);
  record_.sizes["initial_packets_server"] = reader_.initial_packets(true);
  record_.sizes["quic_padding_client"] = reader_.initial_padding(false);
  record_.sizes["quic_padding_server"] = reader_.initial_padding(true);
  if (reader_.retry()) record_.facts["retry"] = "the server proved our address by a Retry packet";
  ngtcp2_conn_info info;
  ngtcp2_conn_get_conn_info(quic_.get(), &info);
  if (info.smoothed_rtt != 0) {
    record_.times_us["round_trip"] = static_cast<double>(info.smoothed_rtt) / 1000;
  }
}

void QuicClient::say_goodbye() {
  std::array<uint8_t, kQuicDatagram> buffer;
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  ngtcp2_pkt_info info{};
  ngtcp2_ccerr reason;
  ngtcp2_ccerr_default(&reason);
  const ngtcp2_ssize size = ngtcp2_conn_write_connection_close(
      quic_.get(), &path.path, &info, buffer.data(), buffer.size(), &reason, monotonic_now());
  if (size > 0) ::send(socket_.get(), buffer.data(), static_cast<size_t>(size), 0);
}

Result<void> QuicClient::run() {
  record_.outcome = "failed";
  if (auto opened = open(); !opened) return opened;
  const auto done = loop();
  if (done) observer_->time("finished");
  count_end();
  if (!done) return done;
  if (!observer_->saw_server_hello()) {
    return ended("failed", "no ServerHello could be read on the wire");
  }
  read_end(ssl_.get(), record_);
  record_.outcome = "handshake";
  say_goodbye();
  return {};
}

Result<void> quic_handshake(const Options& options, LiveRecord& record) {
  return QuicClient(options, record).run();
}

}  // namespace pqedge::measure::live
