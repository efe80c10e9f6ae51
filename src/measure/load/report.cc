#include "measure/load/report.h"

#include <format>
#include <nlohmann/json.hpp>

namespace pqedge::measure::load {

namespace {

using Json = nlohmann::ordered_json;

double in_microseconds(Nanos time) { return static_cast<double>(time) / 1000; }

Json latency(const Histogram& histogram) {
  Json json;
  json["count"] = histogram.count();
  json["min"] = in_microseconds(histogram.min());
  json["mean"] = histogram.mean() / 1000;
  for (const auto& [name, percent] : {std::pair{"p50", 50.0},
                                      {"p75", 75.0},
                                      {"p90", 90.0},
                                      {"p99", 99.0},
                                      {"p99.9", 99.9},
                                      {"p99.99", 99.99}}) {
    json[name] = in_microseconds(histogram.percentile(percent));
  }
  json["max"] = in_microseconds(histogram.max());
  return json;
}

Json cpu(const CpuTime& time) {
  return {{"user_seconds", time.user}, {"system_seconds", time.system}, {"seconds", time.total()}};
}

Json traffic(const Options& options, const Traffic& t) {
  Json json = {{"bytes_sent", t.bytes_sent},
               {"bytes_received", t.bytes_received},
               {"body_bytes", t.body_bytes},
               {"send_calls", t.send_calls},
               {"receive_calls", t.receive_calls}};
  if (options.protocol == Protocol::kHttp3) {
    json["datagrams_sent"] = t.datagrams_sent;
    json["datagrams_received"] = t.datagrams_received;
    json["ack_only_sent"] = t.ack_only_sent;
    json["without_stream_received"] = t.without_stream_received;
    json["gso_sends"] = t.gso_sends;
    json["gro_receives"] = t.gro_receives;
    json["packets_sent"] = t.packets_sent;
    json["packets_received"] = t.packets_received;
    json["packets_lost"] = t.packets_lost;
  }
  return json;
}

double per_second(uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

}  // namespace

std::string to_json(const Options& options, const RunResult& result) {
  const Tally& tally = result.tally;
  Json json;
  json["protocol"] = protocol_name(options.protocol);
  json["mode"] = options.rate > 0 ? "open" : "closed";
  json["handshake_each"] = options.handshake_each;
  json["connections"] = options.connections;
  json["streams"] = options.streams;
  json["rate"] = options.rate;
  json["window_seconds"] = result.window;
  json["requests"] = tally.completed_in_window();
  json["requests_ever"] = tally.completed_ever();
  json["requests_per_second"] = per_second(tally.completed_in_window(), result.window);
  json["failed"] = tally.failures();
  Json failures = Json::object();
  for (size_t i = 0; i < kFailures; ++i) {
    const auto failure = static_cast<Failure>(i);
    if (tally.failures(failure) > 0) {
      failures[std::string(failure_name(failure))] = tally.failures(failure);
    }
  }
  json["failures"] = failures;
  json["first_failure"] = tally.first_failure();
  json["sent_again"] = tally.requests_retried();
  Json statuses = Json::object();
  for (const auto& [status, count] : tally.statuses()) statuses[std::to_string(status)] = count;
  json["statuses"] = statuses;
  json["backlog_max"] = result.backlog;
  json["latency_us"] = latency(tally.latency());
  json["service_time_us"] = latency(tally.service_time());
  json["handshakes"] = tally.handshakes();
  json["handshakes_in_window"] = tally.handshakes_in_window();
  json["handshakes_resumed"] = tally.resumed();
  json["handshake_us"] = latency(tally.handshake_time());
  json["tls"] = {{"version", result.tls.version},
                 {"group", result.tls.group},
                 {"cipher", result.tls.cipher},
                 {"alpn", result.tls.alpn}};
  json["traffic"] = traffic(options, result.traffic);
  json["own_cpu"] = cpu(result.own);
  Json watched = Json::object();
  for (const auto& [name, time] : result.watched) watched[name] = cpu(time);
  json["watched_cpu"] = watched;
  Json cores = Json::object();
  for (const auto& [core, time] : result.cores) {
    cores[std::to_string(core)] = {
        {"busy_seconds", time.busy}, {"idle_seconds", time.idle}, {"stolen_seconds", time.stolen}};
  }
  json["cores"] = cores;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string to_text(const Options& options, const RunResult& result) {
  const Tally& tally = result.tally;
  const Histogram& l = tally.latency();
  std::string text =
      std::format("{}: {} requests in {:.2f} s, {:.0f} a second, {} failed\n",
                  protocol_name(options.protocol), tally.completed_in_window(), result.window,
                  per_second(tally.completed_in_window(), result.window), tally.failures());
  if (tally.failures() > 0) text += std::format("first failure: {}\n", tally.first_failure());
  if (!result.tls.version.empty()) {
    text += std::format("{} {} {} {}, {} handshakes, {} resumed\n", result.tls.version,
                        result.tls.group, result.tls.cipher, result.tls.alpn, tally.handshakes(),
                        tally.resumed());
  }
  text +=
      std::format("latency us: 50 % {:.0f}, 90 % {:.0f}, 99 % {:.0f}, 99.9 % {:.0f}, max {:.0f}\n",
                  in_microseconds(l.percentile(50)), in_microseconds(l.percentile(90)),
                  in_microseconds(l.percentile(99)), in_microseconds(l.percentile(99.9)),
                  in_microseconds(l.max()));
  for (const auto& [status, count] : tally.statuses()) {
    text += std::format("status {}: {}\n", status, count);
  }
  if (options.protocol == Protocol::kHttp3) {
    const Traffic& t = result.traffic;
    text += std::format("datagrams: {} sent, {} of them only acknowledge, {} received\n",
                        t.datagrams_sent, t.ack_only_sent, t.datagrams_received);
  }
  const auto each = [&](const CpuTime& time) {
    return std::format("{:.1f} us a request ({:.1f} user, {:.1f} kernel)",
                       time.total() * 1e6 / static_cast<double>(tally.completed_in_window()),
                       time.user * 1e6 / static_cast<double>(tally.completed_in_window()),
                       time.system * 1e6 / static_cast<double>(tally.completed_in_window()));
  };
  if (tally.completed_in_window() > 0) {
    text += std::format("CPU of the generator: {}\n", each(result.own));
    for (const auto& [name, time] : result.watched) {
      text += std::format("CPU of {}: {}\n", name, each(time));
    }
  }
  return text;
}

}  // namespace pqedge::measure::load
