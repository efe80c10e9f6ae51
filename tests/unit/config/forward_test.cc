// Retries, time limits, buffering and shadows in the file.
#include <gtest/gtest.h>

#include "config/load.h"

namespace pqedge::config {
namespace {

// Line 1 of `pool` is line 8 of the file.
std::string file(std::string_view pool, std::string_view route) {
  return "version = 1\n[[listener]]\naddress = \"127.0.0.1:8080\"\ntls = false\n[[pool]]\n"
         "name = \"app\"\nservers = [\"127.0.0.1:9000\"]\n" +
         std::string(pool) + "[[route]]\npool = \"app\"\n" + std::string(route);
}

Result<Configuration> read_pool_text(const std::string& toml) {
  return parse(toml, "edge.toml", "/etc/pqedge", Checks::text);
}

void expect_refused(std::string_view pool, std::string_view route, std::string_view what) {
  const auto c = read_pool_text(file(pool, route));
  ASSERT_FALSE(c.has_value()) << pool << route;
  EXPECT_NE(c.error().message.find(what), std::string::npos) << c.error().message;
}

TEST(ForwardConfig, ReadsWhatAPoolAndARouteSay) {
  const auto c =
      read_pool_text(file("retry_on = [\"timeout\", \"503\"]\nretry_budget = 50\n",
                          "retries = 4\nretry_on = [\"5xx\", \"reset\"]\nretry_any_method = true\n"
                          "retry_backoff = \"1s\"\nresponse_timeout = \"250ms\"\n"
                          "request_timeout = \"0s\"\nbuffer_request = \"1MiB\"\n"
                          "shadow_pool = \"app\"\nshadow_percent = 7\n"));
  ASSERT_TRUE(c.has_value()) << c.error().message;
  const upstream::PoolSettings& pool = c->edge.pools.at(0);
  ASSERT_TRUE(pool.retry.on.has_value());
  EXPECT_TRUE(pool.retry.on->timeout && pool.retry.on->takes(503));
  EXPECT_FALSE(pool.retry.on->connect || pool.retry.on->refused || pool.retry.on->reset);
  EXPECT_FALSE(pool.retry.on->takes(500));
  EXPECT_EQ(pool.retry_budget, 50u);
  EXPECT_FALSE(pool.retry.any_method.has_value());

  const route::ForwardSettings& route = c->edge.routes.at(0).forward;
  EXPECT_EQ(route.retries, 4u);
  ASSERT_TRUE(route.retry.on.has_value());
  EXPECT_TRUE(route.retry.on->takes(500) && route.retry.on->takes(504) && route.retry.on->reset);
  EXPECT_EQ(route.retry.any_method, true);
  EXPECT_EQ(route.retry.backoff, kSecond);
  EXPECT_EQ(route.response_timeout, 250 * kMillisecond);
  EXPECT_EQ(route.request_timeout, Nanos{0});
  EXPECT_FALSE(route.connect_timeout.has_value());
  EXPECT_EQ(route.buffer_request, 1024u * 1024);
  EXPECT_EQ(route.shadow_pool, "app");
  EXPECT_EQ(route.shadow_percent, 7u);
}

TEST(ForwardConfig, AnEmptyListOfConditionsIsNoCondition) {
  const auto c = read_pool_text(file("retry_on = []\n", ""));
  ASSERT_TRUE(c.has_value()) << c.error().message;
  ASSERT_TRUE(c->edge.pools.at(0).retry.on.has_value());
  EXPECT_FALSE(c->edge.pools.at(0).retry.on->connect);
}

TEST(ForwardConfig, RefusesWhatMeansNothing) {
  expect_refused("retry_on = [\"restart\"]\n", "", "edge.toml:8:");
  expect_refused("retry_on = [\"restart\"]\n", "", "\"restart\" is no condition");
  expect_refused("retry_on = [\"200\"]\n", "", "200 is the status of no failure");
  expect_refused("retries = 11\n", "", "retries");
  expect_refused("retry_budget = 101\n", "", "retry_budget");
  expect_refused("retry_backoff = \"2m\"\n", "", "retry_backoff");
  expect_refused("", "retry_body = \"1GiB\"\n", "retry_body");
  expect_refused("", "response_timeout = \"0s\"\n", "response_timeout");
  expect_refused("", "buffer_response = \"1GiB\"\n", "buffer_response");
  expect_refused("", "shadow_pool = \"ap\"\n", "there is no pool \"ap\"");
  expect_refused("", "shadow_percent = 3\n", "has no effect without shadow_pool");
  expect_refused("", "shadow_pool = \"app\"\nshadow_percent = 101\n", "shadow_percent");
  expect_refused("", "hedge_after = \"2s\"\nresponse_timeout = \"1s\"\n", "never be asked");
}

TEST(ForwardConfig, RefusesThemOnARouteThatForwardsNothing) {
  const auto c = read_pool_text(
      "version = 1\n[[listener]]\naddress = \"127.0.0.1:8080\"\ntls = false\n[[route]]\n"
      "status = 404\nretries = 1\n");
  ASSERT_FALSE(c.has_value());
  EXPECT_NE(c.error().message.find("edge.toml:7:"), std::string::npos) << c.error().message;
  EXPECT_NE(c.error().message.find("has no effect without pool"), std::string::npos)
      << c.error().message;
}

}  // namespace
}  // namespace pqedge::config
