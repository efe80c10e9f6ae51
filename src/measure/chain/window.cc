#include "measure/chain/window.h"

#include <algorithm>
#include <format>

namespace pqedge::measure {

unsigned extra_round_trips(size_t bytes, size_t window) {
  if (window == 0) return 0;
  unsigned rounds = 0;
  for (size_t sent = window; sent < bytes; ++rounds) {
    window *= 2;
    sent += window;
  }
  return rounds;
}

WindowVerdict tcp_window(size_t flight, size_t segment, size_t segments) {
  WindowVerdict verdict;
  verdict.segment = segment;
  verdict.window = segment * segments;
  verdict.rule = std::format("{} x {} (RFC 6928)", segments, segment);
  verdict.fits = flight <= verdict.window;
  verdict.extra_round_trips = extra_round_trips(flight, verdict.window);
  return verdict;
}

WindowVerdict quic_credit(size_t flight, size_t received, size_t datagram, unsigned seen) {
  WindowVerdict verdict;
  verdict.segment = datagram;
  verdict.window = 3 * received;
  verdict.rule = std::format("3 x {} (RFC 9000 8.1)", received);
  verdict.fits = flight <= verdict.window;
  verdict.extra_round_trips = seen;
  return verdict;
}

WindowVerdict quic_window(size_t flight, size_t datagram) {
  WindowVerdict verdict;
  verdict.segment = datagram;
  verdict.window = std::min(10 * datagram, std::max<size_t>(14'720, 2 * datagram));
  verdict.rule =
      std::format("address validated: min(10 x {0}, max(14720, 2 x {0})) (RFC 9002 7.2)", datagram);
  verdict.fits = flight <= verdict.window;
  verdict.extra_round_trips = extra_round_trips(flight, verdict.window);
  return verdict;
}

}  // namespace pqedge::measure
