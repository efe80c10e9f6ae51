// IKEv2 messages of a key exchange: IKE_SA_INIT (RFC 7296 1.2), IKE_INTERMEDIATE with a further
// exchange (RFC 9242, RFC 9370), and its fragments (RFC 7383).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "measure/wire/exchange_keys.h"

namespace pqedge::measure {

// Key exchange methods: IANA's transform type 4.
inline constexpr uint16_t kIkeModp2048 = 14;
inline constexpr uint16_t kIkeModp3072 = 15;
inline constexpr uint16_t kIkeEcp256 = 19;
inline constexpr uint16_t kIkeCurve25519 = 31;
inline constexpr uint16_t kIkeMlKem768 = 36;

// As a KE payload carries it: of a NIST point x and y, without the 0x04 (RFC 5903 7).
Bytes ike_key_exchange_data(Bytes public_key, uint16_t method);

// With its generic header. `next` is the type of the payload after it, 0 for none.
std::vector<uint8_t> ike_ke_payload(uint16_t method, Bytes data, uint8_t next);

// What both sides of the exchanges know.
struct IkeSession {
  uint64_t initiator_spi = 0;
  uint64_t responder_spi = 0;
  uint16_t method = 0;      // in IKE_SA_INIT
  uint16_t additional = 0;  // by IKE_INTERMEDIATE (ADDKE1); 0: none
};

// The message from its header on, without UDP: SA with one proposal (AES-256-GCM, HMAC-SHA2-256
// and the methods), KE, a nonce of 32 bytes, NAT detection both ways, fragmentation supported,
// signature hashes (RFC 7427) and, with an additional method, IKE_INTERMEDIATE supported.
std::vector<uint8_t> ike_sa_init(const IkeSession& session, Bytes data, bool response);

// The additional method's KE payload under AES-256-GCM (RFC 5282), in one message.
Result<std::vector<uint8_t>> ike_intermediate(const IkeSession& session, Bytes data, bool response);

// The same in as few messages as the largest IKE message allows: one with an SK payload when it
// fits, else several with SKF payloads.
Result<std::vector<std::vector<uint8_t>>> ike_intermediate_within(const IkeSession& session,
                                                                  Bytes data, bool response,
                                                                  size_t largest);

Result<WireFigures> ike_figures(uint16_t method, uint16_t additional, const ExchangeKeys& keys);

}  // namespace pqedge::measure
