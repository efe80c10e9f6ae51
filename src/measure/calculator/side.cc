#include "measure/calculator/side.h"

#include <algorithm>
#include <cmath>

#include "measure/chain/window.h"
#include "measure/token/jws.h"

namespace pqedge::measure {
namespace {

bool over_quic(const Inputs& inputs) { return inputs.http == "3"; }

// The key that signs such a token, as the signatures track names it.
std::string token_key(const std::string& algorithm) {
  for (const JoseAlgorithm& a : jose_algorithms()) {
    if (a.shown == algorithm) return std::string(a.key);
  }
  return algorithm;
}

// Assigns to `to`; false when there was an error, kept for the end.
class Gathering {
 public:
  template <typename T, typename U>
  void take(T& to, Result<U> from) {
    if (from) {
      to = std::move(*from);
    } else if (!error_) {
      error_ = from.error();
    }
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::optional<Error> error_;
};

size_t part(const FlightRecord& flight, const char* name) {
  const auto it = flight.parts.find(name);
  return it == flight.parts.end() ? 0 : it->second;
}

// ---- bytes -------------------------------------------------------------------------------------

// A server that resumes sends no Certificate and no CertificateVerify (RFC 8446 2.2), and 6 bytes
// of pre_shared_key in its ServerHello (4.2.11). Records or packets are taken in proportion.
double resumed_flight(const FlightRecord& flight, bool quic) {
  const double frame = static_cast<double>(part(flight, quic ? "QUIC packets" : "TLS records"));
  const double messages = static_cast<double>(flight.server_flight) - frame;
  const double kept =
      static_cast<double>(part(flight, "ServerHello") + 6 + part(flight, "EncryptedExtensions") +
                          part(flight, "Finished"));
  return messages <= 0 ? kept : kept + frame * kept / messages;
}

// The first flight of the client: the hello in a TLS record (RFC 8446 5.1), or whole datagrams.
double hello_bytes(const FlightRecord& flight, bool quic) {
  return static_cast<double>(quic ? flight.client_datagrams * flight.segment
                                  : flight.client_hello + 5);
}

double token_bytes(const Inputs& inputs, const TokenRecord& token) {
  const double requests = inputs.requests_per_connection * inputs.token_share;
  const auto size = [](const std::map<std::string, size_t>& sizes, const char* name) {
    const auto it = sizes.find(name);
    return it == sizes.end() ? 0.0 : static_cast<double>(it->second);
  };
  if (inputs.http == "1.1") return requests * size(token.forms, "authorization line");
  const char* coder = over_quic(inputs) ? "qpack" : "hpack";
  const double first = size(token.first_request, coder);
  if (requests <= 1) return requests * first;
  return first + (requests - 1) * size(token.following_request, coder);
}

// ---- latency -----------------------------------------------------------------------------------

struct Path {
  double rtt;  // milliseconds
  double loss;
  double segment;  // bytes
  size_t window;   // bytes, before anything was acknowledged
  double connect;  // round trips before the first byte of TLS
};

Path path_of(const Inputs& inputs, const FlightRecord& flight) {
  if (over_quic(inputs)) {
    return {inputs.rtt_ms, inputs.loss, static_cast<double>(flight.segment),
            quic_window(0, flight.segment).window, 0};
  }
  const auto window = static_cast<size_t>(inputs.initial_window * inputs.segment);
  return {inputs.rtt_ms, inputs.loss, inputs.segment, window, 1};
}

// Each lost packet costs at least the round trip after which its loss is noticed by what came later
// (RFC 5681 3.2, RFC 9002 6.1).
double loss_ms(const Path& path, std::initializer_list<double> flights, double more_packets) {
  double packets = more_packets;
  for (const double bytes : flights) packets += std::ceil(bytes / path.segment);
  return packets * path.loss * path.rtt;
}

unsigned rounds(double bytes, size_t window) {
  return extra_round_trips(static_cast<size_t>(bytes), window);
}

struct Full {
  unsigned extra = 0;
  double loss = 0;
  double ms = 0;
};

Full full_handshake(const Inputs& inputs, const SideFigures& f, const Figures::Flight& which,
                    bool client_certificate) {
  const FlightRecord& flight = *which.flight;
  const bool quic = over_quic(inputs);
  const Path path = path_of(inputs, flight);
  const auto server = static_cast<double>(flight.server_flight);
  const auto client = static_cast<double>(flight.client_flight);
  Full full;
  // Over QUIC the round trips were seen in the capture, held by the credit of RFC 9000 8.1.
  full.extra = quic ? flight.extra_round_trips : rounds(server, path.window);
  if (client_certificate) full.extra += rounds(client, path.window);
  const double checks = f.verify.value + f.verify_leaf.value + f.verify_intermediate.value;
  const double us = f.exchange.value + (f.sign.value + checks) * (client_certificate ? 2 : 1);
  full.loss = loss_ms(path, {hello_bytes(flight, quic), server, client}, path.connect * 2);
  full.ms = path.rtt * (path.connect + 1 + full.extra) + us / 1000 + full.loss;
  return full;
}

void add_latency(const Inputs& inputs, const SideFigures& f, SideCosts& c) {
  const FlightRecord& flight = *f.flight.flight;
  const Path path = path_of(inputs, flight);
  const Full plain = full_handshake(inputs, f, f.flight, false);
  const Full mutual = f.mutual ? full_handshake(inputs, f, *f.mutual, true) : plain;
  const double p = inputs.client_certificates;
  const auto mixed = [p](double without, double with) { return (1 - p) * without + p * with; };
  c.extra_round_trips = plain.extra;
  c.loss_full = mixed(plain.loss, mutual.loss);
  c.handshake_full = mixed(plain.ms, mutual.ms);
  c.handshake_resumed =
      path.rtt * (path.connect + 1) + f.exchange.value / 1000 +
      loss_ms(path, {hello_bytes(flight, over_quic(inputs)), c.out_resumed, 1}, path.connect * 2);
  c.handshake_early = path.rtt * path.connect;

  const auto answer = [&](size_t window) {
    return path.rtt * (1 + rounds(inputs.response_bytes, window)) +
           loss_ms(path, {inputs.response_bytes}, 1);
  };
  // Slow start doubled the window with each round that the flight filled (RFC 5681 3.1).
  const size_t grown = path.window << (over_quic(inputs) ? 0 : std::min(plain.extra, 16U));
  c.last_byte_full = c.handshake_full + answer(grown);
  const double r = inputs.resumption;
  const double e = inputs.early_data;
  const auto mean = [r, e](double full, double resumed, double early) {
    return (1 - r) * full + r * ((1 - e) * resumed + e * early);
  };
  c.handshake_mean = mean(c.handshake_full, c.handshake_resumed, c.handshake_early);
  c.last_byte_mean = mean(c.last_byte_full, c.handshake_resumed + answer(path.window),
                          c.handshake_early + answer(path.window));
}

void add_cpu(const Inputs& inputs, const SideFigures& f, SideCosts& c) {
  c.cpu_full = f.exchange_server.value + f.sign.value;
  c.cpu_client_certificate = f.verify.value + f.verify_leaf.value + f.verify_intermediate.value;
  c.cpu_resumed = f.exchange_server.value;  // psk_dhe_ke (RFC 8446 4.2.9): keys are exchanged anew
  c.cpu_tokens = inputs.requests_per_connection * inputs.token_share * f.token_verify.value;
  c.cpu_records = c.responses * f.encrypt_byte.value;
  const double full = c.cpu_full + inputs.client_certificates * c.cpu_client_certificate;
  c.cpu_mean = (1 - inputs.resumption) * full + inputs.resumption * c.cpu_resumed + c.cpu_tokens +
               c.cpu_records;
}

void add_bytes(const Inputs& inputs, const SideFigures& f, SideCosts& c) {
  const bool quic = over_quic(inputs);
  const double p = f.mutual ? inputs.client_certificates : 0;
  const FlightRecord& plain = *f.flight.flight;
  const FlightRecord& mutual = f.mutual ? *f.mutual->flight : plain;
  const auto mixed = [p](double without, double with) { return (1 - p) * without + p * with; };
  c.out_full =
      mixed(static_cast<double>(plain.server_flight), static_cast<double>(mutual.server_flight));
  c.out_resumed = resumed_flight(plain, quic);
  c.out_mean = (1 - inputs.resumption) * c.out_full + inputs.resumption * c.out_resumed;
  c.in_full = mixed(hello_bytes(plain, quic) + static_cast<double>(plain.client_flight),
                    hello_bytes(mutual, quic) + static_cast<double>(mutual.client_flight));
  if (f.token) c.in_tokens = token_bytes(inputs, *f.token->token);
  c.responses = inputs.requests_per_connection * inputs.response_bytes;
}

}  // namespace

Result<SideFigures> gather(const Inputs& inputs, const CryptoChoice& choice,
                           const Figures& figures) {
  SideFigures f;
  Gathering g;
  const char* transport = over_quic(inputs) ? "quic" : "tcp";
  g.take(f.flight, figures.flight(choice.chain, transport, choice.group, false));
  if (g.error()) return std::unexpected(*g.error());
  const ChainRecord& chain = *f.flight.chain;
  g.take(f.exchange, figures.exchange(choice.group));
  g.take(f.exchange_server, figures.exchange_server(choice.group));
  g.take(f.sign, figures.signature(chain.leaf_algorithm, "Sign"));
  g.take(f.verify, figures.signature(chain.leaf_algorithm, "Verify"));
  g.take(f.verify_leaf, figures.signature(chain.intermediate_algorithm, "Verify"));
  g.take(f.verify_intermediate, figures.signature(chain.root_algorithm, "Verify"));
  if (inputs.client_certificates > 0) {
    g.take(f.mutual, figures.flight(choice.chain, transport, choice.group, true));
  }
  if (choice.token != "none") {
    g.take(f.token, figures.token(choice.token));
    if (f.token) {
      g.take(f.token_verify, figures.signature(token_key(f.token->token->algorithm), "Verify"));
    }
  }
  if (inputs.response_bytes > 0) g.take(f.encrypt_byte, figures.encrypt_byte());
  if (g.error()) return std::unexpected(*g.error());
  return f;
}

SideCosts costs_of(const Inputs& inputs, const SideFigures& figures) {
  SideCosts costs;
  add_bytes(inputs, figures, costs);
  add_cpu(inputs, figures, costs);
  add_latency(inputs, figures, costs);
  return costs;
}

}  // namespace pqedge::measure
