#include "measure/live/scenario_text.h"

#include <format>

#include "measure/record/text.h"

namespace pqedge::measure::live {

namespace {

std::string outcomes(const ScenarioRecord& scenario) {
  std::string text;
  for (const auto& [outcome, count] : scenario.outcomes) {
    if (!text.empty()) text += ", ";
    text += std::format("{} x {}", count, outcome);
  }
  return text;
}

const Range* find(const std::map<std::string, Range>& ranges, const char* name) {
  const auto found = ranges.find(name);
  return found == ranges.end() ? nullptr : &found->second;
}

}  // namespace

std::string describe(std::span<const ScenarioRecord> scenarios) {
  constexpr auto kRight = TextTable::Align::right;
  TextTable table({{"variant", TextTable::Align::left},
                   {"outcome", TextTable::Align::left},
                   {"median ms", kRight},
                   {"least", kRight},
                   {"most", kRight},
                   {"bytes sent", kRight},
                   {"received", kRight}});
  for (const ScenarioRecord& scenario : scenarios) {
    std::vector<std::string> cells{scenario.variant, outcomes(scenario)};
    const Range* time = find(scenario.times_us, "finished");
    for (const double value : time == nullptr ? std::vector<double>{}
                                              : std::vector{time->median, time->low, time->high}) {
      cells.push_back(std::format("{:.1f}", value / 1000));
    }
    const Range* sent = find(scenario.bytes, "client_to_server");
    const Range* received = find(scenario.bytes, "server_to_client");
    if (sent != nullptr && received != nullptr) {
      cells.push_back(std::format("{:.0f}", sent->median));
      cells.push_back(std::format("{:.0f}", received->median));
    }
    table.add(std::move(cells));
  }
  std::string text = table.text();
  if (!scenarios.empty()) {
    const ScenarioRecord& first = scenarios.front();
    text += std::format("\n{}: {:.0f} us one way (median; 99 % {:.0f} us)\n", first.emulator,
                        first.added_delay_us, first.added_delay_p99_us);
    text += std::format(
        "{} run(s) with seeds from {}; figures of fewer than {} runs are single "
        "dated runs, not for comparison\n",
        first.seeds.size(), first.seeds.empty() ? 0 : first.seeds.front(), Range::kLeastRuns);
  }
  return text;
}

}  // namespace pqedge::measure::live
