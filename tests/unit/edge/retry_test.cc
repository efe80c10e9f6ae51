// Which requests go again, after what, and how many (R15, K33, K51).
#include "edge/retry.h"

#include <gtest/gtest.h>

#include "edge/target.h"

namespace pqedge::edge {
namespace {

using http::Abort;
using http::Method;

bool again(const RetryPolicy& policy, Fault fault, Method method, uint8_t begun = 1,
           uint8_t free = 0, uint16_t status = 0, size_t servers = 3) {
  return may_try_again(policy, fault, status, method, {.begun = begun, .free = free}, servers);
}

TEST(FaultOf, SaysWhatWasSurelyNotProcessed) {
  // REFUSED_STREAM, or a stream above the last one of GOAWAY (RFC 9113 8.7), though bytes went out.
  EXPECT_EQ(fault_of(Abort::refused, true, true, false), Fault::refused);
  // No byte of the request went out.
  EXPECT_EQ(fault_of(Abort::connection_lost, true, false, true), Fault::refused);
  // A kept connection that had died (RFC 9112 9.3.1): it may have been processed.
  EXPECT_EQ(fault_of(Abort::connection_lost, true, true, true), Fault::dead_connection);
  EXPECT_EQ(fault_of(Abort::connection_lost, false, true, true), Fault::reset);
  EXPECT_EQ(fault_of(Abort::connection_lost, false, true, false), Fault::reset);
  EXPECT_EQ(fault_of(Abort::timed_out, false, true, false), Fault::timeout);
  EXPECT_EQ(fault_of(Abort::protocol_error, false, true, false), Fault::invalid);
  EXPECT_EQ(fault_of(Abort::too_large, false, true, false), Fault::invalid);
}

TEST(MayTryAgain, AnyMethodWhereNothingWasProcessed) {
  const RetryPolicy policy;
  for (const Method m : {Method::get, Method::post, Method::patch}) {
    EXPECT_TRUE(again(policy, Fault::no_connection, m));
    EXPECT_TRUE(again(policy, Fault::refused, m, 1, 1));
  }
}

TEST(MayTryAgain, OnlyIdempotentMethodsWhereItMayHaveBeen) {
  RetryPolicy policy;
  policy.on.timeout = true;
  policy.on.statuses = {503};
  for (const Fault f : {Fault::reset, Fault::timeout, Fault::status}) {
    EXPECT_TRUE(again(policy, f, Method::get, 1, 0, 503));
    EXPECT_TRUE(again(policy, f, Method::put, 1, 0, 503));
    EXPECT_FALSE(again(policy, f, Method::post, 1, 0, 503));
  }
  EXPECT_TRUE(again(policy, Fault::dead_connection, Method::delete_, 1, 1));
  EXPECT_FALSE(again(policy, Fault::dead_connection, Method::post, 1, 1));
  policy.any_method = true;
  for (const Fault f : {Fault::reset, Fault::timeout, Fault::status}) {
    EXPECT_TRUE(again(policy, f, Method::post, 1, 0, 503));
  }
  EXPECT_TRUE(again(policy, Fault::dead_connection, Method::post, 1, 1));
}

TEST(MayTryAgain, CountsTries) {
  RetryPolicy policy;
  policy.retries = 2;
  EXPECT_TRUE(again(policy, Fault::reset, Method::get, 2));
  EXPECT_FALSE(again(policy, Fault::reset, Method::get, 3));
  // A dead connection before them took none away.
  EXPECT_TRUE(again(policy, Fault::reset, Method::get, 3, 1));
  policy.retries = 0;
  EXPECT_FALSE(again(policy, Fault::reset, Method::get));
  EXPECT_TRUE(again(policy, Fault::dead_connection, Method::get, 1, 1));
}

TEST(MayTryAgain, AsksOtherServersForAConnectionButNotForEver) {
  RetryPolicy policy;
  policy.retries = 0;
  EXPECT_TRUE(again(policy, Fault::no_connection, Method::post, 2, 0, 0, 3));
  EXPECT_FALSE(again(policy, Fault::no_connection, Method::post, 3, 0, 0, 3));
  EXPECT_FALSE(again(policy, Fault::no_connection, Method::post, 1, 0, 0, 1));
  EXPECT_TRUE(again(policy, Fault::no_connection, Method::post, 10, 0, 0, 1000));
  EXPECT_FALSE(again(policy, Fault::no_connection, Method::post, 11, 0, 0, 1000));
}

TEST(MayTryAgain, EndsWithAServerThatRefusesForEver) {
  const RetryPolicy policy;
  EXPECT_TRUE(again(policy, Fault::refused, Method::get, 4, 4));
  EXPECT_FALSE(again(policy, Fault::refused, Method::get, 5, 5));
  EXPECT_FALSE(again(policy, Fault::dead_connection, Method::get, 5, 5));
}

TEST(MayTryAgain, OnlyAfterWhatIsNamed) {
  RetryPolicy policy;
  EXPECT_FALSE(again(policy, Fault::timeout, Method::get));
  EXPECT_FALSE(again(policy, Fault::status, Method::get, 1, 0, 503));
  policy.on = {.connect = false, .refused = false, .reset = false, .server_error = true};
  EXPECT_FALSE(again(policy, Fault::no_connection, Method::get));
  EXPECT_FALSE(again(policy, Fault::refused, Method::get, 1, 1));
  EXPECT_FALSE(again(policy, Fault::reset, Method::get));
  EXPECT_TRUE(again(policy, Fault::status, Method::get, 1, 0, 500));
  EXPECT_TRUE(again(policy, Fault::status, Method::get, 1, 0, 599));
  EXPECT_FALSE(again(policy, Fault::status, Method::get, 1, 0, 499));
  EXPECT_FALSE(again(policy, Fault::invalid, Method::get));
}

TEST(Backoff, DoublesUpToItsMostAndIsDrawn) {
  RetryPolicy policy;
  policy.backoff = 100;
  policy.backoff_max = 500;
  for (int i = 0; i < 200; ++i) {
    const Nanos first = backoff(policy, 1);
    EXPECT_GE(first, 50u);
    EXPECT_LE(first, 100u);
    EXPECT_GE(backoff(policy, 2), 100u);
    EXPECT_LE(backoff(policy, 2), 200u);
    EXPECT_LE(backoff(policy, 200), 500u);
  }
  policy.backoff = 0;
  EXPECT_EQ(backoff(policy, 3), 0u);
}

TEST(RetryBudget, IsAShareOfTheRequestsAndAFloor) {
  RetryBudget budget(20, 1, 1);  // and ten in ten seconds
  const Nanos now = 1000 * kSecond;
  for (int i = 0; i < 100; ++i) budget.note_request(now);
  int taken = 0;
  while (budget.take(now)) ++taken;
  EXPECT_EQ(taken, 30);
  // Requests and retries of ten seconds ago count no more.
  EXPECT_FALSE(budget.take(now + 9 * kSecond));
  taken = 0;
  while (budget.take(now + 10 * kSecond)) ++taken;
  EXPECT_EQ(taken, 10);
}

TEST(RetryBudget, SharesItsFloorOutToTheWorkers) {
  RetryBudget one_of_four(0, 4, 4);
  int taken = 0;
  while (one_of_four.take(5 * kSecond)) ++taken;
  EXPECT_EQ(taken, 10);
  RetryBudget none(0, 0, 4);
  EXPECT_FALSE(none.take(5 * kSecond));
}

TEST(Target, TheRouteGoesBeforeThePool) {
  upstream::PoolSettings pool;
  pool.response_timeout = 7 * kSecond;
  pool.read_timeout = 8 * kSecond;
  pool.request_timeout = 9 * kSecond;
  pool.retries = 3;
  pool.retry.any_method = true;
  pool.retry.backoff = 100 * kMillisecond;
  route::ForwardSettings route;
  Target t = make_target(4, pool, route);
  EXPECT_EQ(t.pool, 4u);
  EXPECT_EQ(t.response_timeout, 7 * kSecond);
  EXPECT_EQ(t.request_timeout, 9 * kSecond);
  EXPECT_EQ(t.retry.retries, 3u);
  EXPECT_TRUE(t.retry.any_method);
  EXPECT_EQ(t.retry.backoff_max, kSecond);

  route.response_timeout = kSecond;
  route.request_timeout = 0;
  route.retries = 0;
  route.retry.any_method = false;
  route.retry.on = http::RetryConditions{.timeout = true};
  route.buffer_request = 1024 * 1024;
  t = make_target(4, pool, route);
  EXPECT_EQ(t.response_timeout, kSecond);
  EXPECT_EQ(t.read_timeout, 8 * kSecond);
  EXPECT_EQ(t.request_timeout, 0u);
  EXPECT_EQ(t.retry.retries, 0u);
  EXPECT_FALSE(t.retry.any_method);
  EXPECT_TRUE(t.retry.on.timeout);
  EXPECT_EQ(t.retry.keep_body, 1024u * 1024);  // what was gathered can be sent again
}

}  // namespace
}  // namespace pqedge::edge
