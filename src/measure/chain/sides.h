// The two ends of a handshake with a minted chain, in one process.
#pragma once

#include <string>

#include "base/result.h"
#include "crypto/handles.h"
#include "measure/chain/chain.h"
#include "measure/chain/mint.h"

namespace pqedge::measure {

enum class FlightTransport : uint8_t { tcp, quic };

struct TlsSides {
  crypto::SslCtxPtr server;
  crypto::SslCtxPtr client;
};

// `chain` outlives the contexts. The client trusts its root and checks the server's name. Toward a
// hybrid group it sends that share and X25519's, as OpenSSL, curl and browsers do; toward a
// classical one only its own.
Result<TlsSides> make_sides(const ChainSpec& spec, const MintedChain& chain,
                            const std::string& group, FlightTransport transport);

// In connect or accept state, with name, ALPN and what the chain needs asked for.
Result<crypto::SslPtr> new_client(const TlsSides& sides, const ChainSpec& spec,
                                  FlightTransport transport);
Result<crypto::SslPtr> new_server(const TlsSides& sides);

// That a completed handshake agreed on `group` and nothing else.
Result<void> check_group(SSL* ssl, const std::string& group);

}  // namespace pqedge::measure
