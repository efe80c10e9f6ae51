// SSH key exchange: the strings C_INIT and S_REPLY (RFC 8731, RFC 10042) and the binary packets
// that carry them (RFC 4253 6).
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "measure/wire/exchange_keys.h"

namespace pqedge::measure {

// The KEM's part comes first, then the curve's.
std::vector<uint8_t> ssh_client_init(const ExchangeKeys& keys);
std::vector<uint8_t> ssh_server_reply(const ExchangeKeys& keys);

// packet_length, padding_length, payload and padding, before any cipher is in use: blocks of 8
// bytes, at least 4 of padding, no MAC.
std::vector<uint8_t> ssh_packet(Bytes payload);

// A host key as it is sent: the public key blob, and its signature blob over `signed_data`.
struct SshHostKey {
  std::vector<uint8_t> key_blob;
  std::vector<uint8_t> signature_blob;
};
// A new Ed25519 key (RFC 8709 4, 6).
Result<SshHostKey> ssh_ed25519_host_key(Bytes signed_data);

// The packets with their messages, SSH_MSG_KEX_ECDH_INIT and _REPLY (RFC 5656 4) or
// SSH_MSG_KEX_HYBRID_INIT and _REPLY (RFC 10042), both 30 and 31.
std::vector<uint8_t> ssh_init_packet(const ExchangeKeys& keys);
std::vector<uint8_t> ssh_reply_packet(const ExchangeKeys& keys, const SshHostKey& host_key);

Result<WireFigures> ssh_figures(const ExchangeKeys& keys);

}  // namespace pqedge::measure
