// A run's result as part of pqcost's record.
#include <array>
#include <format>
#include <utility>

#include "measure/load/report.h"

namespace pqedge::measure::load {

namespace {

double microseconds(Nanos time) { return static_cast<double>(time) / 1000; }

std::map<std::string, double> figures(const Histogram& histogram) {
  std::map<std::string, double> out;
  if (histogram.count() == 0) return out;
  out["min"] = microseconds(histogram.min());
  out["mean"] = histogram.mean() / 1000;
  out["max"] = microseconds(histogram.max());
  // A percentile needs as many samples as put one above it.
  struct Percentile {
    const char* name;
    double percent;
    uint64_t least;
  };
  constexpr std::array kPercentiles{
      Percentile{"p50", 50, 1},        Percentile{"p90", 90, 10},
      Percentile{"p95", 95, 20},       Percentile{"p99", 99, 100},
      Percentile{"p99.9", 99.9, 1000}, Percentile{"p99.99", 99.99, 10000}};
  for (const Percentile& p : kPercentiles) {
    if (histogram.count() >= p.least) out[p.name] = microseconds(histogram.percentile(p.percent));
  }
  return out;
}

}  // namespace

LoadRecord to_record(const Options& options, const RunResult& result) {
  const Tally& tally = result.tally;
  LoadRecord record;
  record.url = std::format("{}://{}:{}{}", options.tls ? "https" : "http", options.host,
                           options.port, options.path);
  record.protocol = protocol_name(options.protocol);
  record.open = options.rate > 0;
  record.rate = options.rate;
  record.connection_each = options.handshake_each;
  record.resumption_asked = options.resume ? options.resumption : 0;
  record.connections = options.connections;
  record.streams = options.streams;
  record.window_s = result.window;
  record.requests = tally.completed_in_window();
  record.failed = tally.failures();
  for (size_t i = 0; i < kFailures; ++i) {
    const auto failure = static_cast<Failure>(i);
    if (const uint64_t count = tally.failures(failure); count > 0) {
      record.failures[std::string(failure_name(failure))] = count;
    }
  }
  record.first_failure = tally.first_failure();
  for (const auto& [status, count] : tally.statuses()) {
    record.statuses[std::to_string(status)] = count;
  }
  record.handshakes = tally.handshakes();
  record.handshakes_in_window = tally.handshakes_in_window();
  record.resumed = tally.resumed();
  record.group = result.tls.group;
  record.cipher = result.tls.cipher;
  record.backlog_most = result.backlog;
  record.latency_us = figures(tally.latency());
  record.service_time_us = figures(tally.service_time());
  record.handshake_us = figures(tally.handshake_time());
  tally.latency().for_each([&](Nanos upper, uint64_t count) {
    record.histogram_upper_us.push_back(microseconds(upper));
    record.histogram_count.push_back(count);
  });
  record.bytes_sent = result.traffic.bytes_sent;
  record.bytes_received = result.traffic.bytes_received;
  record.datagrams_sent = result.traffic.datagrams_sent;
  record.datagrams_received = result.traffic.datagrams_received;
  record.generator_cpu_s = result.own.total();
  return record;
}

}  // namespace pqedge::measure::load
