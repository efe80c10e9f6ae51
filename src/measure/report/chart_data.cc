#include "measure/report/chart_data.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "measure/report/sections.h"

namespace pqedge::measure::report {

namespace {

using Json = nlohmann::ordered_json;

Json figures(const Summary& summary) {
  Json json = {{"n", summary.iterations},     {"mean", summary.mean_us},
               {"median", summary.median_us}, {"p95", summary.p95_us},
               {"min", summary.min_us},       {"max", summary.max_us},
               {"ci", summary.mean_ci95_us}};
  if (summary.p99_us) json["p99"] = *summary.p99_us;
  return json;
}

Json figures(const std::optional<Summary>& summary) { return summary ? figures(*summary) : Json(); }

// Pairs of time and the share of samples that are slower, dense toward the slow end.
Json tail_of(std::vector<double> samples) {
  Json points = Json::array();
  if (samples.empty()) return points;
  std::ranges::sort(samples);
  const size_t n = samples.size();
  const auto add = [&](size_t index) {
    points.push_back({samples[index], static_cast<double>(n - index) / static_cast<double>(n)});
  };
  if (n <= kMostSamples) {
    for (size_t i = 0; i < n; ++i) add(i);
    return points;
  }
  // Even steps of log(share): as many points between 1 and 0.1 as between 0.1 and 0.01.
  size_t last = n;
  for (size_t step = 0; step < kMostSamples; ++step) {
    const double part = static_cast<double>(step) / static_cast<double>(kMostSamples - 1);
    const double share = std::pow(static_cast<double>(n), -part);
    const auto index = static_cast<size_t>(std::llround(static_cast<double>(n) * (1 - share)));
    const size_t bounded = std::min(index, n - 1);
    if (bounded != last) add(bounded);
    last = bounded;
  }
  return points;
}

Json change_json(const Change& change) {
  switch (change.kind) {
    case Change::Kind::range:
      return {{"value", change.range.median},
              {"low", change.range.low},
              {"high", change.range.high},
              {"runs", change.range.runs}};
    case Change::Kind::single: {
      Json json = {{"value", change.latest.value}, {"runs", 1}};
      if (change.latest.ci95.first > 0) {
        json["low"] = change.latest.ci95.first;
        json["high"] = change.latest.ci95.second;
      }
      return json;
    }
    default: return {};
  }
}

Json suite_json(const Model& model, const Host& host, const std::string& track,
                const SuiteRecord& suite, const Run& run) {
  Json json = {{"name", suite.name},
               {"provider", suite.provider},
               {"code", suite.code},
               {"family", suite.family},
               {"baseline", suite.baseline},
               {"withheld", withheld_reason(*run.record, suite)},
               {"wire", {suite.wire_bytes.client_to_server, suite.wire_bytes.server_to_client}},
               {"change", change_json(change_of(model, host, track, suite, run))},
               {"composed", figures(suite.composed)},
               {"e2e", figures(suite.end_to_end)}};
  for (const auto& [name, bytes] : suite.sizes) json["sizes"][name] = bytes;
  Json phases = Json::array();
  for (const PhaseRecord& phase : suite.phases) {
    Json one = figures(phase.figures);
    one["name"] = phase.name;
    one["side"] = phase.side;
    one["weight"] = phase.weight;
    if (!phase.samples_us.empty()) one["tail"] = tail_of(phase.samples_us);
    phases.push_back(std::move(one));
  }
  json["phases"] = std::move(phases);
  return json;
}

Json tracks_json(const Model& model, const Host& host) {
  Json tracks = Json::object();
  for (const std::string& name : track_names(host)) {
    const Shown shown =
        shown_run(host, [&](const Record& record) { return find_track(record, name) != nullptr; });
    const TrackRecord& track = *find_track(*shown.run->record, name);
    Json suites = Json::array();
    for (const SuiteRecord& suite : track.suites) {
      if (suite.absent.empty()) suites.push_back(suite_json(model, host, name, suite, *shown.run));
    }
    Json threads = Json::array();
    for (const ThroughputRecord& one : track.throughput) {
      threads.push_back({{"suite", one.suite},
                         {"provider", one.provider},
                         {"threads", one.threads},
                         {"rate", one.per_second}});
    }
    tracks[name] = {{"suites", std::move(suites)}, {"threads", std::move(threads)}};
  }
  return tracks;
}

Json chains_json(const Record& record) {
  Json chains = Json::array();
  for (const ChainRecord& chain : record.chains) {
    if (chain.scts > 0 || chain.staple || !chain.compression.empty() || chain.client_certificate) {
      continue;
    }
    Json one = {
        {"name", chain.name}, {"leaf", chain.leaf_der}, {"intermediate", chain.intermediate_der}};
    if (chain.multiple_of_p256) one["multiple"] = *chain.multiple_of_p256;
    chains.push_back(std::move(one));
  }
  return chains;
}

Json flights_json(const Record& record) {
  Json flights = Json::array();
  for (const FlightRecord& flight : record.flights) {
    Json windows = Json::array();
    if (flight.windows.empty()) {
      windows.push_back({{"bytes", flight.window}, {"rule", flight.window_rule}});
    }
    for (const WindowVerdict& window : flight.windows) {
      windows.push_back({{"bytes", window.window}, {"rule", window.rule}});
    }
    Json parts = Json::object();
    for (const auto& [name, bytes] : flight.parts) parts[name] = bytes;
    flights.push_back({{"chain", flight.chain},
                       {"transport", flight.transport},
                       {"group", flight.group},
                       {"bytes", flight.server_flight},
                       {"parts", std::move(parts)},
                       {"windows", std::move(windows)},
                       {"trips", flight.extra_round_trips}});
  }
  return flights;
}

Json tokens_json(const Record& record) {
  Json tokens = Json::array();
  for (const TokenRecord& token : record.tokens) {
    Json one = {{"name", token.algorithm},
                {"draft", !token.registered},
                {"header", token.header},
                {"payload", token.payload},
                {"signature", token.signature},
                {"total", token.total},
                {"multiple", token.multiple_of_es256}};
    for (const auto& [coding, bytes] : token.first_request) one["first"][coding] = bytes;
    for (const auto& [coding, bytes] : token.following_request) one["next"][coding] = bytes;
    tokens.push_back(std::move(one));
  }
  return tokens;
}

Json limits_json(const Record& record) {
  Json limits = Json::array();
  for (const DocumentedLimitRecord& limit : record.documented_limits) {
    limits.push_back({{"name", limit.name}, {"bytes", limit.bytes}});
  }
  return limits;
}

Json live_json(const Host& host) {
  Json all = Json::array();
  for (const Run* run : host.runs) {
    for (const LiveRecord& live : run->record->live) {
      if (all.size() == kMostHandshakes) return all;
      all.push_back({{"target", live.target},
                     {"transport", live.transport},
                     {"group", live.group.value_or("")},
                     {"date", run->record->environment.date},
                     {"outcome", live.outcome},
                     {"bytes", {live.bytes.client_to_server, live.bytes.server_to_client}}});
    }
  }
  return all;
}

Json scenarios_json(const Record& record) {
  Json all = Json::array();
  for (const ScenarioRecord& scenario : record.scenarios) {
    Json times = Json::object();
    for (const auto& [name, range] : scenario.times_us) {
      times[name] = {range.median, range.low, range.high, range.runs};
    }
    all.push_back({{"scenario", scenario.scenario},
                   {"variant", scenario.variant},
                   {"times", std::move(times)}});
  }
  return all;
}

Json history_json(const Model& model, const Host& host) {
  Json all = Json::array();
  if (host.runs.size() < 2) return all;
  for (const Series* series : host.series) {
    Json points = Json::array();
    const size_t n = series->points.size();
    for (size_t i = n > kMostHistoryPoints ? n - kMostHistoryPoints : 0; i < n; ++i) {
      const SeriesPoint& point = series->points[i];
      const Run* run = model.run_of(point.record_id);
      points.push_back({{"date", point.date},
                        {"commit", point.commit},
                        {"run", run == nullptr ? 0 : run->number},
                        {"median", point.median_us},
                        {"withheld", point.withheld}});
    }
    all.push_back({{"track", series->key.track},
                   {"suite", series->key.suite},
                   {"provider", series->key.provider},
                   {"version", series->key.provider_version},
                   {"code", series->key.code},
                   {"figure", series->key.figure},
                   {"points", std::move(points)}});
  }
  return all;
}

const Record* record_with(const Host& host, const std::function<bool(const Record&)>& has_data) {
  const Shown shown = shown_run(host, has_data);
  return shown.run == nullptr ? nullptr : shown.run->record;
}

Json host_json(const Model& model, const Host& host) {
  static const Record kNothing{};
  const auto with = [&](auto member) -> const Record& {
    const Record* record =
        record_with(host, [&](const Record& one) { return !(one.*member).empty(); });
    return record == nullptr ? kNothing : *record;
  };
  const Record& tokens = with(&Record::tokens);
  return {{"name", host.name},
          {"tracks", tracks_json(model, host)},
          {"chains", chains_json(with(&Record::chains))},
          {"flights", flights_json(with(&Record::flights))},
          {"tokens", tokens_json(tokens)},
          {"limits", limits_json(tokens)},
          {"live", live_json(host)},
          {"scenarios", scenarios_json(with(&Record::scenarios))},
          {"history", history_json(model, host)}};
}

}  // namespace

std::string chart_data(const Model& model) {
  Json hosts = Json::array();
  for (const Host& host : model.hosts()) hosts.push_back(host_json(model, host));
  const std::string text =
      Json{{"hosts", std::move(hosts)}}.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    // Only inside strings: JSON has none of these elsewhere.
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace pqedge::measure::report
