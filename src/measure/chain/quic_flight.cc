#include <algorithm>

#include "measure/chain/flight.h"
#include "measure/chain/quic_peer.h"

namespace pqedge::measure {
namespace {

// Virtual time: nothing waits. The delay is short against a probe timeout (RFC 9002 6.2), so that
// what goes out again does so because a window held it, not because a timer ran.
constexpr Nanos kOneWay = 10 * kMillisecond;
constexpr unsigned kMostRounds = 12;

size_t bytes_of(const std::vector<Datagram>& datagrams) {
  size_t sum = 0;
  for (const Datagram& datagram : datagrams) sum += datagram.size();
  return sum;
}

// Neither end may send before a timer runs: the earlier one's is run. This is what a client's probe
// timeout is for when a server is held by its credit (RFC 9002 6.2.2.1).
Result<void> run_a_timer(QuicPeer& client, QuicPeer& server, Nanos& now) {
  QuicPeer& earlier = client.expiry() <= server.expiry() ? client : server;
  if (earlier.expiry() == kNever) return fail("the QUIC handshake stands still");
  now = std::max(now, earlier.expiry());
  return earlier.expire(now);
}

}  // namespace

Result<CapturedFlight> capture_quic(const ChainSpec& spec, const MintedChain& chain,
                                    const std::string& group, size_t datagram) {
  const auto sides = make_sides(spec, chain, group, FlightTransport::quic);
  if (!sides) return std::unexpected(sides.error());
  auto client_ssl = new_client(*sides, spec, FlightTransport::quic);
  if (!client_ssl) return std::unexpected(client_ssl.error());
  auto server_ssl = new_server(*sides);
  if (!server_ssl) return std::unexpected(server_ssl.error());
  MessageLog client_log;
  MessageLog server_log;
  client_log.attach(client_ssl->get());
  server_log.attach(server_ssl->get());

  Nanos now = kSecond;
  auto client = QuicPeer::client(std::move(*client_ssl), datagram, now);
  if (!client) return std::unexpected(client.error());
  auto from_client = (*client)->write(now);
  if (!from_client) return std::unexpected(from_client.error());
  if (from_client->empty()) return fail("the QUIC client sent nothing");
  CapturedFlight flight;
  flight.client_hello = client_log.total();
  flight.client_bytes = bytes_of(*from_client);
  flight.client_datagrams = from_client->size();
  now += kOneWay;
  auto server = QuicPeer::server(std::move(*server_ssl), datagram, now, from_client->front());
  if (!server) return std::unexpected(server.error());

  while (!(*server)->handshake_done()) {
    if (flight.rounds.size() + flight.client_rounds > kMostRounds) {
      return fail("the QUIC handshake does not end");
    }
    if (auto read = (*server)->read(*from_client, now); !read) return std::unexpected(read.error());
    if ((*server)->handshake_done()) break;
    auto from_server = (*server)->write(now);
    if (!from_server) return std::unexpected(from_server.error());
    if (!(*client)->handshake_done() && !from_server->empty()) {
      flight.rounds.push_back(bytes_of(*from_server));
      flight.server_flight += flight.rounds.back();
    }
    now += kOneWay;
    if (auto read = (*client)->read(*from_server, now); !read) return std::unexpected(read.error());
    from_client = (*client)->write(now);
    if (!from_client) return std::unexpected(from_client.error());
    if (from_server->empty() && from_client->empty()) {
      if (auto ran = run_a_timer(**client, **server, now); !ran)
        return std::unexpected(ran.error());
      from_client = (*client)->write(now);
      if (!from_client) return std::unexpected(from_client.error());
    }
    if ((*client)->handshake_done()) {
      ++flight.client_rounds;
      flight.client_flight += bytes_of(*from_client);
    }
    now += kOneWay;
  }
  flight.parts = server_log.sent();
  flight.parts["QUIC packets"] = flight.server_flight - server_log.total();
  if (auto same = check_group((*client)->ssl(), group); !same) return std::unexpected(same.error());
  return flight;
}

}  // namespace pqedge::measure
