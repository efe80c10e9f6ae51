// Clients that mean harm: each flood, bomb and stall ends the stream or the connection.
#include <gtest/gtest.h>

#include "http2_client.h"
#include "wire/http2/counters.h"

namespace pqedge::http2::test {
namespace {

// Sends `one(i)` until the connection is over; what ended it.
struct Flood {
  template <typename One>
  explicit Flood(One&& one, size_t at_most = 30'000, const http::Limits& limits = {})
      : server(limits) {
    server.manual = true;
    server.start();
    server.receive(client_preface());
    server.take_sent();
    run(one, at_most);
  }
  template <typename One>
  void run(One&& one, size_t at_most) {
    for (sent = 0; sent < at_most && !server.over(); ++sent) {
      server.receive(one(static_cast<uint32_t>(sent)));
      all += server.take_sent();
    }
    server.turn();
    all += server.take_sent();
  }
  ErrorCode goaway() const {
    const auto frames = parse_frames(all);
    if (frames.empty() || frames.back().head.type != FrameType::goaway) return ErrorCode{99};
    return frames.back().error();
  }

  // What may be sent at most, when the budget alone allows `n`: it refills while the test runs.
  size_t most(size_t n) const { return n + refilled(began); }
  static size_t refilled(Nanos since) {
    const Nanos elapsed = monotonic_now() - since;
    return FloodBudget::kPerSecond / FloodBudget::kFrame * elapsed / kSecond + 1;
  }

  Server server;
  Nanos began = monotonic_now();
  size_t sent = 0;
  std::string all;
};

std::string headers(uint32_t i, const std::string& block = get_block(), bool end = true) {
  return frame(FrameType::headers,
               static_cast<uint8_t>(flag::kEndHeaders | (end ? flag::kEndStream : 0)), i * 2 + 1,
               block);
}

TEST(Http2Flood, RapidReset) {  // CVE-2023-44487
  const uint64_t before = floods(Charge::headers).value() + floods(Charge::reset).value();
  Flood f(
      [](uint32_t i) { return headers(i) + frame(FrameType::rst_stream, 0, i * 2 + 1, be32(8)); });
  EXPECT_EQ(f.goaway(), ErrorCode::enhance_your_calm);
  EXPECT_LE(f.sent, f.most(501));
  EXPECT_GE(f.sent, 500u);
  for (auto& e : f.server.exchanges) EXPECT_NE(e->reset, http::Abort::none);
  EXPECT_EQ(floods(Charge::headers).value() + floods(Charge::reset).value(), before + 1);
}

// CVE-2025-8671: the client makes the server reset what it has begun.
TEST(Http2Flood, MadeYouReset) {
  const std::pair<const char*, std::string> ways[] = {
      {"WINDOW_UPDATE of 0", frame(FrameType::window_update, 0, 0x7fffffff, be32(0))},
      {"WINDOW_UPDATE beyond 2^31-1",
       frame(FrameType::window_update, 0, 0x7fffffff, be32(0x7fffffff))},
      {"DATA after the end", frame(FrameType::data, 0, 0x7fffffff, std::string(20, 'x'))},
      {"too long a body",
       frame(FrameType::data, flag::kEndStream, 0x7fffffff, std::string(20, 'x'))},
  };
  for (const auto& [what, provocation] : ways) {
    const bool open = std::string_view(what) == "too long a body";
    Flood f([&](uint32_t i) {
      std::string p = provocation;
      store_be32(reinterpret_cast<uint8_t*>(p.data()) + 5, i * 2 + 1);
      return headers(i, open ? post_block() + literal("content-length", "3") : get_block(), !open) +
             p;
    });
    // A stream or a connection error (RFC 9113 6.9.1, 5.1); never for ever.
    EXPECT_LE(f.sent, f.most(230)) << what;
    EXPECT_FALSE(f.goaway() == ErrorCode::no_error) << what;
    for (auto& e : f.server.exchanges) EXPECT_NE(e->reset, http::Abort::none) << what;
  }
}

TEST(Http2Flood, TooManyStreams) {  // RFC 9113 5.1.2
  http::Limits limits;
  limits.max_streams = 10;
  Flood f([](uint32_t i) { return headers(i); }, 30'000, limits);
  EXPECT_EQ(f.server.exchanges.size(), 10u);
  EXPECT_EQ(f.sent, 11u);
  EXPECT_EQ(f.goaway(), ErrorCode::protocol_error);
}

// Before the client has acknowledged the limit, it is told so stream by stream.
TEST(Http2Flood, TooManyStreamsBeforeTheAcknowledgement) {
  http::Limits limits;
  limits.max_streams = 10;
  const Nanos began = monotonic_now();
  Server server(limits);
  server.manual = true;
  server.start();
  server.receive(std::string(kPreface) + frame(FrameType::settings, 0, 0));
  uint32_t i = 0;
  for (; i < 10'000 && !server.over(); ++i) {
    server.receive(headers(i));
    const auto frames = server.frames();
    if (i < 10 || server.over()) continue;
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames[0].error(), ErrorCode::refused_stream);
  }
  EXPECT_EQ(server.exchanges.size(), 10u);
  EXPECT_LE(i, 220 + Flood::refilled(began));
}

TEST(Http2Flood, ControlFrames) {
  const std::pair<const char*, std::string> floods_of[] = {
      {"PING", frame(FrameType::ping, 0, 0, "12345678")},
      {"PING ACK", frame(FrameType::ping, flag::kAck, 0, "12345678")},
      {"SETTINGS", frame(FrameType::settings, 0, 0)},
      {"PRIORITY", frame(FrameType::priority, 0, 1, "12345")},
      {"PRIORITY_UPDATE", frame(FrameType::priority_update, 0, 0, be32(1) + "u=0")},
      {"WINDOW_UPDATE", frame(FrameType::window_update, 0, 0, be32(1))},
      {"unknown", frame(FrameType{0xee}, 0, 0, "x")},
  };
  for (const auto& [what, bytes] : floods_of) {
    Flood f([&](uint32_t) { return bytes; });
    EXPECT_EQ(f.goaway(), ErrorCode::enhance_your_calm) << what;
    EXPECT_LE(f.sent, f.most(1001)) << what;
  }
}

TEST(Http2Flood, EmptyData) {  // CVE-2019-9518
  Flood empty([](uint32_t i) {
    return i == 0 ? headers(0, post_block(), false) : frame(FrameType::data, 0, 1);
  });
  EXPECT_EQ(empty.goaway(), ErrorCode::enhance_your_calm);
  EXPECT_LE(empty.sent, empty.most(1001));
  EXPECT_EQ(empty.server.exchange(0).reset, http::Abort::flood);
  // Padding and nothing else, which the 9 bytes do not show.
  Flood padding([](uint32_t i) {
    return i == 0 ? headers(0, post_block(), false)
                  : frame(FrameType::data, flag::kPadded, 1, '\xff' + std::string(255, '\0'));
  });
  EXPECT_EQ(padding.goaway(), ErrorCode::enhance_your_calm);
  EXPECT_LE(padding.sent, padding.most(1001));
}

// CVE-2024-27316 and others: CONTINUATION without end, none of which ends the block.
TEST(Http2Flood, Continuation) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{16'000}}) {
    Flood f([&](uint32_t i) {
      return frame(i == 0 ? FrameType::headers : FrameType::continuation, 0, 1,
                   size == 0 ? "" : literal("x", std::string(size, 'y')).substr(0, 16'384));
    });
    EXPECT_EQ(f.goaway(), ErrorCode::enhance_your_calm) << size;
    EXPECT_LE(f.sent, 40u) << size;
  }
}

// K29: one field in the dynamic table, then one byte for each reference to it.
TEST(Http2Flood, HpackBomb) {
  const uint64_t before = kHeaderBombs.value();
  const size_t chunks = Chunk::live();
  const std::string insert = "\x40" + literal("x", std::string(3900, 'y')).substr(1);
  const std::string references(12'000, '\xbe');  // index 62
  Flood f(
      [&](uint32_t i) { return headers(i, get_block() + (i == 0 ? insert : "") + references); });
  EXPECT_EQ(f.goaway(), ErrorCode::enhance_your_calm);
  EXPECT_EQ(f.sent, 1u);
  EXPECT_EQ(kHeaderBombs.value(), before + 1);
  // Nothing beyond the limit was stored.
  EXPECT_LE(f.server.exchange(0).arena.heap_bytes(), 80u * 1024);
  EXPECT_LE(Chunk::live(), chunks + 2);
}

// K29: a cookie in thousands of crumbs, each almost nothing.
TEST(Http2Flood, CookieCrumbs) {
  // Index 32 of the static table is "cookie" with an empty value (RFC 7541 Appendix A).
  Flood f([](uint32_t i) { return headers(i, get_block() + std::string(16'000, '\xa0')); });
  EXPECT_EQ(f.goaway(), ErrorCode::enhance_your_calm);
  EXPECT_EQ(f.sent, 1u);
  EXPECT_LE(f.server.exchange(0).arena.heap_bytes(), 80u * 1024);
}

// K32: a head somewhat too large gets an answer, and the connection goes on.
TEST(Http2Flood, HeadTooLargeIsAnswered) {
  const uint64_t before = kHeadsTooLarge.value();
  Server server;
  server.start();
  Client client(server);
  client.settings();
  Client::Pairs large;
  for (int i = 0; i < 70; ++i) large.emplace_back("x-" + std::to_string(i), std::string(1000, 'v'));
  large.resize(60);  // curl and nghttp2 send no more than 64 KiB
  large.emplace_back("x-last", std::string(4000, 'v'));
  const auto id = client.get("/", large);
  const auto good = client.get();
  client.exchange();
  EXPECT_EQ(client.answer(id).status, "431");
  EXPECT_EQ(client.answer(id).body, "refused");
  EXPECT_EQ(server.exchange(0).bad_reason, "field section too large");
  EXPECT_EQ(server.exchange(0).request().target, "/");
  EXPECT_EQ(client.answer(good).status, "200");
  EXPECT_EQ(kHeadsTooLarge.value(), before + 1);
}

// K32: a single field of more than nghttp2 decodes, which would be a COMPRESSION_ERROR to it. The
// request is answered, what runs is finished, and then the connection ends.
TEST(Http2Flood, FieldTooLargeToDecodeIsAnswered) {
  for (const bool path : {false, true}) {
    for (const size_t cut : {SIZE_MAX, size_t{1000}, size_t{1}}) {
      Server server;
      server.at_end = [](Exchange& e) { e.start(); };
      server.start();
      server.stream->largest_read = cut;
      server.receive(client_preface() + headers(0));
      const std::string huge = (path ? std::string("\x82\x87\x04") : get_block() + '\0') +
                               literal("x", std::string(70'000, 'v')).substr(path ? 3 : 1);
      std::string bytes = frame(FrameType::headers, flag::kEndStream, 3, huge.substr(0, 16'384));
      for (size_t at = 16'384; at < huge.size(); at += 16'384) {
        bytes += frame(FrameType::continuation, at + 16'384 >= huge.size() ? flag::kEndHeaders : 0,
                       3, huge.substr(at, 16'384));
      }
      server.take_sent();
      server.receive(bytes);
      ASSERT_EQ(server.exchanges.size(), 2u);
      EXPECT_EQ(server.exchange(1).bad_status, path ? 414 : 431);
      EXPECT_EQ(server.exchange(1).request().method, http::Method::get);
      EXPECT_TRUE(server.exchange(1).finished);
      EXPECT_FALSE(server.stream->shut);
      server.exchange(0).send("done");
      server.exchange(0).stream().send_end(nullptr);
      server.turn();
      EXPECT_TRUE(server.exchange(0).finished);
      EXPECT_TRUE(server.stream->shut);
      std::vector<FrameType> types;
      for (const auto& f : server.frames()) types.push_back(f.head.type);
      EXPECT_EQ(types,
                (std::vector<FrameType>{FrameType::goaway, FrameType::headers, FrameType::data,
                                        FrameType::rst_stream, FrameType::data}));
    }
  }
}

TEST(Http2Flood, TooManyFieldsAreAnswered) {
  Server server;
  server.start();
  Client client(server);
  client.settings();
  Client::Pairs many(128, {"x", "y"});
  const auto good = client.get("/", many);
  many.emplace_back("cookie", "a=1");
  const auto id = client.get("/", many);
  client.exchange();
  EXPECT_EQ(client.answer(good).status, "200");
  EXPECT_EQ(client.answer(id).status, "431");
}

TEST(Http2Flood, HeadsTooLargeForEver) {
  const std::string block = get_block() + [] {
    std::string s;
    for (int i = 0; i < 200; ++i) s += literal("x", "y");
    return s;
  }();
  const Nanos began = monotonic_now();
  Server server;
  server.start();
  server.receive(client_preface());
  uint32_t i = 0;
  for (; i < 10'000 && !server.over(); ++i) server.receive(headers(i, block));
  EXPECT_LT(i, 110 + Flood::refilled(began));
  EXPECT_GT(i, 50u);
}

TEST(Http2Flood, TrailersTooLarge) {
  Server server;
  server.start();
  Client client(server);
  client.settings();
  const auto id = client.post("body", {}, {{"x", std::string(9000, 'y')}});
  client.exchange();
  EXPECT_EQ(server.exchange(0).bad_status, 431);
  EXPECT_FALSE(server.exchange(0).ended);
  EXPECT_EQ(client.answer(id).status, "431");
}

// RFC 9113 5.1.1: nghttp2 alone would drop it silently (nghttp2#2278).
TEST(Http2Flood, HeadersOnALowerStream) {
  Server server;
  server.start();
  server.receive(client_preface() + headers(5));
  server.take_sent();
  server.receive(headers(3));
  const auto frames = server.frames();
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back().head.type, FrameType::goaway);
  EXPECT_EQ(frames.back().error(), ErrorCode::protocol_error);
  EXPECT_TRUE(server.stream->shut);
}

TEST(Http2Flood, HeadersOnAClosedStream) {  // RFC 9113 5.1
  for (const bool reset_by_client : {false, true}) {
    Server server;
    server.manual = reset_by_client;
    server.start();
    server.receive(client_preface() + headers(0, post_block(), !reset_by_client));
    if (reset_by_client) server.receive(frame(FrameType::rst_stream, 0, 1, be32(8)));
    server.take_sent();
    server.receive(headers(0));
    const auto frames = server.frames();
    ASSERT_FALSE(frames.empty());
    EXPECT_EQ(frames.back().head.type, FrameType::goaway);
    EXPECT_EQ(frames.back().error(), ErrorCode::stream_closed);
  }
}

// RFC 9113 5.1: nghttp2 alone would drop it silently.
TEST(Http2Flood, DataOnAClosedStream) {
  for (const bool reset_by_client : {false, true}) {
    Server server;
    server.manual = reset_by_client;
    server.start();
    server.receive(client_preface() + headers(0, post_block(), !reset_by_client));
    if (reset_by_client) server.receive(frame(FrameType::rst_stream, 0, 1, be32(8)));
    server.take_sent();
    server.receive(frame(FrameType::data, 0, 1, "late"));
    const auto frames = server.frames();
    ASSERT_FALSE(frames.empty());
    EXPECT_EQ(frames.back().head.type, FrameType::goaway);
    EXPECT_EQ(frames.back().error(), ErrorCode::stream_closed);
  }
}

// RFC 9113 5.1: an upload that we cut goes on until the client hears of it.
TEST(Http2Flood, DataUnderWayWhenWeReset) {
  Server server;
  server.manual = true;
  server.start();
  server.receive(client_preface() + headers(0, post_block(), false));
  server.exchange(0).stream().reset(http::Abort::internal_error);
  server.exchange(0).forget();
  server.turn();
  server.receive(frame(FrameType::data, 0, 1, std::string(1000, 'x')) +
                 frame(FrameType::data, flag::kEndStream, 1, "end"));
  server.receive(headers(1));
  EXPECT_EQ(server.exchanges.size(), 2u);
  EXPECT_FALSE(server.stream->shut);
}

// RFC 9113 5.1: frames under way when we reset a stream are ignored; the field section is decoded,
// so that the next one is right (4.3).
TEST(Http2Flood, TrailersUnderWayWhenWeReset) {
  Server server;
  server.manual = true;
  server.start();
  server.receive(client_preface() + headers(0, post_block(), false));
  server.exchange(0).stream().reset(http::Abort::internal_error);
  server.exchange(0).forget();
  server.turn();
  const auto frames = server.frames();
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back().head.type, FrameType::rst_stream);
  EXPECT_EQ(frames.back().error(), ErrorCode::internal_error);
  // The trailers insert a field that the next request refers to.
  server.receive(headers(0, "\x40" + literal("x-sum", "42").substr(1)));
  server.receive(headers(1, get_block() + "\xbe"));
  ASSERT_EQ(server.exchanges.size(), 2u);
  EXPECT_EQ(server.exchange(1).request().fields.find("x-sum")->value, "42");
  EXPECT_FALSE(server.stream->shut);
}

// K29, CVE-2019-9517 and slow readers: bytes wait behind a window that stays shut.
TEST(Http2Flood, ZeroWindowIsReaped) {
  const uint64_t before = kStalledStreams.value();
  http::Limits limits;
  limits.send_timeout = 20 * kMillisecond;
  Server server(limits);
  server.at_end = [](Exchange& e) { e.answer(200, std::string(1000, 'x')); };
  server.start();
  Client client(server);
  client.settings({{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0}});
  const auto id = client.get();
  client.exchange();
  EXPECT_EQ(client.answer(id).status, "200");
  ASSERT_TRUE(server.run_until([&] { return server.exchange(0).reset == http::Abort::timed_out; }));
  client.exchange();
  EXPECT_EQ(client.answer(id).error, uint32_t{NGHTTP2_CANCEL});
  EXPECT_EQ(kStalledStreams.value(), before + 1);
  EXPECT_FALSE(server.closed);
}

TEST(Http2Flood, ClosedConnectionWindowIsReaped) {
  http::Limits limits;
  limits.send_timeout = 20 * kMillisecond;
  Server server(limits);
  server.at_end = [](Exchange& e) { e.answer(200, std::string(100'000, 'x')); };
  server.start();
  Client client(server, false);
  client.settings({{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1'000'000}});
  client.get();
  client.get();
  client.exchange();
  ASSERT_TRUE(server.run_until([&] {
    return server.exchange(0).reset == http::Abort::timed_out &&
           server.exchange(1).reset == http::Abort::timed_out;
  }));
}

TEST(Http2Flood, ClientThatReadsNothing) {
  const uint64_t before = kStalledConnections.value();
  http::Limits limits;
  limits.send_timeout = 20 * kMillisecond;
  Server server(limits);
  server.at_end = [](Exchange& e) { e.answer(200, std::string(1000, 'x')); };
  server.start();
  Client client(server);
  client.settings();
  client.get();
  server.stream->room = 0;
  client.exchange();
  ASSERT_TRUE(server.run_until([&] { return server.closed; }));
  EXPECT_EQ(server.exchange(0).reset, http::Abort::timed_out);
  EXPECT_EQ(kStalledConnections.value(), before + 1);
}

TEST(Http2Flood, SlowHead) {
  const uint64_t before = kHeaderTimeouts.value();
  http::Limits limits;
  limits.header_timeout = 20 * kMillisecond;
  limits.linger_timeout = 0;
  const std::string preface = client_preface();
  for (const std::string& bytes : {std::string(), preface.substr(0, 10),
                                   preface + frame(FrameType::headers, 0, 1, get_block()),
                                   preface + headers(0).substr(0, 12)}) {
    Server server(limits);
    server.start();
    server.receive(bytes);
    ASSERT_TRUE(server.run_until([&] { return server.closed; }));
    EXPECT_EQ(server.close_reason, "header timeout");
  }
  EXPECT_EQ(kHeaderTimeouts.value(), before + 4);
}

TEST(Http2Flood, SlowBodyGets408) {
  http::Limits limits;
  limits.body_timeout = 20 * kMillisecond;
  Server server(limits);
  server.start();
  server.receive(client_preface() + headers(0, post_block(), false));
  ASSERT_TRUE(server.run_until([&] { return server.exchange(0).finished; }));
  EXPECT_EQ(server.exchange(0).bad_status, 408);
  const auto frames = server.frames();
  EXPECT_EQ(frames.back().head.type, FrameType::rst_stream);
  EXPECT_EQ(frames.back().error(), ErrorCode::no_error);
}

// It is not the client's fault when we give no credit.
TEST(Http2Flood, BodyWithoutCreditIsNotSlow) {
  http::Limits limits;
  limits.body_window = 65'535;
  limits.body_timeout = limits.idle_timeout = limits.send_timeout = 20 * kMillisecond;
  Server server(limits);
  server.keep_body = true;
  server.manual = true;
  server.start();
  // The whole window in one turn: the clock of the test must not come between.
  server.receive(client_preface() + headers(0, post_block(), false) +
                 frame(FrameType::data, 0, 1, std::string(16'384, 'x')) +
                 frame(FrameType::data, 0, 1, std::string(16'384, 'x')) +
                 frame(FrameType::data, 0, 1, std::string(16'384, 'x')) +
                 frame(FrameType::data, 0, 1, std::string(16'383, 'x')));
  const Nanos until = monotonic_now() + 60 * kMillisecond;
  server.run_until([&] { return monotonic_now() > until; });
  EXPECT_EQ(server.exchange(0).bad_status, 0);
  server.exchange(0).stream().consumed(65'535);
  EXPECT_TRUE(server.run_until([&] { return server.exchange(0).bad_status == 408; }));
}

TEST(Http2Flood, NotHttp2) {  // RFC 9113 3.4
  Server server;
  server.start();
  server.receive("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
  const auto frames = server.frames();
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back().head.type, FrameType::goaway);
  EXPECT_EQ(frames.back().error(), ErrorCode::protocol_error);
  EXPECT_TRUE(server.stream->shut);
}

TEST(Http2Flood, ConnectionErrorsOfTheLibrary) {
  const std::pair<std::string, ErrorCode> cases[] = {
      {frame(FrameType::data, 0, 0, "x"), ErrorCode::protocol_error},
      {frame(FrameType::headers, flag::kEndHeaders, 0, get_block()), ErrorCode::protocol_error},
      {frame(FrameType::headers, flag::kEndHeaders, 2, get_block()), ErrorCode::protocol_error},
      {frame(FrameType::headers, flag::kEndHeaders, 1, "\xff\xff\xff\xff\xff\xff\xff"),
       ErrorCode::compression_error},
      {frame(FrameType::data, 0, 1, std::string(16'385, 'x')), ErrorCode::frame_size_error},
      {frame(FrameType::ping, 0, 0, "short"), ErrorCode::frame_size_error},
      {frame(FrameType::window_update, 0, 0, be32(0)), ErrorCode::protocol_error},
      {frame(FrameType::window_update, 0, 0, be32(0x7fffffff)), ErrorCode::flow_control_error},
      {frame(FrameType::push_promise, flag::kEndHeaders, 1, be32(2)), ErrorCode::protocol_error},
      {frame(FrameType::rst_stream, 0, 1, be32(8)), ErrorCode::protocol_error},
      {frame(FrameType::continuation, 0, 1, "x"), ErrorCode::protocol_error},
      {frame(FrameType::headers, 0, 1, get_block()) + frame(FrameType::ping, 0, 0, "12345678"),
       ErrorCode::protocol_error},
  };
  for (const auto& [bytes, code] : cases) {
    Server server;
    server.start();
    server.receive(client_preface());
    server.take_sent();
    server.receive(bytes);
    server.turn();
    const auto frames = server.frames();
    ASSERT_FALSE(frames.empty());
    EXPECT_EQ(frames.back().head.type, FrameType::goaway);
    EXPECT_EQ(frames.back().error(), code) << static_cast<int>(bytes[3]);
    EXPECT_TRUE(server.stream->shut);
    server.stream->end_input();
    server.turn();
    EXPECT_TRUE(server.closed);
  }
}

TEST(Http2Flood, FloodedConnectionClosesSoon) {
  http::Limits limits;
  limits.linger_timeout = 20 * kMillisecond;
  Flood f([](uint32_t) { return frame(FrameType::ping, 0, 0, "12345678"); }, 30'000, limits);
  ASSERT_TRUE(f.server.run_until([&] { return f.server.closed; }));
  EXPECT_EQ(f.server.close_reason, "flood");

  Flood more([](uint32_t) { return frame(FrameType::ping, 0, 0, "12345678"); });
  for (int i = 0; i < 40 && !more.server.closed; ++i) more.server.receive(std::string(60'000, 'x'));
  EXPECT_TRUE(more.server.closed);
}

}  // namespace
}  // namespace pqedge::http2::test
