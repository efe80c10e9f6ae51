// What is answered without a connection: version negotiation, Retry, refusals, stateless resets.
// None is larger than what it answers, and all together keep to a rate.
#include <ngtcp2/ngtcp2_crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "wire/quic/counters.h"
#include "wire/quic/endpoint.h"
#include "wire/quic/path.h"

namespace pqedge::quic {
namespace {

// Wall time: tokens outlive the process.
constexpr ngtcp2_duration kRetryTokenLife = 10 * kSecond;
constexpr ngtcp2_duration kNewTokenLife = 24 * 3600 * kSecond;

using Packet = std::array<uint8_t, NGTCP2_MAX_UDP_PAYLOAD_SIZE>;

ngtcp2_cid id_of(const ConnectionId& id) {
  ngtcp2_cid cid;
  ngtcp2_cid_init(&cid, id.data(), id.size());
  return cid;
}

}  // namespace

bool Endpoint::may_answer() {
  if (stateless_rate_.take(loop_.now())) return true;
  counters::dropped_rate.add();
  return false;
}

void Endpoint::answer(const ReceivedDatagram& to, Bytes packet) {
  send_copy(to.local, to.peer, packet);
}

// RFC 9000 6.1. A version from the reserved range is listed too, so that clients learn to skip what
// they do not know (6.3).
void Endpoint::send_version_negotiation(const ReceivedDatagram& datagram, Bytes client_id,
                                        Bytes our_id) {
  if (datagram.bytes.size() < NGTCP2_MAX_UDP_PAYLOAD_SIZE) {
    counters::dropped_malformed.add();
    return;
  }
  if (!may_answer()) return;
  uint8_t random[2];
  if (RAND_bytes(random, sizeof random) != 1) return;
  const uint32_t reserved = 0x0a0a0a0a | static_cast<uint32_t>(random[1] & 0xf0) * 0x01010101;
  const uint32_t versions[] = {reserved, NGTCP2_PROTO_VER_V1};
  Packet packet;
  const ngtcp2_ssize n = ngtcp2_pkt_write_version_negotiation(
      packet.data(), packet.size(), random[0], client_id.data(), client_id.size(), our_id.data(),
      our_id.size(), versions, std::size(versions));
  if (n <= 0) return;
  counters::version_negotiations.add();
  answer(datagram, {packet.data(), static_cast<size_t>(n)});
}

// RFC 9000 8.1.2: the client proves its address by coming back with the token. The ID is ours, so
// that the second Initial finds its worker whatever socket gets it.
void Endpoint::send_retry(const ngtcp2_pkt_hd& header, const ReceivedDatagram& datagram) {
  if (!may_answer()) return;
  const ngtcp2_cid id = id_of(options_.keys->make_id(options_.self, kServerId));
  const Bytes secret = options_.keys->token_secret();
  uint8_t token[NGTCP2_CRYPTO_MAX_RETRY_TOKENLEN2];
  const ngtcp2_ssize token_size = ngtcp2_crypto_generate_retry_token2(
      token, secret.data(), secret.size(), header.version, datagram.peer.data(),
      datagram.peer.size(), &id, &header.dcid, wall_now());
  if (token_size <= 0) return;
  Packet packet;
  const ngtcp2_ssize n =
      ngtcp2_crypto_write_retry(packet.data(), packet.size(), header.version, &header.scid, &id,
                                &header.dcid, token, static_cast<size_t>(token_size));
  if (n <= 0) return;
  counters::retries.add();
  answer(datagram, {packet.data(), static_cast<size_t>(n)});
}

// A token from a Retry must be right (RFC 9000 8.1.2); one from NEW_TOKEN may be old, or of another
// address, and counts as none then (8.1.3).
Endpoint::TokenVerdict Endpoint::check_token(Connection::Initial& initial) {
  const ngtcp2_pkt_hd& header = initial.header;
  const net::Address& peer = initial.datagram.peer;
  if (header.tokenlen == 0) return TokenVerdict::none;
  const Bytes secret = options_.keys->token_secret();
  if (header.token[0] == NGTCP2_CRYPTO_TOKEN_MAGIC_RETRY2) {
    ngtcp2_cid original;
    const int status = ngtcp2_crypto_verify_retry_token2(
        &original, header.token, header.tokenlen, secret.data(), secret.size(), header.version,
        peer.data(), peer.size(), &header.dcid, kRetryTokenLife, wall_now());
    if (status == 0) {
      counters::tokens_accepted.add();
      initial.original_id = original;
      initial.address_validated = true;
      return TokenVerdict::valid;
    }
    counters::tokens_rejected.add();
    return status == NGTCP2_CRYPTO_ERR_VERIFY_TOKEN ? TokenVerdict::invalid : TokenVerdict::none;
  }
  if (header.token[0] == NGTCP2_CRYPTO_TOKEN_MAGIC_REGULAR &&
      ngtcp2_crypto_verify_regular_token(header.token, header.tokenlen, secret.data(),
                                         secret.size(), peer.data(), peer.size(), kNewTokenLife,
                                         wall_now()) == 0) {
    counters::tokens_accepted.add();
    initial.address_validated = true;
    return TokenVerdict::valid;
  }
  counters::tokens_rejected.add();
  return TokenVerdict::none;
}

// CONNECTION_CLOSE in an Initial, without any state (RFC 9000 10.2.3). Its source is the ID that
// the client chose for us: the keys of the packet come from that.
void Endpoint::send_refusal(const ngtcp2_pkt_hd& header, const ReceivedDatagram& datagram,
                            uint64_t code) {
  if (!may_answer()) return;
  Packet packet;
  const ngtcp2_ssize n = ngtcp2_crypto_write_connection_close(
      packet.data(), packet.size(), header.version, &header.scid, &header.dcid, code, nullptr, 0);
  if (n <= 0) return;
  counters::refused.add();
  answer(datagram, {packet.data(), static_cast<size_t>(n)});
}

void Endpoint::refuse(const ReceivedDatagram& datagram) {
  ngtcp2_pkt_hd header;
  if (ngtcp2_accept(&header, datagram.bytes.data(), datagram.bytes.size()) != 0) return;
  send_refusal(header, datagram, NGTCP2_CONNECTION_REFUSED);
}

// RFC 9000 10.3: for a connection whose state was lost, it ends the client's wait. Always smaller
// than what it answers, so that two ends cannot keep each other going (10.3.3).
void Endpoint::send_stateless_reset(const ReceivedDatagram& datagram, Bytes id) {
  constexpr size_t kSmallest = NGTCP2_MIN_STATELESS_RESET_RANDLEN + NGTCP2_STATELESS_RESET_TOKENLEN;
  constexpr size_t kUsual = 42;
  if (datagram.bytes.size() <= kSmallest) {
    counters::dropped_unknown.add();
    return;
  }
  if (!may_answer()) return;
  uint8_t random[kUsual + 8];
  if (RAND_bytes(random, sizeof random) != 1) return;
  const size_t size = std::min(datagram.bytes.size() - 1, kUsual + (random[0] & 7));
  const auto secret = options_.keys->reset_token(id);
  ngtcp2_stateless_reset_token token;
  std::ranges::copy(secret, token.data);
  Packet packet;
  const ngtcp2_ssize n = ngtcp2_pkt_write_stateless_reset2(
      packet.data(), packet.size(), &token, random, size - NGTCP2_STATELESS_RESET_TOKENLEN);
  if (n <= 0) return;
  counters::stateless_resets.add();
  answer(datagram, {packet.data(), static_cast<size_t>(n)});
}

}  // namespace pqedge::quic
