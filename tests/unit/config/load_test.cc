#include "config/load.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <format>
#include <fstream>
#include <iterator>

#include "edge/validate.h"

namespace pqedge::config {
namespace {

// The least that is complete; line 1 of what follows is line 10 of the file.
constexpr std::string_view kFileHead = R"(version = 1
[[listener]]
address = "127.0.0.1:8080"
tls = false
[[pool]]
name = "app"
servers = ["127.0.0.1:9000"]
[[route]]
pool = "app"
)";

Result<Configuration> read(std::string_view toml) {
  return parse(toml, "edge.toml", "/etc/pqedge", Checks::text);
}

Configuration good(std::string_view toml) {
  auto c = read(toml);
  EXPECT_TRUE(c.has_value()) << (c ? "" : c.error().message);
  return c ? std::move(*c) : Configuration{};
}

std::string refused(std::string_view toml) {
  const auto c = read(toml);
  EXPECT_FALSE(c.has_value()) << toml;
  return c ? "" : c.error().message;
}

std::string with(std::string_view more) { return std::string(kFileHead) + std::string(more); }

void expect_line(std::string_view message, std::string_view line) {
  EXPECT_NE(("\n" + std::string(message) + "\n").find("\n" + std::string(line) + "\n"),
            std::string::npos)
      << "wanted: " << line << "\ngot:    " << message;
}

TEST(Config, TheLeastConfigurationHasTheDefaults) {
  const Configuration c = good(kFileHead);
  EXPECT_TRUE(c.warnings.empty());
  ASSERT_EQ(c.edge.listeners.size(), 1u);
  const auto& l = c.edge.listeners[0];
  EXPECT_EQ(l.name, "listener-1");
  EXPECT_EQ(l.addresses.at(0).to_string(), "127.0.0.1:8080");
  EXPECT_TRUE(l.http1);
  EXPECT_FALSE(l.http2) << "HTTP/2 needs TLS, so it is not a default without";
  EXPECT_FALSE(l.http3);
  EXPECT_EQ(c.edge.routes.at(0).name, "route-1");
  EXPECT_EQ(c.edge.pools.at(0).balance, upstream::Balance::least_connections);
  EXPECT_EQ(c.edge.limits.max_fields, http::Limits{}.max_fields);
  EXPECT_EQ(c.edge.drain_timeout, 30 * kSecond);
  EXPECT_TRUE(c.admin.listen.empty());
}

TEST(Config, ReadsEveryKeyIntoItsSetting) {
  const Configuration c = good(example_config());
  const edge::Settings& e = c.edge;
  ASSERT_GE(e.listeners.size(), 2u);
  EXPECT_EQ(e.listeners[0].name, "https");
  EXPECT_EQ(e.listeners[0].addresses.size(), 2u);
  EXPECT_TRUE(e.listeners[0].http3 && e.listeners[0].v6_only);
  EXPECT_TRUE(e.listeners[1].redirect_to_https);
  EXPECT_EQ(e.listeners[1].redirect_port, 443);
  EXPECT_EQ(e.tls.groups, std::vector<std::string>{"compatible"});
  EXPECT_EQ(e.tls.ciphers.size(), 3u);
  EXPECT_EQ(e.tls.signature_algorithms.size(), 2u);
  EXPECT_EQ(e.tls.ticket_lifetime, 7200 * kSecond);
  ASSERT_EQ(e.tls.certificates.size(), 2u);
  EXPECT_EQ(e.tls.certificates[0].chain_file, "/etc/pqedge/certificates/www.example.com.pem");
  EXPECT_TRUE(e.tls.certificates[0].is_default);
  ASSERT_GE(e.pools.size(), 2u);
  EXPECT_EQ(e.pools[0].balance, upstream::Balance::least_connections);
  ASSERT_EQ(e.pools[0].servers.size(), 3u);
  EXPECT_EQ(e.pools[0].servers[2].name, "unix:/run/app.sock");
  EXPECT_TRUE(e.pools[0].servers[2].address.is_unix());
  EXPECT_EQ(e.pools[0].servers[1].weight, 2u);
  EXPECT_EQ(e.pools[0].servers[1].id, "b");
  EXPECT_EQ(e.pools[0].servers[2].priority, 1u);
  const auto named = [&e](std::string_view name) -> const route::RouteSettings& {
    static const route::RouteSettings none;
    const auto it = std::ranges::find(e.routes, name, &route::RouteSettings::name);
    return it == e.routes.end() ? none : *it;
  };
  EXPECT_EQ(named("uploads").max_body, uint64_t{1} << 30);
  EXPECT_EQ(named("uploads").max_head, 32u * 1024);
  EXPECT_EQ(named("uploads").encoded_slash, http::EncodedSlash::refuse);
  EXPECT_EQ(named("robots").path, "/robots.txt");
  EXPECT_EQ(named("robots").answer_status, 200);
  EXPECT_EQ(named("robots").answer_type, "text/plain; charset=utf-8");
  EXPECT_TRUE(named("old").redirect_https);
  EXPECT_EQ(named("moved").redirect.to, "https://shop.example.com${rest}");
  EXPECT_EQ(named("moved").redirect.status, 301);
  const route::RouteSettings& api = named("api");
  EXPECT_EQ(api.rewrite.strip_prefix, "/api");
  EXPECT_EQ(api.rewrite.host, "app.internal");
  ASSERT_EQ(api.header_rules.request.size(), 3u);
  EXPECT_EQ(api.header_rules.request[0].value, "${group}");
  EXPECT_EQ(api.header_rules.request[1].kind, route::HeaderRule::Kind::add);
  EXPECT_EQ(api.header_rules.request[2].name, "X-Internal-*");
  EXPECT_EQ(api.header_rules.response.size(), 2u);
  EXPECT_FALSE(api.spelling.words);
  EXPECT_EQ(api.spelling.names, std::vector<std::string>{"SOAPAction"});
  EXPECT_EQ(api.canary.share, 500u);
  EXPECT_EQ(api.canary.sticky_cookie, "side");
  EXPECT_EQ(api.canary.override_header, "X-Canary");
  EXPECT_EQ(api.canary.rollback_errors, 1000u);
  EXPECT_EQ(e.header_rules.response.at(0).value, "nosniff");
  ASSERT_EQ(e.error_pages.size(), 1u);
  EXPECT_EQ(e.error_pages[0].statuses.size(), 3u);
  EXPECT_EQ(e.error_pages[0].routes, std::vector<std::string>{"api"});
  EXPECT_EQ(e.identity.protected_fields, std::vector<std::string>{"X-Authenticated-User"});
  EXPECT_EQ(e.limits.max_body, uint64_t{10} << 30);
  EXPECT_EQ(e.limits.linger_timeout, 5 * kSecond);
  EXPECT_EQ(e.identity.trusted_proxies.size(), 2u);
  EXPECT_EQ(e.logs.access_file, "/var/log/pqedge/access.log");
  EXPECT_EQ(e.logs.queue, 8192u);
  EXPECT_EQ(c.admin.listen.at(0).to_string(), "127.0.0.1:8081");
  EXPECT_EQ(c.admin.hosts, std::vector<std::string>{"admin.example.com"});
  EXPECT_EQ(c.admin.control_socket, "/run/pqedge/control.sock");
  EXPECT_EQ(e.quic.retry, quic::Settings::Retry::under_load);
  EXPECT_EQ(e.quic.receive_buffer, 4 * 1024 * 1024);
  EXPECT_TRUE(c.warnings.empty());
}

TEST(Config, ValuesOtherThanTheDefaultsArrive) {
  const Configuration c = good(with(R"(
[server]
workers = 3
max_connections = 5
drain_timeout = "1m"
drain_linger = "0s"
[tls]
min_version = "1.2"
groups = ["X25519MLKEM768", "X25519"]
session_tickets = false
handshake_timeout = "1500ms"
[limits]
max_target = 1000
max_head = "2KiB"
body_window = "64KiB"
connection_window = "128KiB"
[timeouts]
header = "1s"
idle = "2s"
body = "3s"
send = "4s"
linger = "0s"
[identity]
trusted_proxies = "10.0.0.0/8"
forwarded = false
x_forwarded = false
via = "edge-1"
[logging]
access = "-"
error = ""
level = "debug"
queue = 100
[quic]
retry = "always"
retry_above = 5
active_migration = false
stream_window = "32KiB"
stream_window_max = "1MB"
gso = false
gro = false
congestion_control = "bbr"
receive_buffer = "1MiB"
[debug]
client = "192.0.2.7"
keylog_file = "keys.log"
qlog_dir = "/tmp"
)"));
  const edge::Settings& e = c.edge;
  EXPECT_EQ(e.workers, 3u);
  EXPECT_EQ(e.max_connections, 5u);
  EXPECT_EQ(e.drain_timeout, 60 * kSecond);
  EXPECT_EQ(e.drain_linger, 0u);
  EXPECT_EQ(e.tls.min_version, "1.2");
  EXPECT_EQ(e.tls.groups, (std::vector<std::string>{"X25519MLKEM768", "X25519"}));
  EXPECT_FALSE(e.tls.session_tickets);
  EXPECT_EQ(e.tls.handshake_timeout, 1500 * kMillisecond);
  EXPECT_EQ(e.limits.max_target, 1000u);
  EXPECT_EQ(e.limits.max_head, 2048u);
  EXPECT_EQ(e.limits.body_window, 65536u);
  EXPECT_EQ(e.limits.header_timeout, kSecond);
  EXPECT_EQ(e.limits.idle_timeout, 2 * kSecond);
  EXPECT_EQ(e.limits.body_timeout, 3 * kSecond);
  EXPECT_EQ(e.limits.send_timeout, 4 * kSecond);
  EXPECT_EQ(e.limits.linger_timeout, 0u);
  ASSERT_EQ(e.identity.trusted_proxies.size(), 1u);
  EXPECT_FALSE(e.identity.forwarded || e.identity.x_forwarded);
  EXPECT_EQ(e.identity.via, "edge-1");
  EXPECT_EQ(e.logs.access_file, "-");
  EXPECT_EQ(e.logs.error_file, "");
  EXPECT_EQ(e.logs.level, log::Level::debug);
  EXPECT_EQ(e.quic.retry, quic::Settings::Retry::always);
  EXPECT_FALSE(e.quic.active_migration || e.quic.gso || e.quic.gro);
  EXPECT_EQ(e.quic.stream_window_max, 1'000'000u);
  EXPECT_EQ(e.quic.congestion_control, "bbr");
  EXPECT_EQ(e.debug.client, "192.0.2.7");
  EXPECT_EQ(e.debug.keylog_file, "/etc/pqedge/keys.log");
  ASSERT_EQ(c.warnings.size(), 1u);
  EXPECT_TRUE(c.warnings[0].starts_with("edge.toml:54:1: debug.keylog_file: ")) << c.warnings[0];
}

TEST(Config, ASyntaxErrorHasItsLine) {
  EXPECT_TRUE(refused("version = 1\nx = = 2\n").starts_with("edge.toml:2:"));
  EXPECT_NE(refused("version = 1\nversion = 2\n").find("edge.toml:2:"), std::string::npos);
}

TEST(Config, TheVersionIsRequiredAndKnown) {
  EXPECT_NE(refused("").find("version: is missing; write version = 1"), std::string::npos);
  const std::string two = refused("version = 2\n");
  expect_line(two.substr(0, two.find("program;")) + "program",
              "edge.toml:1:1: version: 2 is not known to this program");
}

TEST(Config, UnknownKeysAreRefusedWithTheClosestKnownOne) {
  const std::string m = refused(with("prefx = \"/\"\npath_prefx = \"/a\"\n[limit]\nxyz = 1\n"));
  expect_line(m,
              "edge.toml:11:1: route[0].path_prefx: is not a key; did you mean \"path_prefix\"?");
  expect_line(m, "edge.toml:12:2: limit: is not a key; did you mean \"limits\"?");
  EXPECT_NE(m.find("edge.toml:10:1: route[0].prefx: is not a key"), std::string::npos);
}

TEST(Config, WrongTypesAreNamed) {
  const std::string m = refused(R"(version = "1"
[server]
workers = 1.5
drain_timeout = 30
drain_linger = "soon"
[[listener]]
address = 443
tls = "yes"
[pool]
[[route]]
pool = 1979-05-27
max_body = "10 apples"
[limits]
max_fields = -1
max_head = 99999999999
)");
  expect_line(m, "edge.toml:1:1: version: is a string, not an integer");
  expect_line(m, "edge.toml:3:1: server.workers: is a number with a fraction, not an integer");
  expect_line(m, "edge.toml:4:1: server.drain_timeout: has no unit; write \"30s\"");
  EXPECT_NE(m.find("edge.toml:5:1: server.drain_linger: \"soon\" is not a duration"),
            std::string::npos);
  expect_line(m, "edge.toml:7:1: listener[0].address: is an integer, not a string");
  expect_line(m, "edge.toml:8:1: listener[0].tls: is a string, not a boolean");
  EXPECT_NE(m.find("edge.toml:9:2: pool: is a table, not an array of tables, [[pool]]"),
            std::string::npos);
  expect_line(m, "edge.toml:11:1: route[0].pool: is a date or time, not a string");
  EXPECT_NE(m.find("edge.toml:12:1: route[0].max_body: \"10 apples\" is not a size"),
            std::string::npos);
  expect_line(m,
              "edge.toml:14:1: limits.max_fields: -1 is out of range; it may be 0 to 4294967295");
}

TEST(Config, ARouteThatCannotBeReachedNamesBothLines) {
  const std::string m = refused(with("[[route]]\nname = \"late\"\npool = \"app\"\n"));
  expect_line(
      m,
      "edge.toml:10:1: route[1]: can never be reached: every request it would match is "
      "taken by the earlier route \"route-1\" (line 8); remove one of the two, or give them "
      "different hosts or paths");
}

TEST(Config, AKeyOfAWrongTypeIsToldOnce) {
  const auto lines = [](const std::string& message) {
    return 1 + std::ranges::count(message, '\n');
  };
  for (const char* route :
       {"path = 5", "hosts = 5", "hosts = [5]", "pool = false", "path_regex = 1.5", "rewrite = 5",
        "client_networks = [true]", "headers = [{ name = 5, value = \"x\" }]",
        "headers = [{ name = \"x\", value = 5 }]", "redirect = { to = 5 }",
        "early_hints = [1, \"</a.css>; rel=preload\"]", "canary = 5"}) {
    const std::string m = refused(with(std::string("[[route]]\n") + route + "\n"));
    EXPECT_EQ(lines(m), 1) << m;
  }
  for (const char* pool : {"hash_by = 5", "affinity = 5", "max_requests = \"5\""}) {
    const std::string m = refused(
        with(std::string("[[pool]]\nname = \"b\"\nservers = \"127.0.0.1:1\"\n") + pool + "\n"));
    EXPECT_EQ(lines(m), 1) << m;
  }
}

TEST(Config, APoolThatIsNotThereIsSuggested) {
  expect_line(
      refused(with("[[route]]\npath = \"/x\"\npool = \"web\"\n")),
      "edge.toml:12:1: route[1].pool: there is no pool \"web\"; write a [[pool]] with name = "
      "\"web\"");
  expect_line(refused(with("[[route]]\npath = \"/x\"\npool = \"apps\"\n")),
              "edge.toml:12:1: route[1].pool: there is no pool \"apps\"; did you mean \"app\"?");
}

TEST(Config, AnUnusedPoolIsAWarning) {
  const Configuration c = good(with("[[pool]]\nname = \"spare\"\nservers = \"127.0.0.1:1\"\n"));
  ASSERT_EQ(c.warnings.size(), 1u);
  EXPECT_EQ(c.warnings[0], "edge.toml:10:1: pool[1]: \"spare\" is used by no route");
}

TEST(Config, TheSameAddressTwiceIsRefused) {
  expect_line(refused(with("[[listener]]\naddress = \"127.0.0.1:8080\"\ntls = false\n")),
              "edge.toml:11:1: listener[1].address: 127.0.0.1:8080 is there twice (line 3)");
  expect_line(
      refused(with("[[listener]]\ntls = false\naddress = [\n \"[::]:80\",\n \"0.0.0.0:80\" ]\n")),
      "edge.toml:14:2: listener[1].address[1]: 0.0.0.0:80 is covered by another address of that "
      "port (line 13); \"[::]\" takes IPv4 too: set v6_only = true, or keep one");
  good(
      with("[[listener]]\ntls = false\nv6_only = true\naddress = [\"[::]:80\", \"0.0.0.0:80\"]\n"));
  EXPECT_NE(refused(with("[admin]\nlisten = \"127.0.0.1:8080\"\n")).find("admin.listen"),
            std::string::npos);
}

TEST(Config, NamesAreUnique) {
  const std::string m = refused(
      with("[[pool]]\nname = \"app\"\nservers = \"127.0.0.1:1\"\n[[route]]\nname = \"route-1\"\n"
           "path = \"/\"\npool = \"app\"\n[[listener]]\nname = \"listener-1\"\ntls = false\n"
           "address = \"127.0.0.1:81\"\n"));
  expect_line(m, "edge.toml:11:1: pool[1].name: \"app\" is the name of another pool (line 5)");
  expect_line(m,
              "edge.toml:14:1: route[1].name: \"route-1\" is the name of another route (line 8)");
  EXPECT_NE(m.find("listener[1].name: \"listener-1\" is the name of another listener (line 2)"),
            std::string::npos);
}

TEST(Config, ListenersMakeSense) {
  const auto listener = [](std::string_view lines) {
    return refused(with("[[listener]]\naddress = \"127.0.0.1:81\"\n" + std::string(lines)));
  };
  EXPECT_NE(listener("tls = false\nprotocols = [\"h2\"]").find("\"h2\" needs tls = true"),
            std::string::npos);
  EXPECT_NE(listener("tls = false\nprotocols = [\"h3\"]").find("\"h3\" needs tls = true"),
            std::string::npos);
  EXPECT_NE(listener("tls = true").find("there is no certificate"), std::string::npos);
  EXPECT_NE(listener("tls = false\nprotocols = []").find("protocols: is empty"), std::string::npos);
  EXPECT_NE(listener("tls = false\nprotocols = \"http/2\"").find("did you mean"),
            std::string::npos);
  EXPECT_NE(listener("tls = false\nredirect_port = 8443").find("has no effect without redirect"),
            std::string::npos);
  EXPECT_NE(listener("tls = false\nv6_only = true").find("v6_only: has no effect"),
            std::string::npos);
  const std::string tls =
      "[[certificate]]\nchain = \"a\"\nkey = \"b\"\n[[listener]]\naddress = \"127.0.0.1:82\"\n";
  EXPECT_NE(refused(with(tls + "redirect_to_https = true")).find("makes no sense with tls"),
            std::string::npos);
  EXPECT_NE(refused(with(tls + "protocols = \"h3\"")).find("has \"h3\" alone"), std::string::npos);
  good(with(tls + "protocols = [\"h2\", \"h3\"]"));
  EXPECT_NE(refused(with("[[listener]]\ntls = false\naddress = \":0\"")).find("port 0"),
            std::string::npos);
  EXPECT_NE(refused("version = 1\n").find("listener: is missing"), std::string::npos);
}

TEST(Config, AUnixSocketHasNoHttp3) {
  const std::string base =
      "[[certificate]]\nchain = \"a\"\nkey = \"b\"\n[[listener]]\naddress = \"unix:/run/e.sock\"\n";
  EXPECT_FALSE(good(with(base)).edge.listeners[1].http3) << "not a default there";
  EXPECT_NE(refused(with(base + "protocols = [\"h2\", \"h3\"]")).find("needs UDP"),
            std::string::npos);
}

TEST(Config, AdminDebugAndIdentityMakeSense) {
  EXPECT_NE(refused(with("[admin]\nlisten = \"unix:/run/a\"")).find("control_socket"),
            std::string::npos);
  EXPECT_NE(refused(with("[admin]\nhosts = \"x.test\"")).find("has no effect without listen"),
            std::string::npos);
  EXPECT_EQ(good(with("[admin]\nlisten = \"0.0.0.0:9\"")).warnings.size(), 1u);
  EXPECT_NE(refused(with("[debug]\nqlog_dir = \"/tmp\"")).find("debug.client: is missing"),
            std::string::npos);
  EXPECT_NE(refused(with("[debug]\nclient = \"192.0.2.1\"")).find("has no effect without"),
            std::string::npos);
  EXPECT_NE(refused(with("[debug]\nclient = \"x\"\nqlog_dir = \"/tmp\"")).find("not an IP address"),
            std::string::npos);
  EXPECT_NE(refused(with("[identity]\ntrusted_proxies = [\"10.0.0.0/8\", \"10.0.0.0/33\"]"))
                .find("edge.toml:11:34: identity.trusted_proxies[1]:"),
            std::string::npos);
  EXPECT_NE(refused(with("[identity]\nvia = \"a b\"")).find("identity.via"), std::string::npos);
}

TEST(Config, RangesAreSaidWithTheirUnits) {
  const std::string m = refused(with(
      "[limits]\nbody_window = 1\nconnection_window = \"1KiB\"\n[quic]\nidle_timeout = \"2d\"\n"
      "stream_window = \"2MiB\"\nstream_window_max = \"1MiB\"\n[logging]\nqueue = 1\n"));
  expect_line(m, "edge.toml:11:1: limits.body_window: 1 is too small; the least is 64KiB");
  expect_line(m, "edge.toml:14:1: quic.idle_timeout: 2d is too large; the most is 1h");
  expect_line(m, "edge.toml:16:1: quic.stream_window_max: 1MiB is too small; the least is 2MiB");
  expect_line(m, "edge.toml:18:1: logging.queue: 1 is too small; the least is 64");
}

TEST(Config, AllProblemsAreToldInTheOrderOfTheFileButAtMostTwenty) {
  std::string toml(kFileHead);
  for (int i = 0; i < 50; ++i) toml += std::format("unknown{} = 1\n", i);
  const std::string m = refused(toml);
  EXPECT_EQ(std::count(m.begin(), m.end(), '\n'), 20);
  EXPECT_TRUE(m.starts_with("edge.toml:10:1: route[0].unknown0: is not a key\n")) << m;
  EXPECT_TRUE(m.ends_with("\nedge.toml: and 30 more")) << m;
}

TEST(Config, AProblemIsOneLineWhateverTheFileHolds) {
  const std::string m = refused(with("\"a\\nb\\u001b\" = 1\n"));
  EXPECT_EQ(m, "edge.toml:10:1: route[0].a\\x0ab\\x1b: is not a key");
}

TEST(Config, WhatFollowsFromAProblemIsNotSaidAgain) {
  const std::string m = refused(R"(version = 1
[[listener]]
address = "127.0.0.1"
tls = false
[[pool]]
name = 7
servers = ["127.0.0.1:9000"]
[[route]]
pool = "app"
)");
  EXPECT_EQ(std::count(m.begin(), m.end(), '\n'), 1) << m;
  EXPECT_TRUE(m.starts_with("edge.toml:3:1: listener[0].address: ")) << m;
  EXPECT_NE(m.find("edge.toml:6:1: pool[0].name: is an integer"), std::string::npos) << m;
}

TEST(Config, PositionsAreKeptForLaterMessages) {
  const Configuration c = good(with("[admin]\nlisten = [\"127.0.0.1:8081\"]\n"));
  EXPECT_EQ(c.position("listener[0].address"), "edge.toml:3:1");
  EXPECT_EQ(c.position("listener[0].address[0]"), "edge.toml:3:1");
  EXPECT_EQ(c.position("listener[0].v6_only"), "edge.toml:2:1");
  EXPECT_EQ(c.position("admin.listen[0]"), "edge.toml:11:11");
  EXPECT_EQ(c.position("quic.gso"), "edge.toml");
}

TEST(Config, EmptyTextsAreRefusedWhereTheyMeanNothing) {
  const std::string m = refused(with("[[route]]\nhosts = []\npath = \"\"\npool = \"\"\n"));
  EXPECT_NE(m.find("route[1].hosts: is empty"), std::string::npos);
  EXPECT_NE(m.find("route[1].path: is empty"), std::string::npos);
  EXPECT_NE(m.find("route[1].pool: is empty"), std::string::npos);
}

TEST(Config, WhatRoutesChangeIsReadStrictly) {
  const std::string m = refused(with(R"(
[[route]]
name = "a"
path = "/a"
pool = "app"
request_headers = [{ set = "X-A" }, { add = "X-B", remove = "X-C" }, { value = "x" },
  { remove = "X-D", value = "x" }]
canary = { pool = "app", percent = 101, rollback_window = "1m", cookie_lifetime = "1h" }
max_head = 0
[[error_page]]
status = [404, "6xx", 200]
body = "x"
routes = ["none"]
)"));
  for (const char* expected : {"route[1].request_headers[0].value: is missing",
                               "route[1].request_headers[1].remove: is there beside add",
                               "route[1].request_headers[2].set: is missing",
                               "route[1].request_headers[3].value: has no effect",
                               "route[1].canary.percent: is no percentage",
                               "route[1].canary.rollback_window: has no effect",
                               "route[1].canary.cookie_lifetime: has no effect",
                               "route[1].canary.pool: \"app\" is the pool of the route itself",
                               "route[1].max_head: is 0", "error_page[0].status[1]: is no status",
                               "error_page[0].status[2]: 200 is no status of an error",
                               "error_page[0].routes[0]: there is no route \"none\""}) {
    EXPECT_NE(m.find(expected), std::string::npos) << expected << "\n" << m;
  }
}

TEST(Config, TheExampleIsTheDocumentedFile) {
  std::ifstream in(std::string(::getenv("PQEDGE_SRC") != nullptr ? ::getenv("PQEDGE_SRC") : ".") +
                   "/docs/examples/complete.toml");
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(file, example_config());
}

TEST(Config, TheExampleShowsEveryKey) {
  // Those of [debug] stand there as comments.
  const std::string example(example_config());
  for (const std::string& key : known_keys()) {
    const std::string name = key.substr(key.rfind('.') + 1);
    const bool shown = example.find("\n" + name + " = ") != std::string::npos ||
                       example.find("\n# " + name + " = ") != std::string::npos ||
                       example.find("[" + name + "]") != std::string::npos ||
                       example.find("." + name + "]") != std::string::npos ||
                       example.find("{ " + name + " = ") != std::string::npos ||
                       example.find(", " + name + " = ") != std::string::npos;
    EXPECT_TRUE(shown) << key;
  }
}

TEST(Config, TheEmbeddedDefaultIsValid) {
  const Configuration c = default_configuration(9000);
  for (const Problem& p : edge::validate(c.edge)) ADD_FAILURE() << p.key << ": " << p.what;
  EXPECT_EQ(c.edge.source, "the embedded default");
  ASSERT_EQ(c.edge.listeners.size(), 2u);
  EXPECT_EQ(c.edge.listeners[0].addresses.at(0).to_string(), "127.0.0.1:8443");
  EXPECT_TRUE(c.edge.listeners[0].http1 && c.edge.listeners[0].http2 && c.edge.listeners[0].http3);
  EXPECT_TRUE(c.edge.listeners[1].redirect_to_https);
  EXPECT_EQ(c.edge.listeners[1].redirect_port, 8443);
  EXPECT_EQ(c.edge.pools.at(0).servers.at(0).name, "127.0.0.1:9000");
  EXPECT_TRUE(c.edge.tls.certificates.empty());
  EXPECT_EQ(c.admin.listen.at(0).to_string(), "127.0.0.1:8081");
  for (const auto& l : c.edge.listeners) {
    for (const auto& a : l.addresses) EXPECT_TRUE(a.is_loopback());
  }
}

}  // namespace
}  // namespace pqedge::config
