// HTTP/2 toward backends: requests out, answers in, and what becomes of a connection (RFC 9113).
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <string>

#include "http2_backend_support.h"

namespace pqedge::http2::test {
namespace {

using Rig = BackendRig;
using http::Abort;

std::string reset_event(Abort why, bool unanswered) {
  return std::format("reset({}{}) ", static_cast<int>(why), unanswered ? ",unanswered" : "");
}

TEST(Http2Backend, BeginsWithItsPreface) {
  Rig rig;
  const std::string bytes = rig.stream->take_sent();
  ASSERT_TRUE(bytes.starts_with(kPreface));
  const auto frames = parse_frames(std::string_view(bytes).substr(kPreface.size()));
  ASSERT_GE(frames.size(), 1u);
  EXPECT_EQ(frames[0].head.type, FrameType::settings);
  EXPECT_TRUE(frames[0].payload.contains(Rig::setting(2, 0)));  // RFC 9113 6.5.2: no push
  EXPECT_TRUE(frames[0].payload.contains(Rig::setting(4, rig.limits->body_window)));
}

TEST(Http2Backend, RequestAndAnswer) {
  Rig rig;
  rig.accept();
  rig.sent();
  BackendExchange& e = rig.send();
  const auto frames = rig.sent();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].head.type, FrameType::headers);
  EXPECT_EQ(frames[0].head.stream_id, 1u);
  EXPECT_EQ(frames[0].head.flags, flag::kEndStream | flag::kEndHeaders);
  EXPECT_TRUE(e.stream->anything_sent());
  EXPECT_EQ(e.stream->earlier_requests(), 0u);
  rig.feed(Rig::head(1, "200", literal("x-a", "1") + literal("content-length", "5")) +
           Rig::data(1, "he") + Rig::data(1, "llo", true));
  EXPECT_EQ(e.events, "head(200) end ");
  EXPECT_EQ(e.body, "hello");
  EXPECT_EQ(e.fields, "x-a: 1\nContent-Length: 5\n");
  EXPECT_EQ(e.message.version, http::Version::http2);
  EXPECT_EQ(e.message.body, http::BodyKind::length);
  EXPECT_TRUE(rig.connection->available());
  EXPECT_EQ(rig.send().stream->earlier_requests(), 1u);
}

TEST(Http2Backend, ManyAtATimeAndInAnyOrder) {
  Rig rig;
  rig.accept();
  BackendExchange& a = rig.send();
  BackendExchange& b = rig.send();
  BackendExchange& c = rig.send();
  rig.feed(Rig::head(5, "203", {}, true) + Rig::head(1, "201") + Rig::head(3, "202") +
           Rig::data(3, "b", true) + Rig::data(1, "a", true));
  EXPECT_EQ(a.events, "head(201) end ");
  EXPECT_EQ(b.events, "head(202) end ");
  EXPECT_EQ(c.events, "head(203,end) ");
  EXPECT_EQ(a.body + b.body, "ab");
}

TEST(Http2Backend, AsManyStreamsAsBothAllow) {
  Rig rig({.max_streams = 3});
  EXPECT_TRUE(rig.connection->available());
  rig.accept(Rig::setting(3, 2));
  rig.send();
  EXPECT_TRUE(rig.connection->available());
  rig.send();
  EXPECT_FALSE(rig.connection->available());
  const int before = rig.available;
  rig.feed(Rig::head(1, "200", {}, true));
  EXPECT_TRUE(rig.connection->available());
  EXPECT_GT(rig.available, before);
  rig.feed(frame(FrameType::settings, 0, 0, Rig::setting(3, 100)));
  rig.send();
  EXPECT_TRUE(rig.connection->available());
  rig.send();
  EXPECT_FALSE(rig.connection->available());
}

// Before its SETTINGS a server is given no more than it allowed before.
TEST(Http2Backend, RemembersWhatTheServerAllows) {
  const auto known = std::make_shared<uint32_t>(UINT32_MAX);
  Rig first({.server_streams = known});
  first.accept(Rig::setting(3, 2));
  EXPECT_EQ(*known, 2u);
  Rig second({.server_streams = known});
  second.send();
  EXPECT_TRUE(second.connection->available());
  second.send();
  EXPECT_FALSE(second.connection->available());
  second.accept(Rig::setting(3, 50));
  EXPECT_TRUE(second.connection->available());
  EXPECT_EQ(*known, 50u);
  *known = 0;  // a stream is asked for all the same: it may allow one by then
  EXPECT_TRUE(Rig({.server_streams = known}).connection->available());
}

TEST(Http2Backend, FieldsOfTheConnectionStayBehind) {
  Rig rig;
  rig.accept();
  rig.sent();
  rig.prepare = [](http::Request& r) {
    r.fields.add("Connection", "x");
    r.fields.add("TE", "trailers");
    r.fields.add("Host", "other.test");
    r.fields.add("X-Mixed", "1");
    r.fields.add("Transfer-Encoding", "chunked");
  };
  rig.send();
  nghttp2_hd_inflater* inflater = nullptr;
  nghttp2_hd_inflate_new(&inflater);
  const auto frames = rig.sent();
  ASSERT_EQ(frames.size(), 1u);
  std::string fields;
  Bytes in = as_bytes(frames[0].payload);
  for (;;) {
    nghttp2_nv nv;
    int flags = 0;
    const auto n = nghttp2_hd_inflate_hd3(inflater, &nv, &flags, in.data(), in.size(), 1);
    ASSERT_GE(n, 0);
    in = in.subspan(static_cast<size_t>(n));
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
      fields.append(reinterpret_cast<char*>(nv.name), nv.namelen).append("=");
      fields.append(reinterpret_cast<char*>(nv.value), nv.valuelen).append(" ");
    }
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
  }
  nghttp2_hd_inflate_del(inflater);
  EXPECT_EQ(fields,
            ":method=GET :scheme=https :authority=backend.test :path=/a?b te=trailers x-mixed=1 ");
}

TEST(Http2Backend, BodyWithTrailersAsTheWindowAllows) {
  Rig rig;
  rig.accept(Rig::setting(4, 10));
  rig.sent();
  BackendExchange& e = rig.send("POST", false);
  e.stream->send_request_body(pqedge::test::slice_of("0123456789abcde"));
  http::Fields trailers(e.arena);
  trailers.add("x-sum", "7");
  e.stream->send_request_end(&trailers);
  rig.settle();
  EXPECT_EQ(e.stream->request_backlog(), 5u);
  rig.feed(frame(FrameType::window_update, 0, 1, be32(100)));
  std::string body;
  size_t heads = 0;
  for (const ParsedFrame& f : rig.sent()) {
    if (f.head.type == FrameType::data) {
      body += f.payload;
      EXPECT_EQ(f.head.flags & flag::kEndStream, 0);
    }
    if (f.head.type == FrameType::headers) ++heads;
  }
  EXPECT_EQ(body, "0123456789abcde");
  EXPECT_EQ(heads, 2u);
  rig.feed(Rig::head(1, "200", {}, true));
  EXPECT_EQ(e.events, "head(200,end) ");
}

TEST(Http2Backend, WritableAgainBelowTheMark) {
  Rig rig;
  rig.accept();
  BackendExchange& e = rig.send("POST", false);
  const std::string chunk(32 * 1024, 'x');
  for (int i = 0; i < 8; ++i) e.stream->send_request_body(pqedge::test::slice_of(chunk));
  rig.settle();  // 64 KiB - 1 of window
  EXPECT_EQ(e.events, "");
  rig.feed(frame(FrameType::window_update, 0, 0, be32(1 << 20)) +
           frame(FrameType::window_update, 0, 1, be32(1 << 20)));
  EXPECT_EQ(e.events, "writable ");
  EXPECT_EQ(e.stream->request_backlog(), 0u);
}

// A client that reads slowly holds up its own stream and no other.
TEST(Http2Backend, CreditOfTheStreamIsTheHandlersAndTheConnectionsIsNot) {
  auto limits = pqedge::test::patient_limits();
  limits->body_window = 64 * 1024;
  limits->connection_window = 128 * 1024;
  Rig rig({}, limits);
  rig.accept();
  BackendExchange& slow = rig.send();
  slow.credit = false;
  rig.sent();
  rig.feed(Rig::head(1, "200"));
  for (int i = 0; i < 4; ++i) rig.feed(Rig::data(1, std::string(16 * 1024, 'x')));
  size_t of_stream = 0;
  size_t of_connection = 0;
  for (const ParsedFrame& f : rig.sent(FrameType::window_update)) {
    ++(f.head.stream_id == 0 ? of_connection : of_stream);
  }
  EXPECT_EQ(of_stream, 0u);
  EXPECT_GT(of_connection, 0u);
  slow.stream->response_consumed(64 * 1024);
  rig.settle();
  of_stream = 0;
  for (const ParsedFrame& f : rig.sent(FrameType::window_update)) {
    if (f.head.stream_id == 1)
      of_stream += load_be32(reinterpret_cast<const uint8_t*>(f.payload.data()));
  }
  EXPECT_EQ(of_stream, 64u * 1024);
}

TEST(Http2Backend, InformationalAnswersAndTrailers) {
  Rig rig;
  rig.accept();
  BackendExchange& e = rig.send();
  rig.feed(Rig::head(1, "103", literal("link", "</a>")) + Rig::head(1, "200") + Rig::data(1, "x") +
           frame(FrameType::headers, flag::kEndHeaders | flag::kEndStream, 1,
                 literal("grpc-status", "10")));
  EXPECT_EQ(e.events, "info(103) head(200) end ");
  EXPECT_EQ(e.message.trailers.get(http::Name::grpc_status), "10");
}

TEST(Http2Backend, NoBodyWhereThereIsNone) {
  for (const char* status : {"204", "304"}) {
    Rig rig;
    rig.accept();
    BackendExchange& e = rig.send();
    rig.feed(Rig::head(1, status));
    EXPECT_EQ(e.events, std::format("head({},end) ", status));
    ASSERT_EQ(rig.sent(FrameType::rst_stream).size(), 1u);
    EXPECT_TRUE(rig.connection->available());
  }
  Rig rig;
  rig.accept();
  BackendExchange& e = rig.send("HEAD");
  rig.feed(Rig::head(1, "200", literal("content-length", "7"), true));
  EXPECT_EQ(e.events, "head(200,end) ");
  EXPECT_EQ(e.fields, "Content-Length: 7\n");
}

// K33: what GOAWAY leaves out was surely not processed, whatever its method; the rest goes on.
TEST(Http2Backend, GoawayRefusesWhatIsAboveIt) {
  Rig rig;
  rig.accept();
  BackendExchange& kept = rig.send();
  BackendExchange& get = rig.send();
  BackendExchange& post = rig.send("POST", false);
  post.stream->send_request_body(pqedge::test::slice_of("body"));
  rig.settle();
  rig.feed(Rig::goaway(1));
  EXPECT_EQ(rig.going_away, "1/2 ");
  EXPECT_EQ(get.events, reset_event(Abort::refused, true));
  EXPECT_EQ(post.events, reset_event(Abort::refused, true));
  EXPECT_FALSE(rig.connection->available());
  EXPECT_FALSE(rig.closed);
  rig.feed(Rig::head(1, "200") + Rig::data(1, "still", true));
  EXPECT_EQ(kept.events, "head(200) end ");
  EXPECT_TRUE(rig.closed);
}

// The first of two: no stream is refused, and no new one is opened.
TEST(Http2Backend, ShutdownNoticeRefusesNothing) {
  Rig rig;
  rig.accept();
  BackendExchange& e = rig.send();
  rig.feed(Rig::goaway(0x7fffffff));
  EXPECT_EQ(rig.going_away, "1/0 ");
  EXPECT_FALSE(rig.connection->available());
  rig.feed(Rig::goaway(1) + Rig::head(1, "200", {}, true));
  EXPECT_EQ(e.events, "head(200,end) ");
  EXPECT_TRUE(rig.closed);
}

TEST(Http2Backend, RefusedStreamIsUnanswered) {
  Rig rig;
  rig.accept();
  BackendExchange& e = rig.send("POST");
  rig.feed(Rig::reset(1, ErrorCode::refused_stream));
  EXPECT_EQ(e.events, reset_event(Abort::refused, true));
  EXPECT_TRUE(rig.connection->available());
  BackendExchange& f = rig.send();
  rig.feed(Rig::reset(3, ErrorCode::http_1_1_required));
  EXPECT_EQ(f.events, reset_event(Abort::refused, true));
  EXPECT_EQ(rig.http11, 1);
}

// A stream that is cut is never a whole answer, not with NO_ERROR either (K58).
TEST(Http2Backend, CutStreamsAreVisible) {
  for (const ErrorCode code : {ErrorCode::no_error, ErrorCode::cancel, ErrorCode::internal_error}) {
    Rig rig;
    rig.accept();
    BackendExchange& e = rig.send();
    rig.feed(Rig::head(1, "200") + Rig::data(1, "half") + Rig::reset(1, code));
    EXPECT_EQ(e.body, "half");
    EXPECT_EQ(e.events, "head(200) " + reset_event(Abort::cancelled, false));
  }
  Rig rig;
  rig.accept();
  BackendExchange& e = rig.send();
  rig.feed(Rig::head(1, "200") + Rig::data(1, "half"));
  rig.end_input();
  EXPECT_EQ(e.events, "head(200) " + reset_event(Abort::connection_lost, false));
  EXPECT_TRUE(rig.closed);
}

TEST(Http2Backend, LengthThatIsNotKeptIsVisible) {
  Rig rig;
  rig.accept();
  BackendExchange& e = rig.send();
  rig.feed(Rig::head(1, "200", literal("content-length", "10")) + Rig::data(1, "short", true));
  EXPECT_EQ(e.events, "head(200) " + reset_event(Abort::protocol_error, false));
  EXPECT_TRUE(rig.connection->available());
}

TEST(Http2Backend, LostConnections) {
  {
    Rig rig;  // the first request on it: it may have been processed
    rig.accept();
    BackendExchange& first = rig.send();
    BackendExchange& second = rig.send();
    rig.end_input();
    EXPECT_EQ(first.events, reset_event(Abort::connection_lost, false));
    EXPECT_TRUE(first.sent);
    EXPECT_EQ(second.events, reset_event(Abort::connection_lost, true));
  }
  {
    Rig rig;
    rig.accept();
    rig.sent();
    rig.stream->room = 0;  // the kernel takes no byte of it
    BackendExchange& e = rig.send("POST");
    EXPECT_FALSE(e.stream->anything_sent());
    rig.stream->break_transport();
    rig.settle();
    EXPECT_EQ(e.events, reset_event(Abort::connection_lost, true));
    EXPECT_FALSE(e.sent);
  }
}

TEST(Http2Backend, NotHttp2AtAll) {
  Rig rig;
  BackendExchange& e = rig.send();
  rig.feed("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(e.events, reset_event(Abort::protocol_error, false));
  EXPECT_TRUE(rig.closed);
  EXPECT_EQ(e.detail, "the backend does not speak HTTP/2");
}

// RFC 9113 6.3, RFC 9218 7.1, whatever pieces they come in.
TEST(Http2Backend, WrongPrioritiesEndTheConnection) {
  const std::string weight = "w";
  const std::string wrong[] = {
      frame(FrameType::priority, 0, 0, be32(3) + weight),
      frame(FrameType::priority, 0, 1, be32(3)),
      frame(FrameType::priority, 0, 1, be32(1) + weight),
      frame(FrameType::headers, flag::kEndHeaders | flag::kPriority, 1,
            be32(1) + weight + literal(":status", "200")),
      frame(FrameType::priority_update, 0, 0, be32(1) + "u=1"),
  };
  for (const std::string& bytes : wrong) {
    for (const size_t piece : {size_t{1}, size_t{7}, bytes.size()}) {
      Rig rig;
      rig.accept();
      rig.send();
      rig.feed(frame(FrameType::priority, 0, 1, be32(3) + weight));  // as it may be
      EXPECT_FALSE(rig.closed);
      for (size_t at = 0; at < bytes.size(); at += piece) rig.feed(bytes.substr(at, piece));
      EXPECT_TRUE(rig.closed);
    }
  }
}

TEST(Http2Backend, LimitsOfHeads) {
  auto limits = pqedge::test::patient_limits();
  limits->max_response_head = 1024;
  Rig rig({}, limits);
  rig.accept();
  BackendExchange& e = rig.send();
  rig.feed(Rig::head(1, "200", literal("x", std::string(2000, 'y'))));
  EXPECT_EQ(e.events, reset_event(Abort::protocol_error, false));
  EXPECT_TRUE(rig.connection->available());
  BackendExchange& many = rig.send();
  for (int i = 0; i < 17; ++i) rig.feed(Rig::head(3, "103"));
  EXPECT_TRUE(many.events.ends_with(reset_event(Abort::protocol_error, false)));
}

TEST(Http2Backend, CancelledStreamsGoAndTheConnectionStays) {
  Rig rig;
  rig.accept();
  BackendExchange& never = rig.open();
  never.stream->cancel();
  BackendExchange& e = rig.send();
  rig.sent();
  e.stream->cancel();
  rig.settle();
  const auto resets = rig.sent(FrameType::rst_stream);
  ASSERT_EQ(resets.size(), 1u);
  EXPECT_EQ(resets[0].error(), ErrorCode::cancel);
  rig.feed(Rig::head(1, "200") + Rig::data(1, "late", true));
  EXPECT_EQ(e.events, "");
  EXPECT_TRUE(rig.connection->available());
  BackendExchange& next = rig.send();
  rig.feed(Rig::head(3, "200", {}, true));
  EXPECT_EQ(next.events, "head(200,end) ");
}

TEST(Http2Backend, ClosesInGoodOrder) {
  Rig rig;
  rig.accept();
  rig.sent();
  MemoryStream* const stream = rig.stream;
  rig.connection->close();
  EXPECT_FALSE(rig.connection->available());
  ASSERT_NE(stream, nullptr);
  rig.settle();
  EXPECT_TRUE(rig.closed);
}

// A peer that does not show that it lives gets no further request, and is given up in the end.
TEST(Http2Backend, ProbesWhoIsLate) {
  {
    Rig rig;
    rig.accept();
    rig.send();
    rig.sent();
    rig.connection->probe();
    EXPECT_FALSE(rig.connection->available());
    rig.settle();
    const auto pings = rig.sent(FrameType::ping);
    ASSERT_EQ(pings.size(), 1u);
    const int before = rig.available;
    rig.feed(frame(FrameType::ping, flag::kAck, 0, pings[0].payload));
    EXPECT_TRUE(rig.connection->available());
    EXPECT_GT(rig.available, before);
  }
  Rig rig({.probe_timeout = 1});
  rig.accept();
  BackendExchange& e = rig.send();
  rig.connection->probe();
  for (int i = 0; i < 200 && !rig.closed; ++i) rig.loop->run_once(kMillisecond);
  EXPECT_TRUE(rig.closed);
  EXPECT_EQ(e.detail, "the backend does not answer a PING");
}

TEST(Http2Backend, LengthOfTheRequestIsKept) {
  Rig rig;
  rig.accept();
  BackendExchange& e = rig.send("POST", false, 3);
  e.stream->send_request_body(pqedge::test::slice_of("four"));
  rig.settle();
  EXPECT_EQ(e.events, reset_event(Abort::internal_error, false));
  BackendExchange& f = rig.send("POST", false, 3);
  f.stream->send_request_body(pqedge::test::slice_of("ab"));
  f.stream->send_request_end(nullptr);
  rig.settle();
  EXPECT_EQ(f.events, reset_event(Abort::internal_error, false));
  EXPECT_TRUE(rig.connection->available());
}

}  // namespace
}  // namespace pqedge::http2::test
