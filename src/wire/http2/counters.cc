#include "wire/http2/counters.h"

#include <array>
#include <string>

namespace pqedge::http2 {
namespace {

using counters::Counter;

constexpr size_t kCharges = static_cast<size_t>(Charge::count_);

constexpr std::array<std::string_view, 14> kErrorNames = {"no_error",
                                                          "protocol_error",
                                                          "internal_error",
                                                          "flow_control_error",
                                                          "settings_timeout",
                                                          "stream_closed",
                                                          "frame_size_error",
                                                          "refused_stream",
                                                          "cancel",
                                                          "compression_error",
                                                          "connect_error",
                                                          "enhance_your_calm",
                                                          "inadequate_security",
                                                          "http_1_1_required"};

template <size_t N, typename NameOf>
std::array<Counter, N> family(std::string_view name, std::string_view help, std::string_view label,
                              NameOf name_of) {
  std::array<Counter, N> all;
  for (size_t i = 0; i < N; ++i) {
    all[i] = Counter(name, help, {{std::string(label), std::string(name_of(i))}});
  }
  return all;
}

}  // namespace

const Counter& floods(Charge charge) {
  static const auto all = family<kCharges>(
      "pqedge_http2_floods_total",
      "HTTP/2 connections ended because the flood budget was spent, by what spent it last", "kind",
      [](size_t i) { return charge_name(static_cast<Charge>(i)); });
  return all[static_cast<size_t>(charge)];
}

const Counter& connection_errors(ErrorCode code) {
  static const auto all = family<kErrorNames.size()>(
      "pqedge_http2_connection_errors_total", "GOAWAY frames with an error sent to clients", "code",
      [](size_t i) { return kErrorNames[i]; });
  const auto i = static_cast<size_t>(code);
  return all[i < all.size() ? i : static_cast<size_t>(ErrorCode::internal_error)];
}

const Counter kHeadsTooLarge("pqedge_http2_heads_too_large_total",
                             "HTTP/2 requests refused because a head or trailer section was too "
                             "large");
const Counter kHeaderBombs("pqedge_http2_header_bombs_total",
                           "HTTP/2 connections ended because a field section was many times too "
                           "large");
const Counter kProvokedResets("pqedge_http2_provoked_resets_total",
                              "HTTP/2 streams reset because the client broke a rule");
const Counter kStalledStreams("pqedge_http2_stalled_streams_total",
                              "HTTP/2 streams reset because the client gave no flow-control credit "
                              "for send_timeout");
const Counter kStalledConnections("pqedge_http2_stalled_connections_total",
                                  "HTTP/2 connections closed because the client read nothing for "
                                  "send_timeout");
const Counter kHeaderTimeouts("pqedge_http2_header_timeouts_total",
                              "HTTP/2 connections closed because a field section did not end in "
                              "time");
const Counter kBodyTimeouts("pqedge_http2_body_timeouts_total",
                            "HTTP/2 requests refused because their body paused for too long");

}  // namespace pqedge::http2
