// Requests and answers: what crosses, in which form, and what is refused.
#include <gtest/gtest.h>

#include "http2_client.h"

namespace pqedge::http2::test {
namespace {

using http::BodyKind;
using http::Method;
using http::Name;

// A raw request on stream 1 with END_STREAM; what became of it.
struct RawRequest {
  explicit RawRequest(const std::string& block, const http::Limits& limits = {}) : server(limits) {
    server.start();
    server.receive(client_preface() +
                   frame(FrameType::headers, flag::kEndHeaders | flag::kEndStream, 1, block));
    frames = server.frames();
  }
  // The stream was reset with PROTOCOL_ERROR and no request was told (RFC 9113 8.1.1).
  bool malformed() const {
    for (const auto& e : server.exchanges) {
      if (e->head || e->bad_status != 0 || e->reset != http::Abort::protocol_error) return false;
    }
    for (const ParsedFrame& f : frames) {
      if (f.head.type == FrameType::rst_stream) return f.error() == ErrorCode::protocol_error;
    }
    return false;
  }
  uint16_t refused() const {
    return server.exchanges.empty() ? 0 : server.exchanges.front()->bad_status;
  }
  bool accepted() const { return !server.exchanges.empty() && server.exchanges.front()->head; }

  Server server;
  std::vector<ParsedFrame> frames;
};

TEST(Http2Settings, WhatIsOffered) {  // RFC 9113 6.5.2, RFC 9218 2.1
  Server server;
  server.start();
  const auto frames = server.frames();
  ASSERT_GE(frames.size(), 2u);
  ASSERT_EQ(frames[0].head.type, FrameType::settings);
  std::map<uint16_t, uint32_t> settings;
  for (size_t at = 0; at + 6 <= frames[0].payload.size(); at += 6) {
    const auto* p = reinterpret_cast<const uint8_t*>(frames[0].payload.data()) + at;
    settings[load_be16(p)] = load_be32(p + 2);
  }
  EXPECT_EQ(settings,
            (std::map<uint16_t, uint32_t>{{3, 128}, {4, 256 * 1024}, {6, 64 * 1024}, {9, 1}}));
  // The connection's window: 65535 to begin with (RFC 9113 6.9.2).
  EXPECT_EQ(frames[1].head.type, FrameType::window_update);
  EXPECT_EQ(frames[1].payload, be32(1024 * 1024 - 65535));
}

TEST(Http2Request, Get) {
  Server server;
  server.start();
  Client client(server);
  client.settings();
  const auto id = client.get(
      "/a%20b?x=1",
      {{"user-agent", "test"}, {"x-custom", "v"}, {"accept", "*/*"}, {"te", "trailers"}});
  client.exchange();
  ASSERT_EQ(server.exchanges.size(), 1u);
  http::Request& r = server.exchange(0).request();
  EXPECT_EQ(r.version, http::Version::http2);
  EXPECT_EQ(r.method, Method::get);
  EXPECT_EQ(r.method_text, "GET");
  EXPECT_EQ(r.scheme, "https");
  EXPECT_EQ(r.authority, "a.test");
  EXPECT_EQ(r.target, "/a%20b?x=1");
  EXPECT_EQ(r.body, BodyKind::none);
  EXPECT_EQ(r.fields.get(Name::user_agent), "test");
  EXPECT_EQ(r.fields.find("x-custom")->value, "v");
  EXPECT_TRUE(server.exchange(0).head_end);
  EXPECT_TRUE(server.exchange(0).finished);
  EXPECT_EQ(client.answer(id).status, "200");
  EXPECT_TRUE(client.answer(id).ended);
}

TEST(Http2Request, BodyAndTrailers) {  // RFC 9113 8.1
  Server server;
  server.start();
  Client client(server);
  client.settings();
  const std::string body(100'000, 'b');
  const auto id = client.post(body, {{"trailer", "x-sum"}}, {{"x-sum", "42"}});
  client.exchange();
  Exchange& e = server.exchange(0);
  EXPECT_EQ(e.request().body, BodyKind::stream);
  EXPECT_FALSE(e.head_end);
  EXPECT_EQ(e.body, body);
  EXPECT_TRUE(e.ended);
  ASSERT_NE(e.request().trailers.find("x-sum"), nullptr);
  EXPECT_EQ(e.request().trailers.find("x-sum")->value, "42");
  EXPECT_TRUE(e.finished);
  EXPECT_EQ(client.answer(id).status, "200");
}

TEST(Http2Request, ContentLength) {
  Server server;
  server.start();
  Client client(server);
  client.settings();
  client.post("hello", {{"content-length", "5"}});
  client.exchange();
  EXPECT_EQ(server.exchange(0).request().body, BodyKind::length);
  EXPECT_EQ(server.exchange(0).request().content_length, 5u);
  EXPECT_EQ(server.exchange(0).body, "hello");
}

TEST(Http2Request, ContentLengthThatDoesNotAddUp) {  // RFC 9113 8.1.1
  for (const char* length : {"4", "6", "0"}) {
    Server server;
    server.manual = true;
    server.start();
    Client client(server);
    client.settings();
    const auto id = client.post("hello", {{"content-length", length}});
    client.exchange();
    EXPECT_EQ(server.exchange(0).reset, http::Abort::protocol_error) << length;
    EXPECT_FALSE(server.exchange(0).ended) << length;
    EXPECT_EQ(client.answer(id).error, uint32_t{NGHTTP2_PROTOCOL_ERROR}) << length;
  }
}

TEST(Http2Request, CookieCrumbsAreJoined) {  // RFC 9113 8.2.3
  Server server;
  server.start();
  Client client(server);
  client.settings();
  client.get("/",
             {{"cookie", "a=1"}, {"x", "y"}, {"cookie", "b=2"}, {"cookie", ""}, {"cookie", "c"}});
  client.exchange();
  http::Request& r = server.exchange(0).request();
  EXPECT_EQ(r.fields.count(Name::cookie), 1u);
  EXPECT_EQ(r.fields.get(Name::cookie), "a=1; b=2; ; c");
}

TEST(Http2Request, NeverIndexedIsRemembered) {  // RFC 7541 7.1.3
  RawRequest r(get_block() + std::string("\x10", 1) + literal("authorization", "secret").substr(1));
  ASSERT_TRUE(r.accepted());
  const http::Field* f = r.server.exchange(0).request().fields.find(Name::authorization);
  ASSERT_NE(f, nullptr);
  EXPECT_TRUE(f->sensitive);
}

TEST(Http2Request, Connect) {  // RFC 9113 8.5
  RawRequest r(literal(":method", "CONNECT") + literal(":authority", "a.test:443"));
  ASSERT_EQ(r.server.exchanges.size(), 1u);
  const http::Request& q = r.server.exchange(0).request();
  EXPECT_EQ(q.method, Method::connect);
  EXPECT_EQ(q.authority, "a.test:443");
  EXPECT_EQ(q.target, "");
  EXPECT_TRUE(RawRequest(literal(":method", "CONNECT") + literal(":authority", "a:1") +
                         literal(":path", "/"))
                  .malformed());
  // Extended CONNECT is not offered (RFC 8441 3).
  EXPECT_TRUE(RawRequest(literal(":method", "CONNECT") + literal(":protocol", "websocket") +
                         literal(":scheme", "https") + literal(":path", "/") +
                         literal(":authority", "a.test"))
                  .malformed());
}

// RFC 8441 4: told as the GET that it stands for.
TEST(Http2Request, ExtendedConnect) {
  const std::string block = literal(":method", "CONNECT") + literal(":protocol", "WebSocket") +
                            literal(":scheme", "https") + literal(":path", "/chat") +
                            literal(":authority", "a.test");
  http::Limits limits;
  limits.connect_protocol = true;
  RawRequest r(block, limits);
  ASSERT_EQ(r.server.exchanges.size(), 1u);
  const http::Request& q = r.server.exchange(0).request();
  EXPECT_EQ(q.method, Method::get);
  EXPECT_EQ(q.method_text, "GET");
  EXPECT_EQ(q.upgrade, "websocket");
  EXPECT_EQ(q.target, "/chat");
  EXPECT_TRUE(RawRequest(get_block() + literal(":protocol", "websocket"), limits).malformed());
}

TEST(Http2Request, AsteriskIsForOptions) {  // RFC 9113 8.3.1
  const std::string rest = "\x87" + literal(":path", "*") + literal(":authority", "a.test");
  RawRequest options(literal(":method", "OPTIONS") + rest);
  ASSERT_TRUE(options.accepted());
  EXPECT_EQ(options.server.exchange(0).request().target, "*");
  RawRequest get("\x82" + rest);
  EXPECT_FALSE(get.accepted());
}

TEST(Http2Request, MalformedIsReset) {  // RFC 9113 8.1.1, 8.2, 8.3
  const std::string no_path = std::string("\x82\x87") + literal(":authority", "a.test");
  const std::vector<std::pair<std::string, std::string>> blocks = {
      {"no :path", no_path},
      {"empty :path", no_path + literal(":path", "")},
      {"no :method", std::string("\x87\x84") + literal(":authority", "a.test")},
      {"no :scheme", std::string("\x82\x84") + literal(":authority", "a.test")},
      {"two :path", get_block() + literal(":path", "/b")},
      {"two :method", get_block() + "\x83"},
      {"two :authority", get_block() + literal(":authority", "a.test")},
      {"pseudo after regular",
       std::string("\x82\x87\x84") + literal("x", "y") + literal(":authority", "a.test")},
      {"unknown pseudo", get_block() + literal(":foo", "x")},
      {":status in a request", get_block() + "\x88"},
      {"upper case", get_block() + literal("X-Upper", "v")},
      {"space in name", get_block() + literal("a b", "v")},
      {"empty name", get_block() + literal("", "v")},
      {"CR in value", get_block() + literal("x", "a\rb")},
      {"LF in value", get_block() + literal("x", "a\nb")},
      {"NUL in value", get_block() + literal("x", std::string("a\0b", 3))},
      {"leading space", get_block() + literal("x", " a")},
      {"trailing tab", get_block() + literal("x", "a\t")},
      {"connection", get_block() + literal("connection", "close")},
      {"keep-alive", get_block() + literal("keep-alive", "1")},
      {"proxy-connection", get_block() + literal("proxy-connection", "close")},
      {"transfer-encoding", get_block() + literal("transfer-encoding", "chunked")},
      {"upgrade", get_block() + literal("upgrade", "h2c")},
      {"te gzip", get_block() + literal("te", "gzip")},
      {"content-length with END_STREAM", get_block() + literal("content-length", "5")},
      {"two content-lengths",
       get_block() + literal("content-length", "0") + literal("content-length", "0")},
      {"content-length not a number", get_block() + literal("content-length", "+1")},
      {"no authority", "\x82\x87\x84"},
  };
  for (const auto& [what, block] : blocks) {
    RawRequest r(block);
    EXPECT_TRUE(r.malformed()) << what;
  }
}

TEST(Http2Request, HostAndAuthorityMustAgree) {  // RFC 9113 8.3.1
  EXPECT_TRUE(RawRequest(get_block() + literal("host", "a.test")).accepted());
  EXPECT_EQ(RawRequest(get_block() + literal("host", "b.test")).refused(), 400);
  RawRequest host("\x82\x87\x84" + literal("host", "a.test"));
  ASSERT_TRUE(host.accepted());
  EXPECT_EQ(host.server.exchange(0).request().authority, "a.test");
}

TEST(Http2Request, TrailersWithoutEndAreMalformed) {  // RFC 9113 8.1
  Server server;
  server.manual = true;
  server.start();
  server.receive(client_preface() + frame(FrameType::headers, flag::kEndHeaders, 1, post_block()) +
                 frame(FrameType::headers, flag::kEndHeaders, 1, literal("x", "y")));
  EXPECT_EQ(server.exchange(0).reset, http::Abort::protocol_error);
  EXPECT_FALSE(server.exchange(0).ended);
}

TEST(Http2Request, TargetTooLong) {
  http::Limits limits;
  limits.max_target = 100;
  Server server(limits);
  server.start();
  Client client(server);
  client.settings();
  const auto id = client.get("/" + std::string(100, 'x'));
  const auto good = client.get("/" + std::string(99, 'x'));
  client.exchange();
  EXPECT_EQ(server.exchange(0).bad_status, 414);
  EXPECT_EQ(client.answer(id).status, "414");
  EXPECT_EQ(client.answer(good).status, "200");
}

TEST(Http2Request, BodyTooLargeByLength) {
  http::Limits limits;
  limits.max_body = 1000;
  Server server(limits);
  server.start();
  Client client(server);
  client.settings();
  const std::string body(1001, 'x');
  const auto id = client.post(body, {{"content-length", "1001"}});
  const auto good = client.post(body.substr(1), {{"content-length", "1000"}});
  client.exchange();
  EXPECT_EQ(server.exchange(0).bad_status, 413);
  EXPECT_FALSE(server.exchange(0).head);
  EXPECT_TRUE(server.exchange(0).body.empty());
  EXPECT_EQ(client.answer(id).status, "413");
  EXPECT_EQ(client.answer(id).body, "refused");
  EXPECT_EQ(client.answer(good).status, "200");
}

TEST(Http2Request, BodyTooLargeAsItComes) {
  http::Limits limits;
  limits.max_body = 50'000;
  Server server(limits);
  server.start();
  Client client(server);
  client.settings();
  const auto id = client.post(std::string(2'000'000, 'x'));
  client.exchange();
  Exchange& e = server.exchange(0);
  EXPECT_TRUE(e.head);
  EXPECT_EQ(e.bad_status, 413);
  EXPECT_LE(e.body.size(), 50'000u);
  EXPECT_FALSE(e.ended);
  EXPECT_TRUE(e.finished);
  EXPECT_EQ(client.answer(id).status, "413");
  EXPECT_TRUE(client.answer(id).ended);
  // RFC 9113 8.1: what is left of the request is cancelled without an error.
  EXPECT_TRUE(client.answer(id).closed);
  EXPECT_EQ(client.answer(id).error, uint32_t{NGHTTP2_NO_ERROR});
}

TEST(Http2Answer, FieldsOfTheAnswer) {  // RFC 9113 8.2
  Server server;
  server.at_end = [](Exchange& e) {
    e.response.fields.push({"X-Mixed-Case", "1", Name::other});
    e.response.fields.add(Name::content_type, "text/plain");
    e.response.fields.add(Name::connection, "close");
    e.response.fields.add(Name::keep_alive, "timeout=5");
    e.response.fields.add(Name::transfer_encoding, "chunked");
    e.response.fields.add(Name::upgrade, "h2c");
    e.response.fields.add(Name::proxy_connection, "close");
    e.response.fields.add(Name::content_length, "999");
    e.answer(200, "hello");
  };
  server.start();
  Client client(server);
  client.settings();
  const auto id = client.get();
  client.exchange();
  const auto& a = client.answer(id);
  EXPECT_EQ(a.body, "hello");
  EXPECT_EQ(a.fields,
            (Client::Pairs{
                {"content-length", "5"}, {"x-mixed-case", "1"}, {"content-type", "text/plain"}}));
}

TEST(Http2Answer, LengthOfWhatIsNotSent) {  // RFC 9110 8.6
  struct Case {
    uint16_t status;
    BodyKind kind;
    std::string expected;
  };
  for (const Case& c : {Case{200, BodyKind::none, "123"}, Case{304, BodyKind::none, "123"},
                        Case{204, BodyKind::none, ""}, Case{204, BodyKind::length, ""},
                        Case{200, BodyKind::stream, ""}, Case{200, BodyKind::length, "7"}}) {
    Server server;
    server.at_end = [&](Exchange& e) {
      e.response.status = c.status;
      e.response.body = c.kind;
      e.response.content_length = 7;
      e.response.fields.add(Name::content_length, "123");
      e.stream().send_head(e.response, true);  // as for HEAD
    };
    server.start();
    Client client(server);
    client.settings();
    const auto id = client.request(
        {{":method", "HEAD"}, {":scheme", "https"}, {":authority", "a"}, {":path", "/"}});
    client.exchange();
    EXPECT_EQ(client.answer(id).field("content-length"), c.expected) << c.status;
    EXPECT_TRUE(client.answer(id).ended);
    EXPECT_TRUE(server.exchange(0).finished);
  }
}

TEST(Http2Answer, InformationalThenBodyThenTrailers) {  // RFC 9113 8.1
  Server server;
  server.at_end = [](Exchange& e) {
    http::Response hint(e.arena);
    hint.status = 103;
    hint.fields.add(Name::link, "</a.css>; rel=preload");
    e.stream().send_informational(hint);
    hint.status = 102;
    hint.fields.clear();
    e.stream().send_informational(hint);
    e.start();
    e.send("some");
    http::Fields trailers(e.arena);
    trailers.push({"Grpc-Status", "0", Name::grpc_status});
    trailers.push({"X-Sum", "7", Name::other});
    trailers.add(Name::connection, "close");
    e.stream().send_end(&trailers);
  };
  server.start();
  Client client(server);
  client.settings();
  const auto id = client.get();
  client.exchange();
  const auto& a = client.answer(id);
  EXPECT_EQ(a.informational, (std::vector<std::string>{"103", "102"}));
  EXPECT_EQ(a.status, "200");
  EXPECT_EQ(a.body, "some");
  EXPECT_EQ(a.trailers, (Client::Pairs{{"grpc-status", "0"}, {"x-sum", "7"}}));
  EXPECT_TRUE(a.ended);
  EXPECT_TRUE(server.exchange(0).finished);
}

// Trailers after DATA that left in an earlier turn: no empty DATA frame with END_STREAM, and no
// frame after the trailers.
TEST(Http2Answer, TrailersLater) {
  Server server;
  server.manual = true;
  server.start();
  Client client(server);
  client.settings();
  const auto id = client.get();
  client.exchange();
  server.last().start();
  server.last().send("some");
  client.exchange();
  EXPECT_EQ(client.answer(id).body, "some");
  {
    Arena gone;  // the fields are the handler's only during the call
    http::Fields trailers(gone);
    trailers.push({gone.copy("x-sum"), gone.copy("7"), Name::other});
    server.last().stream().send_end(&trailers);
  }
  client.exchange();
  EXPECT_EQ(client.answer(id).trailers, (Client::Pairs{{"x-sum", "7"}}));
  EXPECT_TRUE(client.answer(id).ended);
  EXPECT_EQ(client.answer(id).error, uint32_t{NGHTTP2_NO_ERROR});
}

TEST(Http2Answer, NoEmptyTrailerSection) {
  Server server;
  server.at_end = [](Exchange& e) {
    e.start();
    e.send("x");
    http::Fields none(e.arena);
    none.add(Name::connection, "close");  // nothing is left of it
    e.stream().send_end(&none);
  };
  server.start();
  Client client(server);
  client.settings();
  const auto id = client.get();
  client.exchange();
  EXPECT_TRUE(client.answer(id).ended);
  int headers = 0;
  for (const auto& f : client.frames()) headers += f.head.type == FrameType::headers;
  EXPECT_EQ(headers, 1);
}

// A whole answer in one turn is HEADERS and DATA with END_STREAM, in one write.
TEST(Http2Answer, OneWriteATurn) {
  Server server;
  server.at_end = [](Exchange& e) { e.answer(200, "hello"); };
  server.start();
  server.receive(client_preface());
  server.take_sent();
  const int before = server.stream->flushes;
  std::string requests;
  for (uint32_t id = 1; id < 20; id += 2) {
    requests += frame(FrameType::headers, flag::kEndHeaders | flag::kEndStream, id, get_block());
  }
  server.receive(requests);
  EXPECT_EQ(server.stream->flushes, before + 1);
  const auto frames = server.frames();
  ASSERT_EQ(frames.size(), 20u);
  size_t ends = 0;
  for (const auto& f : frames) {
    ends += f.head.type == FrameType::data && f.head.flags == flag::kEndStream;
  }
  EXPECT_EQ(ends, 10u);
  for (auto& e : server.exchanges) EXPECT_TRUE(e->finished);
}

// An answer that breaks its own length must not look whole (RFC 9113 8.1.1).
TEST(Http2Answer, BrokenLengthIsVisible) {
  for (const char* body : {"four", "sixsix"}) {
    Server server;
    server.at_end = [&](Exchange& e) {
      e.response.status = 200;
      e.response.body = BodyKind::length;
      e.response.content_length = 5;
      e.stream().send_head(e.response, false);
      e.send(body);
      e.stream().send_end(nullptr);
    };
    server.start();
    Client client(server);
    client.settings();
    const auto id = client.get();
    client.exchange();
    EXPECT_FALSE(client.answer(id).ended);
    EXPECT_EQ(client.answer(id).error, uint32_t{NGHTTP2_INTERNAL_ERROR});
    EXPECT_EQ(server.exchange(0).reset, http::Abort::internal_error);
  }
}

TEST(Http2Answer, BytesAsTheyCrossedTheWire) {
  Server server;
  server.at_end = [](Exchange& e) { e.answer(200, "hello"); };
  server.start();
  server.receive(client_preface());
  server.take_sent();
  const std::string head = frame(FrameType::headers, flag::kEndHeaders, 1, post_block());
  const std::string body = frame(FrameType::data, flag::kEndStream, 1, "upload");
  server.receive(head + body);
  EXPECT_EQ(server.exchange(0).bytes_in, head.size() + body.size());
  EXPECT_EQ(server.exchange(0).bytes_out, server.take_sent().size());
}

// RFC 9218: u=1 before u=3 before u=7, whatever the order of the requests; PRIORITY_UPDATE counts.
TEST(Http2Priority, UrgencyOrdersData) {
  Server server;
  server.manual = true;
  server.start();
  Client client(server);
  client.settings();
  const auto low = client.get("/", {{"priority", "u=7"}});
  const auto normal = client.get("/");
  const auto high = client.get("/", {{"priority", "u=1"}});
  client.exchange();
  for (auto& e : server.exchanges) e->answer(200, std::string(40'000, 'x'));
  client.exchange();
  // The first window (64 KiB a connection) goes by urgency.
  ASSERT_GE(client.data_order.size(), 4u);
  EXPECT_EQ(client.data_order.front(), high);
  std::vector<int32_t> order;
  for (const int32_t id : client.data_order) {
    if (order.empty() || order.back() != id) order.push_back(id);
  }
  EXPECT_EQ(order, (std::vector<int32_t>{high, normal, low}));
}

TEST(Http2Priority, PriorityUpdateMovesAStream) {  // RFC 9218 7.1
  Server server;
  server.manual = true;
  server.start();
  server.receive(client_preface());
  for (uint32_t id : {1u, 3u}) {
    server.receive(
        frame(FrameType::headers, flag::kEndHeaders | flag::kEndStream, id, get_block()));
  }
  server.receive(frame(FrameType::priority_update, 0, 0, be32(3) + "u=0"));
  server.take_sent();
  for (auto& e : server.exchanges) e->answer(200, std::string(20'000, 'x'));
  server.turn();
  std::vector<uint32_t> order;
  for (const auto& f : server.frames()) {
    if (f.head.type == FrameType::data) order.push_back(f.head.stream_id);
  }
  EXPECT_EQ(order, (std::vector<uint32_t>{3, 3, 1, 1}));
}

TEST(Http2Priority, IncrementalStreamsTakeTurns) {  // RFC 9218 4.2
  Server server;
  server.manual = true;
  server.start();
  Client client(server);
  client.settings();
  const auto a = client.get("/", {{"priority", "i"}});
  const auto b = client.get("/", {{"priority", "i"}});
  client.exchange();
  for (auto& e : server.exchanges) e->answer(200, std::string(32'000, 'x'));
  client.exchange();
  ASSERT_EQ(client.data_order.size(), 4u);
  EXPECT_EQ(client.data_order, (std::vector<int32_t>{a, b, a, b}));
}

}  // namespace
}  // namespace pqedge::http2::test
