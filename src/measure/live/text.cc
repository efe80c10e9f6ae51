#include "measure/live/text.h"

#include <algorithm>
#include <array>
#include <format>
#include <map>
#include <utility>
#include <vector>

#include "measure/live/handshake.h"
#include "measure/record/text.h"
#include "measure/stats/summary.h"

namespace pqedge::measure::live {

namespace {

constexpr auto kRight = TextTable::Align::right;

std::string fact(const LiveRecord& record, const char* name) {
  const auto found = record.facts.find(name);
  return found == record.facts.end() ? std::string() : found->second;
}

std::string negotiated(const LiveRecord& r) {
  std::string text = r.group.value_or("no group");
  if (r.group_code) text += std::format(" ({:#06x})", *r.group_code);
  if (r.hello_retry_request) text += ", after a HelloRetryRequest";
  if (!r.cipher.empty()) text += ", " + r.cipher;
  if (!r.signature.empty()) text += ", " + r.signature;
  return text;
}

}  // namespace

std::string describe(const LiveRecord& r) {
  std::string text = std::format("{} over {}: {}\n", r.target, r.transport, r.outcome);
  if (r.outcome != kCompleted) return text + "  " + fact(r, "error") + "\n";
  text += "  negotiated  " + negotiated(r) + "\n";
  for (const char* name : {"address", "alpn", "chain", "shares_offered", "shares_offered_2",
                           "software", "signature_verified", "client_signature", "retry"}) {
    if (const std::string value = fact(r, name); !value.empty()) {
      text += std::format("  {}  {}\n", name, value);
    }
  }
  TextTable ways({{"", TextTable::Align::left}, {"client", kRight}, {"server", kRight}});
  ways.add({"bytes", std::to_string(r.bytes.client_to_server),
            std::to_string(r.bytes.server_to_client)});
  if (r.packets_known) {
    ways.add({r.transport == "quic" ? "datagrams" : "segments",
              std::to_string(r.packets.client_to_server),
              std::to_string(r.packets.server_to_client)});
  }
  text += "\n" + ways.text() + "\n";
  TextTable sizes({{"size", TextTable::Align::left}, {"bytes", kRight}});
  for (const auto& [name, value] : r.sizes) sizes.add({name, std::to_string(value)});
  text += sizes.text() + "\n";
  std::vector<std::pair<double, std::string>> times;
  for (const auto& [name, value] : r.times_us) times.emplace_back(value, name);
  std::ranges::sort(times);
  TextTable clock({{"time", TextTable::Align::left}, {"us", kRight}});
  for (const auto& [value, name] : times) clock.add({name, std::format("{:.0f}", value)});
  text += clock.text();
  for (const char* name : {"group", "bytes", "packets"}) {
    if (const std::string value = fact(r, name); !value.empty()) {
      text += std::format("\n{}: {}", name, value);
    }
  }
  return text + "\n";
}

std::string describe_all(std::span<const LiveRecord> records) {
  std::map<std::string, size_t> outcomes;
  std::map<std::string, std::vector<double>> times;
  for (const LiveRecord& r : records) {
    ++outcomes[r.outcome];
    if (r.outcome != kCompleted) continue;
    for (const auto& [name, value] : r.times_us) times[name].push_back(value);
  }
  std::string text;
  for (const auto& [outcome, count] : outcomes) text += std::format("{} x {}\n", count, outcome);
  TextTable table({{"time", TextTable::Align::left},
                   {"median us", kRight},
                   {"least", kRight},
                   {"most", kRight}});
  for (const auto& [name, values] : times) {
    table.add({name, std::format("{:.0f}", median(values)),
               std::format("{:.0f}", std::ranges::min(values)),
               std::format("{:.0f}", std::ranges::max(values))});
  }
  return text + "\n" + table.text();
}

}  // namespace pqedge::measure::live
