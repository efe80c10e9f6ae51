#include "record/metrics.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/counters.h"
#include "base/time.h"
#include "record/process_metrics.h"

namespace pqedge::record {
namespace {

std::vector<std::string> lines_of(std::string_view name) {
  std::vector<std::string> out;
  std::istringstream in(prometheus_text());
  for (std::string line; std::getline(in, line);) {
    const bool comment = line.starts_with("# HELP " + std::string(name) + " ") ||
                         line.starts_with("# TYPE " + std::string(name) + " ");
    if (line.starts_with(name) || comment) out.push_back(line);
  }
  return out;
}

TEST(Metrics, CountersAndGaugesWithEscapedLabels) {
  const counters::Counter plain("test_plain_total", "Plain \\ help\nline.");
  const counters::Counter labelled("test_labelled_total", "Labelled.",
                                   {{"route", "a\"b\\c\nd"}, {"code", "200"}});
  const counters::Counter gauge("test_gauge", "Gauge.", {}, counters::Kind::gauge);
  plain.add(3);
  labelled.add(4);
  gauge.add(2);
  gauge.subtract(5);
  // Text exposition format 0.0.4.
  EXPECT_EQ(lines_of("test_plain_total"),
            (std::vector<std::string>{"# HELP test_plain_total Plain \\\\ help\\nline.",
                                      "# TYPE test_plain_total counter", "test_plain_total 3"}));
  EXPECT_EQ(lines_of("test_labelled_total").back(),
            "test_labelled_total{route=\"a\\\"b\\\\c\\nd\",code=\"200\"} 4");
  EXPECT_EQ(lines_of("test_gauge").back(), "test_gauge -3");
}

TEST(Metrics, HistogramsAreCumulatedInTheOrderOfTheirBounds) {
  const counters::Histogram h("test_duration_seconds", "Durations.", {{"route", "a"}});
  for (const uint64_t micros : {50ul, 100ul, 101ul, 2'000'000ul, 70'000'000ul}) {
    h.observe_micros(micros);
  }
  const auto lines = lines_of("test_duration_seconds");
  ASSERT_EQ(lines.size(), 2 + counters::Histogram::kBoundsMicros.size() + 1 + 2);
  EXPECT_EQ(lines[1], "# TYPE test_duration_seconds histogram");
  EXPECT_EQ(lines[2], "test_duration_seconds_bucket{route=\"a\",le=\"0.0001\"} 2");
  EXPECT_EQ(lines[3], "test_duration_seconds_bucket{route=\"a\",le=\"0.00025\"} 3");
  EXPECT_EQ(lines[13], "test_duration_seconds_bucket{route=\"a\",le=\"5\"} 4");
  EXPECT_EQ(lines[15], "test_duration_seconds_bucket{route=\"a\",le=\"60\"} 4");
  EXPECT_EQ(lines[16], "test_duration_seconds_bucket{route=\"a\",le=\"+Inf\"} 5");
  EXPECT_EQ(lines[17], "test_duration_seconds_sum{route=\"a\"} 72.000251");
  EXPECT_EQ(lines[18], "test_duration_seconds_count{route=\"a\"} 5");
}

TEST(Metrics, HistogramsOfBytesSumBytes) {
  const counters::SizeHistogram h("test_size_bytes", "Sizes.", {{"direction", "in"}});
  for (const uint64_t bytes : {1ul, 256ul, 257ul, 17'000ul, 1'000'000ul}) h.observe(bytes);
  const auto lines = lines_of("test_size_bytes");
  ASSERT_EQ(lines.size(), 2 + counters::SizeHistogram::kBounds.size() + 1 + 2);
  EXPECT_EQ(lines[2], "test_size_bytes_bucket{direction=\"in\",le=\"256\"} 2");
  EXPECT_EQ(lines[3], "test_size_bytes_bucket{direction=\"in\",le=\"512\"} 3");
  EXPECT_EQ(lines[14], "test_size_bytes_bucket{direction=\"in\",le=\"65536\"} 4");
  EXPECT_EQ(lines[15], "test_size_bytes_bucket{direction=\"in\",le=\"+Inf\"} 5");
  EXPECT_EQ(lines[16], "test_size_bytes_sum{direction=\"in\"} 1017514");
  EXPECT_EQ(lines[17], "test_size_bytes_count{direction=\"in\"} 5");
}

TEST(Metrics, SeriesOfOneNameStandTogether) {
  const counters::Counter a("test_family_total", "F.", {{"x", "1"}});
  const counters::Counter between("test_family_total_other", "G.");
  const counters::Counter b("test_family_total", "F.", {{"x", "2"}});
  const std::string text = prometheus_text();
  EXPECT_NE(text.find("# TYPE test_family_total counter\ntest_family_total{x=\"1\"} 0\n"
                      "test_family_total{x=\"2\"} 0\n"),
            std::string::npos);
}

TEST(Metrics, ProcessSeriesHaveTheUsualNames) {
  set_process_info({.workers = 7, .udp_ports = {9}});
  const std::string text = prometheus_text();
  for (const char* name :
       {"process_start_time_seconds ", "process_resident_memory_bytes ", "process_open_fds ",
        "process_max_fds ", "process_cpu_seconds_total ", "pqedge_workers 7\n",
        "pqedge_udp_socket_drops_total{port=\"9\"} 0\n", "pqedge_build_info{version=\""}) {
    EXPECT_NE(text.find(name), std::string::npos) << name;
  }
  set_process_info({});
  EXPECT_EQ(prometheus_text().find("pqedge_udp_socket_drops_total"), std::string::npos);
}

TEST(Metrics, TheStartTimeIsInThePast) {
  for (const ProcessSeries& s : process_series()) {
    if (s.name != "process_start_time_seconds") continue;
    const double now = static_cast<double>(wall_now()) / 1e9;
    EXPECT_GT(s.value, now - 86400);
    EXPECT_LT(s.value, now + 2);  // of whole seconds since the boot
  }
}

TEST(Metrics, JsonSaysTheSame) {
  const counters::Counter c("test_json_total", "J \"quoted\".", {{"a", "b\"\n"}});
  c.add(9);
  const counters::Histogram h("test_json_seconds", "H.");
  h.observe_micros(1'500'000);
  const auto j = nlohmann::json::parse(metrics_json());
  bool counter_found = false;
  bool histogram_found = false;
  for (const auto& m : j["metrics"]) {
    if (m["name"] == "test_json_total") {
      counter_found = true;
      EXPECT_EQ(m["type"], "counter");
      EXPECT_EQ(m["help"], "J \"quoted\".");
      EXPECT_EQ(m["series"][0]["labels"]["a"], "b\"\n");
      EXPECT_EQ(m["series"][0]["value"], 9);
    } else if (m["name"] == "test_json_seconds") {
      histogram_found = true;
      EXPECT_EQ(m["type"], "histogram");
      EXPECT_EQ(m["series"][0]["count"], 1);
      EXPECT_DOUBLE_EQ(m["series"][0]["sum"].get<double>(), 1.5);
      EXPECT_EQ(m["series"][0]["buckets"].back()["le"], "+Inf");
      EXPECT_EQ(m["series"][0]["buckets"].back()["count"], 1);
    }
  }
  EXPECT_TRUE(counter_found);
  EXPECT_TRUE(histogram_found);
}

// As Linux writes it; the second socket is bound to port 443 (0x01BB), the last drops 17.
TEST(Metrics, KernelDropsAreReadByPort) {
  constexpr std::string_view kTable =
      "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode ref pointer drops             \n"
      "  100: 0100007F:1F90 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 "
      "1001 2 0000000000000000 5         \n"
      "  101: 00000000:01BB 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 "
      "1002 2 0000000000000000 3         \n"
      "  101: 00000000:01BB 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 "
      "1003 2 0000000000000000 17        \n";
  EXPECT_EQ(udp_drops(kTable, 443), 20u);
  EXPECT_EQ(udp_drops(kTable, 8080), 5u);
  EXPECT_EQ(udp_drops(kTable, 53), 0u);
  EXPECT_EQ(udp_drops("", 443), 0u);
}

}  // namespace
}  // namespace pqedge::record
