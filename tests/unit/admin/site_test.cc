#include "admin/site.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/arena.h"

namespace pqedge::admin {
namespace {

class AdminSite : public ::testing::Test {
 protected:
  Answer ask(std::string_view method, std::string_view target, std::string_view host,
             Side side = Side::pages, http::Version version = http::Version::http11) {
    arena_.reset();
    http::Request request(arena_);
    request.version = version;
    request.method_text = method;
    request.method = http::parse_method(method);
    request.scheme = "http";
    request.authority = host;
    request.target = target;
    net::ConnectionFacts facts;
    facts.local = *net::Address::from_ip("192.0.2.10", 8081);
    return site_.respond(request, side, facts);
  }

  bool ready_ = true;
  bool reload_works_ = true;
  std::string called_;
  Hooks hooks() {
    return {.ready = [this] { return ready_; },
            .reload = [this]() -> Result<std::string> {
              called_ += "reload ";
              if (!reload_works_) return fail("edge.toml:1:1: version: is missing");
              return "reloaded";
            },
            .reload_certificates = []() -> Result<std::string> {
              return fail("certificates: 0 read anew; kept as they are:\nno");
            },
            .drain = [this] { called_ += "drain "; },
            .reopen_logs = [this] { called_ += "reopen "; },
            .status_json = [] { return std::string("{\"workers\":2}"); },
            .canaries_json = [] { return std::string("[]"); },
            .set_canary = [this](std::string route, std::string percent) -> Result<std::string> {
              called_ += route + "=" + percent + " ";
              if (route != "api") return fail("there is no route \"{}\" with a canary", route);
              return "done";
            }};
  }
  Arena arena_;
  Site site_{hooks(), {"Admin.Example.com"}};
};

TEST_F(AdminSite, HealthIsAlwaysGoodAndReadinessFollowsTheProgram) {
  EXPECT_EQ(ask("GET", "/healthz", "localhost:8081").status, 200);
  EXPECT_EQ(ask("GET", "/readyz", "localhost:8081").status, 200);
  ready_ = false;
  EXPECT_EQ(ask("GET", "/healthz", "localhost:8081").status, 200);
  EXPECT_EQ(ask("GET", "/readyz", "localhost:8081").status, 503);
}

TEST_F(AdminSite, MetricsAsTextAndAsJson) {
  const Answer text = ask("GET", "/metrics?x=1", "127.0.0.1:8081");
  EXPECT_EQ(text.status, 200);
  EXPECT_EQ(text.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(text.body.find("# TYPE process_open_fds gauge\n"), std::string::npos);
  const Answer json = ask("GET", "/metrics.json", "127.0.0.1:8081");
  EXPECT_EQ(json.content_type, "application/json");
  EXPECT_TRUE(nlohmann::json::accept(json.body));
}

TEST_F(AdminSite, TheIndexNamesEveryPage) {
  const Answer index = ask("GET", "/", "localhost");
  for (const char* page : {"/healthz", "/readyz", "/metrics", "/metrics.json"}) {
    EXPECT_NE(index.body.find(page), std::string::npos) << page;
  }
}

TEST_F(AdminSite, ThePagesAreReadOnly) {
  for (const char* method : {"POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "BREW"}) {
    const Answer a = ask(method, "/metrics", "localhost");
    EXPECT_EQ(a.status, 405) << method;
    EXPECT_EQ(a.allow, "GET");
  }
  for (const char* path : {"/reload", "/reload-certificates", "/drain", "/status", "/reopen-logs",
                           "/metrics/", "/x"}) {
    EXPECT_EQ(ask("POST", path, "localhost").status, 404) << path;
    EXPECT_EQ(ask("GET", path, "localhost").status, 404) << path;
  }
  EXPECT_EQ(called_, "");
}

// A page of an attacker reaches this machine by a name of his own (DNS rebinding).
TEST_F(AdminSite, OnlyHostsOfItsOwnAreAnswered) {
  for (const char* host : {"localhost", "localhost:8081", "LOCALHOST", "127.0.0.1", "127.5.5.5:1",
                           "[::1]", "[::1]:8081", "192.0.2.10:8081", "admin.example.com",
                           "ADMIN.example.com:443", "localhost."}) {
    EXPECT_EQ(ask("GET", "/healthz", host).status, 200) << host;
  }
  for (const char* host : {"evil.test", "localhost.evil.test", "127.0.0.1.evil.test", "192.0.2.11",
                           "[2001:db8::1]", "example.com", "xadmin.example.com"}) {
    EXPECT_EQ(ask("GET", "/healthz", host).status, 403) << host;
    EXPECT_EQ(ask("GET", "/metrics", host).status, 403) << host;
  }
  for (const char* host : {"", "a b", "user@localhost", "localhost:port"}) {
    EXPECT_EQ(ask("GET", "/healthz", host).status, 400) << host;
  }
}

TEST_F(AdminSite, HealthChecksInHttp10HaveNoHost) {
  EXPECT_EQ(ask("GET", "/healthz", "", Side::pages, http::Version::http10).status, 200);
  EXPECT_EQ(ask("GET", "/healthz", "evil.test", Side::pages, http::Version::http10).status, 403);
}

TEST_F(AdminSite, HostsChangeWithAReload) {
  site_.set_hosts({"New.test"});
  EXPECT_EQ(ask("GET", "/healthz", "new.test").status, 200);
  EXPECT_EQ(ask("GET", "/healthz", "admin.example.com").status, 403);
}

TEST_F(AdminSite, TheControlSideGivesOrders) {
  EXPECT_EQ(ask("GET", "/status", "x", Side::control).body, "{\"workers\":2}\n");
  EXPECT_EQ(ask("POST", "/reload", "x", Side::control).body, "reloaded\n");
  EXPECT_EQ(ask("POST", "/reopen-logs", "x", Side::control).status, 202);
  EXPECT_EQ(ask("POST", "/drain", "x", Side::control).status, 202);
  EXPECT_EQ(called_, "reload reopen drain ");
}

TEST_F(AdminSite, AReloadThatWasRefusedSaysWhy) {
  reload_works_ = false;
  const Answer a = ask("POST", "/reload", "localhost", Side::control);
  EXPECT_EQ(a.status, 422);
  EXPECT_EQ(a.body, "edge.toml:1:1: version: is missing\n");
}

TEST_F(AdminSite, OrdersNeedPostAndQuestionsNeedGet) {
  EXPECT_EQ(ask("POST", "/reload-certificates", "x", Side::control).status, 422);
  for (const char* path : {"/reload", "/reload-certificates", "/drain", "/reopen-logs"}) {
    const Answer a = ask("GET", path, "localhost", Side::control);
    EXPECT_EQ(a.status, 405) << path;
    EXPECT_EQ(a.allow, "POST");
  }
  EXPECT_EQ(ask("POST", "/status", "localhost", Side::control).status, 405);
  EXPECT_EQ(ask("GET", "/metrics", "localhost", Side::control).status, 404);
  EXPECT_EQ(called_, "");
}

TEST_F(AdminSite, CanariesAreSetOnTheControlSocketAlone) {
  EXPECT_EQ(ask("GET", "/canaries", "localhost", Side::control).body, "[]\n");
  EXPECT_EQ(ask("POST", "/canaries/api?percent=2.5", "localhost", Side::control).status, 200);
  EXPECT_EQ(ask("POST", "/canaries/api?percent=rollback", "localhost", Side::control).status, 200);
  EXPECT_EQ(ask("POST", "/canaries/no?percent=1", "localhost", Side::control).status, 422);
  EXPECT_EQ(called_, "api=2.5 api=rollback no=1 ");
  EXPECT_EQ(ask("POST", "/canaries/api", "localhost", Side::control).status, 400);
  EXPECT_EQ(ask("POST", "/canaries/api?percent=1&x=2", "localhost", Side::control).status, 400);
  EXPECT_EQ(ask("GET", "/canaries/api?percent=1", "localhost", Side::control).status, 405);
  EXPECT_EQ(ask("POST", "/canaries/api?percent=1", "localhost:8081").status, 404);
  EXPECT_EQ(called_, "api=2.5 api=rollback no=1 ");
}

}  // namespace
}  // namespace pqedge::admin
