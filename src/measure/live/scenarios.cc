// The scenarios that `pqcost scenario` knows.
#include <array>
#include <format>

#include "measure/live/scenario.h"
#include "measure/wire/ike_message.h"

namespace pqedge::measure::live {

namespace {

constexpr Nanos kRoundTrip = 40 * kMillisecond;

// OpenSSL's list syntax: a star marks the groups of which a share is sent at once.
constexpr const char* kClassical = "X25519";
constexpr const char* kHybrid = "*X25519MLKEM768:X25519";
constexpr const char* kTwoShares = "*X25519MLKEM768:*X25519";

struct Kind {  // what a handshake is made of
  const char* name;
  const char* client;
  PeerOptions peer;
};

const std::array<Kind, 3>& kinds() {
  static const std::array<Kind, 3> made{
      Kind{"X25519, ECDSA P-256 chain", kClassical, {"X25519", "ECDSA-P256"}},
      Kind{"X25519MLKEM768, ECDSA P-256 chain", kTwoShares, {"X25519MLKEM768", "ECDSA-P256"}},
      Kind{"X25519MLKEM768, ML-DSA-65 chain", kTwoShares, {"X25519MLKEM768", "ML-DSA-65"}}};
  return made;
}

link::Settings over(const ScenarioOptions& options, Nanos round_trip) {
  link::Settings link = options.base;
  link.up.delay = link.down.delay = round_trip / 2;
  return link;
}

link::Settings usual(const ScenarioOptions& options) {
  return over(options, options.round_trip.value_or(kRoundTrip));
}

std::vector<Nanos> round_trips(const ScenarioOptions& options, std::vector<Nanos> own) {
  return options.round_trip ? std::vector{*options.round_trip} : own;
}

Variant variant(std::string name, const link::Settings& link, const char* client,
                std::string peer_name, const PeerOptions& peer) {
  Variant made;
  made.name = std::move(name);
  made.peer_name = std::move(peer_name);
  made.link = link;
  made.client.groups = client;
  made.peer = peer;
  return made;
}

Result<std::vector<Variant>> mismatch(const ScenarioOptions& o) {
  const link::Settings link = usual(o);
  constexpr const char* kClient = "*X25519MLKEM768:SecP256r1MLKEM768:X25519:P-256";
  return std::vector{
      variant("share of X25519MLKEM768", link, kClient, "server has it", {"X25519MLKEM768"}),
      variant("share of X25519MLKEM768", link, kClient, "server has SecP256r1MLKEM768 alone",
              {"SecP256r1MLKEM768"}),
      variant("share of X25519MLKEM768", link, kClient, "server has P-256 alone", {"P-256"}),
      variant("X25519MLKEM768 alone", link, "X25519MLKEM768", "server has X25519 alone",
              {"X25519"}),
  };
}

Result<std::vector<Variant>> downgrade(const ScenarioOptions& o) {
  const link::Settings link = usual(o);
  constexpr const char* kClassicalShare = "X25519MLKEM768:*X25519";
  return std::vector{
      variant("both shares", link, kTwoShares, "server prefers the hybrid",
              {"X25519MLKEM768/X25519"}),
      variant("both shares", link, kTwoShares, "server has X25519 alone", {"X25519"}),
      variant("both groups, share of X25519 alone", link, kClassicalShare,
              "server takes a share at hand (one tuple)", {"X25519MLKEM768:X25519"}),
      variant("both groups, share of X25519 alone", link, kClassicalShare,
              "server insists on the hybrid (two tuples)", {"X25519MLKEM768/X25519"}),
      variant("X25519 alone", link, kClassical, "server requires the hybrid", {"X25519MLKEM768"}),
  };
}

Result<std::vector<Variant>> retry(const ScenarioOptions& o) {
  std::vector<Variant> out;
  for (const Nanos round_trip : round_trips(o, {kMillisecond, kRoundTrip, 150 * kMillisecond})) {
    const link::Settings link = over(o, round_trip);
    const std::string suffix = std::format(", {} ms", round_trip / kMillisecond);
    const PeerOptions hybrid{"X25519MLKEM768/X25519"};
    const PeerOptions classical{"X25519"};
    out.push_back(variant("two shares" + suffix, link, kTwoShares, "hybrid server", hybrid));
    out.push_back(variant("two shares" + suffix, link, kTwoShares, "classical server", classical));
    out.push_back(variant("hybrid share alone" + suffix, link, kHybrid, "hybrid server", hybrid));
    out.push_back(
        variant("hybrid share alone" + suffix, link, kHybrid, "classical server", classical));
    out.push_back(variant("classical share alone" + suffix, link, "X25519MLKEM768:*X25519",
                          "hybrid server", hybrid));
    out.push_back(variant("classical share alone" + suffix, link, "X25519MLKEM768:*X25519",
                          "classical server", classical));
  }
  return out;
}

Result<std::vector<Variant>> concurrency(const ScenarioOptions& o) {
  std::vector<Variant> out;
  for (const unsigned count : {1U, 4U, 16U, 64U}) {
    for (const Kind& kind : kinds()) {
      out.push_back(variant(std::format("{} at once, {}", count, kind.name), usual(o), kind.client,
                            "", kind.peer));
      out.back().concurrent = count;
    }
  }
  return out;
}

Result<std::vector<Variant>> round_trip(const ScenarioOptions& o) {
  std::vector<Variant> out;
  for (const Nanos time : round_trips(
           o, {0, 20 * kMillisecond, 50 * kMillisecond, 100 * kMillisecond, 200 * kMillisecond})) {
    for (const Kind& kind : kinds()) {
      out.push_back(variant(std::format("{} ms, {}", time / kMillisecond, kind.name), over(o, time),
                            kind.client, "", kind.peer));
    }
  }
  return out;
}

Result<std::vector<Variant>> loss(const ScenarioOptions& o) {
  std::vector<Variant> out;
  for (const unsigned percent : {0U, 1U, 2U, 3U, 5U}) {
    link::Settings link = usual(o);
    link.up.loss = link.down.loss = percent / 100.0;
    for (const Kind& kind : kinds()) {
      out.push_back(variant(std::format("{} % each way, {}", percent, kind.name), link, kind.client,
                            "", kind.peer));
    }
  }
  return out;
}

Result<std::vector<Variant>> mtu(const ScenarioOptions& o) {
  std::vector<Variant> out;
  for (const bool told : {true, false}) {
    for (const size_t size : {size_t{1500}, size_t{1400}, size_t{1280}}) {
      if (size == 1500 && !told) continue;  // nothing is too large there
      link::Settings link = usual(o);
      link.up.mtu = link.down.mtu = size;
      link.up.too_big_messages = link.down.too_big_messages = told;
      for (const Kind& kind : kinds()) {
        out.push_back(
            variant(std::format("{} bytes{}, {}", size, told ? "" : " without ICMP", kind.name),
                    link, kind.client, "", kind.peer));
      }
    }
  }
  return out;
}

Result<std::vector<Variant>> middlebox(const ScenarioOptions& o) {
  struct Box {
    const char* name;
    const char* setting;
  };
  // 1,400: more than any classical hello, less than a hybrid one with its record header.
  constexpr std::array kBoxes{
      Box{"no middlebox", "middlebox=none"},
      Box{"splits the hello after 100 bytes", "middlebox=split:100"},
      Box{"delays a hello's further segments by 200 ms", "middlebox=delay:200ms"},
      Box{"drops hellos above 1,400 bytes", "middlebox=drop:1400"},
      Box{"wants the whole hello in the first segment", "middlebox=whole"}};
  std::vector<Variant> out;
  for (const Box& box : kBoxes) {
    const auto link = link::parse_settings(box.setting, usual(o));
    if (!link) return std::unexpected(link.error());
    for (size_t i = 0; i < 2; ++i) {
      const Kind& kind = kinds()[i];
      out.push_back(
          variant(std::format("{}, {}", box.name, kind.name), *link, kind.client, "", kind.peer));
    }
  }
  return out;
}

Result<std::vector<Variant>> fragments(const ScenarioOptions& o) {
  struct Method {
    const char* name;
    uint16_t method;
    uint16_t additional;
    bool ike_fragments;
  };
  constexpr std::array kMethods{
      Method{"curve25519", kIkeCurve25519, 0, false},
      Method{"mlkem768 alone in IKE_SA_INIT", kIkeMlKem768, 0, false},
      Method{"curve25519, then mlkem768 in one message", kIkeCurve25519, kIkeMlKem768, false},
      Method{"curve25519, then mlkem768 in IKE fragments", kIkeCurve25519, kIkeMlKem768, true}};
  std::vector<Variant> out;
  for (const size_t mtu : {size_t{1280}, size_t{576}}) {
    for (const bool pass : {true, false}) {
      for (const Method& method : kMethods) {
        const size_t largest = mtu - 20 - 8;  // the IP and UDP headers
        auto steps =
            ike_steps(method.method, method.additional, method.ike_fragments ? largest : 0);
        if (!steps) return std::unexpected(steps.error());
        Variant made;
        made.name = std::format("{} bytes, {}; IP fragments {}", mtu, method.name,
                                pass ? "pass" : "are dropped");
        made.link = usual(o);
        made.link.up.fragments = made.link.down.fragments = pass;
        made.ends = {mtu, mtu};
        made.exchange = std::move(*steps);
        out.push_back(std::move(made));
      }
    }
  }
  return out;
}

constexpr std::array kScenarios{
    Scenario{"mismatch", "the client's share is not of the server's group", mismatch},
    Scenario{"downgrade", "when a classical group is chosen, or refused", downgrade},
    Scenario{"retry", "two shares against one and a HelloRetryRequest, by round trip", retry},
    Scenario{"concurrency", "1 to 64 handshakes at once", concurrency},
    Scenario{"rtt", "added round-trip time from 0 to 200 ms", round_trip},
    Scenario{"loss", "0 to 5 % loss each way", loss},
    Scenario{"mtu", "paths of 1,500, 1,400 and 1,280 bytes, with and without ICMP", mtu},
    Scenario{"middlebox", "boxes that split, delay, drop or want a whole ClientHello", middlebox},
    Scenario{"fragments", "IKEv2 messages on a path that drops IP fragments", fragments},
};

}  // namespace

std::span<const Scenario> scenarios() { return kScenarios; }

}  // namespace pqedge::measure::live
