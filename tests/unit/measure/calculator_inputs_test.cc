#include "measure/calculator/inputs.h"

#include <gtest/gtest.h>

#include "measure/calculator/metrics_page.h"

namespace pqedge::measure {
namespace {

std::string refusal(std::string_view toml) {
  Inputs inputs;
  const auto read = read_inputs(toml, "in.toml", inputs);
  return read ? "" : read.error().message;
}

TEST(CalculatorInputs, AreReadFromToml) {
  Inputs inputs;
  inputs.rtt_ms = 7;
  const auto read = read_inputs(R"(
connections_per_second = 500
resumption = 0.6
http = "3"
[before]
group = "X25519"
[after]
group = "X25519MLKEM768"
chain = "ML-DSA-44"
token = "ML-DSA-44"
)",
                                "in.toml", inputs);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(inputs.connections_per_second, 500);
  EXPECT_EQ(inputs.resumption, 0.6);
  EXPECT_EQ(inputs.http, "3");
  EXPECT_EQ(inputs.after.chain, "ML-DSA-44");
  EXPECT_EQ(inputs.before.chain, "ECDSA P-256") << "what is not named keeps its default";
  EXPECT_EQ(inputs.rtt_ms, 7);
  EXPECT_TRUE(check_inputs(inputs));
}

TEST(CalculatorInputs, MistakesHaveTheirLine) {
  EXPECT_EQ(refusal("\nresumtion = 0.5\n"),
            "in.toml:2: resumtion is not a key; did you mean \"resumption\"?");
  EXPECT_EQ(refusal("loss = \"1 %\"\n"), "in.toml:1: loss is not a number");
  EXPECT_EQ(refusal("http = 2\n"), "in.toml:1: http is not a text");
  EXPECT_EQ(refusal("[after]\nchian = \"x\"\n"),
            "in.toml:2: after.chian is not a key; did you mean \"chain\"?");
  EXPECT_EQ(refusal("after = 1\n"), "in.toml:1: after is not a table");
  EXPECT_TRUE(refusal("loss = \n").starts_with("in.toml:1: "));
}

TEST(CalculatorInputs, RangesAreChecked) {
  Inputs inputs;
  EXPECT_NE(check_inputs(inputs).error().message.find("connections_per_second is not given"),
            std::string::npos);
  inputs.connections_per_second = 1;
  EXPECT_TRUE(check_inputs(inputs));
  inputs.resumption = 60;
  EXPECT_EQ(check_inputs(inputs).error().message, "resumption is 60: it may be 0 to 1");
  inputs.resumption = 0.6;
  inputs.http = "h2";
  EXPECT_EQ(check_inputs(inputs).error().message, "http is \"h2\": it may be 1.1, 2 or 3");
}

constexpr std::string_view kPage = R"(# HELP process_start_time_seconds Start.
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1000.5
pqedge_tls_handshakes_total{group="X25519",transport="tcp",version="TLSv1.3"} 600
pqedge_tls_handshakes_total{group="X25519MLKEM768",transport="tcp",version="TLSv1.3"} 300
pqedge_tls_handshakes_total{group="X25519MLKEM768",transport="quic",version="TLSv1.3"} 300
pqedge_tls_resumptions_total{transport="tcp"} 240
pqedge_tls_resumptions_total{transport="quic"} 60
pqedge_request_duration_seconds_bucket{version="HTTP/2",le="+Inf"} 9000
pqedge_request_duration_seconds_count{version="HTTP/1.1"} 100
pqedge_request_duration_seconds_count{version="HTTP/2"} 9000
pqedge_request_duration_seconds_count{version="HTTP/3"} 500
pqedge_requests_total{route="a \"quoted\\\" {route}, with\n all",class="2xx"} 9600 1234567
)";

TEST(CalculatorMetrics, TrafficComesFromAPageOfPqedge) {
  const auto page = MetricsPage::parse(kPage, "page");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->samples("pqedge_requests_total")[0].labels.at("route"),
            "a \"quoted\\\" {route}, with\n all");
  EXPECT_EQ(page->sum("pqedge_requests_total"), 9600);
  Inputs inputs;
  const auto said = inputs_from_metrics(*page, 1600.5, inputs);
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_DOUBLE_EQ(inputs.connections_per_second, 2);   // 1,200 in 600 s
  EXPECT_DOUBLE_EQ(inputs.resumption, 0.25);            // 300 of 1,200
  EXPECT_DOUBLE_EQ(inputs.requests_per_connection, 8);  // 9,600 over 1,200
  EXPECT_EQ(inputs.http, "2");
  ASSERT_EQ(said->size(), 5U);
  EXPECT_NE(said->at(3).find("50.0 % of its handshakes used X25519;"), std::string::npos);
}

TEST(CalculatorMetrics, PagesThatDoNotServeAreRefused) {
  EXPECT_FALSE(MetricsPage::parse("", "page"));
  EXPECT_EQ(MetricsPage::parse("a 1\n<html>\n", "page").error().message,
            "page:2: not a line of Prometheus's text format");
  Inputs inputs;
  const auto page = MetricsPage::parse(kPage, "page");
  EXPECT_NE(inputs_from_metrics(*page, 1010, inputs).error().message.find("a minute at least"),
            std::string::npos);
  const auto other = MetricsPage::parse("up 1\n", "page");
  EXPECT_NE(inputs_from_metrics(*other, 1010, inputs).error().message.find("not of a pqedge"),
            std::string::npos);
  const auto idle = MetricsPage::parse("process_start_time_seconds 0\n", "page");
  EXPECT_NE(inputs_from_metrics(*idle, 1010, inputs).error().message.find("no TLS handshake"),
            std::string::npos);
}

}  // namespace
}  // namespace pqedge::measure
