// Requests and answers over real sockets, with nghttp3 as the client.
#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "unit/wire/http3_test_client.h"
#include "unit/wire/http3_test_server.h"

namespace pqedge::wire_test {
namespace {

// HEADERS of GET https://localhost/ from the static table alone (RFC 9204 A).
const std::string kPlainGet = *from_hex("01100000d1d7c150096c6f63616c686f7374");

class Http3Message : public ::testing::Test {
 protected:
  void serve(Http3TestServer::Options options = {}) {
    server_ = std::make_unique<Http3TestServer>(*loop_, std::move(options));
    connect();
  }
  void connect() {
    client_ = std::make_unique<Http3TestClient>(
        *loop_, QuicTestClient::Options{.server = server_->address()});
    ASSERT_TRUE(run([&] { return client_->handshake_done(); }));
  }
  bool run(const std::function<bool()>& done) { return run_until(*loop_, done); }
  bool answered(int64_t id) {
    return run([&] { return client_->answered(id) || client_->stream(id).closed; });
  }

  std::unique_ptr<net::Loop> loop_ = *net::Loop::create();
  std::unique_ptr<Http3TestServer> server_;
  std::unique_ptr<Http3TestClient> client_;
};

TEST_F(Http3Message, AHybridHandshakeOfSeveralInitialsAndAGet) {
  serve();
  EXPECT_EQ(client_->group(), "X25519MLKEM768");
  // The hello with an ML-KEM share takes two Initials at least.
  int initials = 0;
  for (const Datagram& d : client_->sent()) initials += (d[0] & 0xf0) == 0xc0 ? 1 : 0;
  EXPECT_GE(initials, 2);

  const int64_t id = client_->get("/a%20b?x=1", {{"accept", "*/*"}, {"x-own", "Value"}});
  ASSERT_TRUE(answered(id));
  EXPECT_EQ(client_->answer(id).status, 200);
  EXPECT_EQ(client_->answer(id).body, "/a%20b?x=1");
  EXPECT_EQ(client_->header(id, "content-length"), "10");
  EXPECT_EQ(client_->header(id, "x-mixed-case"), "kept");  // RFC 9114 4.2: lower case

  TestExchange& e = server_->exchange(0);
  EXPECT_TRUE(e.head_was_end);
  EXPECT_EQ(e.request().version, http::Version::http3);
  EXPECT_EQ(e.request().method, http::Method::get);
  EXPECT_EQ(e.request().scheme, "https");
  EXPECT_EQ(e.request().authority, "localhost");
  EXPECT_EQ(e.request().target, "/a%20b?x=1");
  EXPECT_EQ(e.request().body, http::BodyKind::none);
  EXPECT_EQ(e.field("x-own"), "Value");
  EXPECT_TRUE(run([&] { return e.finished; }));
  const net::ConnectionFacts& facts = server_->facts(0);
  EXPECT_EQ(facts.transport, net::Transport::quic);
  EXPECT_EQ(facts.group, "X25519MLKEM768");
  EXPECT_EQ(facts.alpn, "h3");
  EXPECT_EQ(facts.sni, "localhost");
  EXPECT_TRUE(facts.post_quantum);
  EXPECT_EQ(facts.peer, client_->local());
  EXPECT_EQ(facts.local, server_->address());
}

TEST_F(Http3Message, ManyRequestsUseTheDynamicTableBothWays) {
  serve();
  for (int i = 0; i < 300; ++i) {
    const int64_t id = client_->get("/path/" + std::to_string(i % 7),
                                    {{"cookie", "session=0123456789abcdef"}, {"x-i", "constant"}});
    ASSERT_TRUE(answered(id)) << i;
    ASSERT_EQ(client_->answer(id).body, "/path/" + std::to_string(i % 7));
  }
  EXPECT_EQ(server_->exchanges(), 300u);
}

TEST_F(Http3Message, APostArrivesWholeWithItsLength) {
  serve();
  const std::string body(300'000, 'b');
  const int64_t id = client_->post("/upload", body);
  ASSERT_TRUE(answered(id));
  TestExchange& e = server_->exchange(0);
  EXPECT_EQ(e.body, body);
  EXPECT_EQ(e.request().body, http::BodyKind::length);
  EXPECT_EQ(e.request().content_length, body.size());
  EXPECT_FALSE(e.head_was_end);
  EXPECT_TRUE(e.ended);
}

TEST_F(Http3Message, APostWithoutALengthIsAStream) {
  serve();
  const std::string body = "some";
  const int64_t id = client_->request(
      {{":method", "POST"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", "/"}},
      &body);
  ASSERT_TRUE(answered(id));
  EXPECT_EQ(server_->exchange(0).request().body, http::BodyKind::stream);
  EXPECT_EQ(server_->exchange(0).body, "some");
}

// A GET whose end comes in a STREAM frame of its own has no body all the same.
TEST_F(Http3Message, AnEndInAFrameOfItsOwnIsSeenWithTheHead) {
  serve();
  const std::string none;
  const int64_t id = client_->request(
      {{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", "/"}},
      &none);
  ASSERT_TRUE(answered(id));
  EXPECT_TRUE(server_->exchange(0).head_was_end);
  EXPECT_EQ(server_->exchange(0).request().body, http::BodyKind::none);
}

// http/stream.h: at most the window beyond what was given back; K19: no byte is lost meanwhile.
TEST_F(Http3Message, AnUploadStopsAtTheWindowUntilItIsCredited) {
  Http3TestServer::Options options;
  options.limits.body_window = 40'000;
  serve(std::move(options));
  server_->on_request = [](TestExchange& e) { e.credit = false; };
  std::string body(2'000'000, '\0');
  for (size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7 + i / 251);
  const int64_t id = client_->post("/", body);
  ASSERT_TRUE(
      run([&] { return server_->exchanges() == 1 && server_->exchange(0).held >= 40'000; }));
  settle(*loop_, 200);
  TestExchange& e = server_->exchange(0);
  EXPECT_EQ(e.held, 40'000u);
  while (!e.ended) {
    const size_t before = e.body.size();
    e.stream()->consumed(std::exchange(e.held, 0));
    ASSERT_TRUE(run([&] { return e.body.size() > before || e.ended; }));
    ASSERT_LE(e.held, 40'000u);
  }
  EXPECT_TRUE(e.body == body);
  ASSERT_TRUE(answered(id));
}

TEST_F(Http3Message, BodyBytesComeInRunsNotByThePacket) {
  serve();
  const int64_t id = client_->post("/", std::string(1'000'000, 'x'));
  ASSERT_TRUE(answered(id));
  EXPECT_LT(server_->exchange(0).body_calls, 500u);  // about 700 packets
}

TEST_F(Http3Message, AnAnswerLargerThanAllWindowsArrivesWithBackPressure) {
  serve();
  std::string all(6'000'000, '\0');
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i * 13 + i / 509);
  size_t at = 0;
  size_t largest = 0;
  server_->on_request = [&](TestExchange& e) {
    e.when_complete = [&](TestExchange& x) { x.begin_answer(200, all.size()); };
  };
  const int64_t id = client_->get("/");
  ASSERT_TRUE(run([&] { return server_->exchanges() == 1 && server_->exchange(0).ended; }));
  TestExchange& e = server_->exchange(0);
  while (at < all.size()) {
    while (at < all.size() && e.stream()->backlog() < 128 * 1024) {
      const size_t n = std::min<size_t>(20'000, all.size() - at);
      e.send(std::string_view(all).substr(at, n));
      at += n;
    }
    largest = std::max(largest, e.stream()->backlog());
    const int writable = e.writable;
    if (at == all.size()) break;
    ASSERT_TRUE(run([&] { return e.writable > writable; }));
  }
  e.stream()->send_end(nullptr);
  ASSERT_TRUE(answered(id));
  EXPECT_TRUE(client_->answer(id).body == all);
  EXPECT_LE(largest, 128 * 1024u + 20'000);
}

TEST_F(Http3Message, AnAnswerOfUnknownLengthHasTrailers) {
  serve();
  server_->on_request = [](TestExchange& e) {
    e.when_complete = [](TestExchange& x) {
      x.begin_answer(200);
      x.send("part one, ");
      x.send("part two");
      Arena arena;
      http::Fields trailers(arena);
      trailers.add("Grpc-Status", "0");
      x.stream()->send_end(&trailers);
    };
  };
  const int64_t id = client_->get("/");
  ASSERT_TRUE(answered(id));
  EXPECT_EQ(client_->answer(id).body, "part one, part two");
  EXPECT_EQ(client_->header(id, "content-length"), "(none)");
  ASSERT_EQ(client_->answer(id).trailers.size(), 1u);
  EXPECT_EQ(client_->answer(id).trailers[0],
            (std::pair<std::string, std::string>("grpc-status", "0")));
}

TEST_F(Http3Message, InformationalAnswersComeBeforeTheFinalOne) {
  serve();
  server_->on_request = [](TestExchange& e) {
    e.when_complete = [](TestExchange& x) {
      Arena arena;
      http::Response early(arena);
      early.status = 103;
      early.fields.add("Link", "</a.css>; rel=preload");
      x.stream()->send_informational(early);
      x.answer(200, "done");
    };
  };
  const int64_t id = client_->get("/");
  ASSERT_TRUE(answered(id));
  EXPECT_EQ(client_->answer(id).informational, std::vector<int>{103});
  EXPECT_EQ(client_->answer(id).status, 200);
}

TEST_F(Http3Message, AHeadAnswerHasTheLengthAndNoBody) {
  serve();
  server_->on_request = [](TestExchange& e) {
    e.when_complete = [](TestExchange& x) {
      Arena arena;
      http::Response r(arena);
      r.status = 200;
      r.body = http::BodyKind::length;
      r.content_length = 12345;
      x.stream()->send_head(r, true);
    };
  };
  const int64_t id = client_->request(
      {{":method", "HEAD"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", "/"}});
  ASSERT_TRUE(answered(id));
  EXPECT_EQ(client_->header(id, "content-length"), "12345");
  EXPECT_EQ(client_->answer(id).body, "");
}

TEST_F(Http3Message, ConnectionFieldsOfAnotherVersionAreLeftOut) {
  serve();
  server_->on_request = [](TestExchange& e) {
    e.when_complete = [](TestExchange& x) {
      Arena arena;
      http::Response r(arena);
      r.status = 200;
      r.fields.add("Connection", "keep-alive");
      r.fields.add("Keep-Alive", "5");
      r.fields.add("Transfer-Encoding", "chunked");
      r.fields.add("Content-Length", "99");
      r.body = http::BodyKind::length;
      r.content_length = 0;
      x.stream()->send_head(r, true);
    };
  };
  const int64_t id = client_->get("/");
  ASSERT_TRUE(answered(id));
  EXPECT_EQ(client_->answer(id).headers, (Http3TestClient::Headers{{"content-length", "0"}}));
}

// A dead backend must be seen: never a short success.
TEST_F(Http3Message, AnAnswerThatCannotBeCompletedIsReset) {
  serve();
  server_->on_request = [](TestExchange& e) {
    e.when_complete = [](TestExchange& x) {
      x.begin_answer(200, 1000);
      x.send("not a thousand bytes");
      x.stream()->reset(http::Abort::internal_error);
    };
  };
  const int64_t id = client_->get("/");
  ASSERT_TRUE(run([&] { return client_->stream(id).closed; }));
  EXPECT_EQ(client_->stream(id).reset, 0x102u);  // H3_INTERNAL_ERROR
  EXPECT_FALSE(client_->answered(id));
}

TEST_F(Http3Message, AnAnswerShorterThanAnnouncedIsResetToo) {
  serve();
  server_->on_request = [](TestExchange& e) {
    e.when_complete = [](TestExchange& x) {
      x.begin_answer(200, 1000);
      x.send("not a thousand bytes");
      x.stream()->send_end(nullptr);
    };
  };
  const int64_t id = client_->get("/");
  ASSERT_TRUE(run([&] { return client_->stream(id).closed && server_->exchange(0).reset; }));
  EXPECT_EQ(client_->stream(id).reset, 0x102u);
  EXPECT_EQ(server_->exchange(0).reset, http::Abort::internal_error);
}

TEST_F(Http3Message, AnEarlyAnswerStopsTheUpload) {
  serve();
  server_->on_request = [](TestExchange& e) {
    e.when_head = [](TestExchange& x) {
      x.stream()->ignore_request_body();
      x.answer(403, "no");
    };
  };
  const int64_t id = client_->post("/", std::string(5'000'000, 'x'));
  ASSERT_TRUE(run([&] { return client_->stream(id).closed; }));
  EXPECT_EQ(client_->answer(id).status, 403);
  EXPECT_EQ(client_->answer(id).body, "no");
  EXPECT_TRUE(client_->answer(id).ended);
  EXPECT_EQ(client_->stream(id).closed_with, 0x100u);  // STOP_SENDING with H3_NO_ERROR
  EXPECT_TRUE(server_->exchange(0).finished);
  // The connection lives, and its credit too.
  for (int i = 0; i < 3; ++i) {
    server_->on_request = nullptr;
    const int64_t next = client_->post("/", std::string(900'000, 'y'));
    ASSERT_TRUE(answered(next));
  }
}

// The answer is out and acknowledged before the exchange has taken all of the request.
TEST_F(Http3Message, ABodyIsDeliveredAfterItsStreamHasClosed) {
  Http3TestServer::Options options;
  options.limits.body_window = 1000;
  serve(std::move(options));
  server_->on_request = [](TestExchange& e) {
    e.credit = false;
    e.when_complete = nullptr;
    e.when_head = [](TestExchange& x) { x.answer(200, "early"); };
  };
  const int64_t id = client_->post("/", std::string(2500, 'b'));
  ASSERT_TRUE(run([&] { return client_->stream(id).closed; }));
  TestExchange& e = server_->exchange(0);
  while (!e.ended) {
    const size_t before = e.body.size();
    ASSERT_NE(e.stream(), nullptr);
    e.stream()->consumed(std::exchange(e.held, 0));
    ASSERT_TRUE(run([&] { return e.body.size() > before || e.ended; }));
  }
  EXPECT_EQ(e.body.size(), 2500u);
  EXPECT_TRUE(run([&] { return e.finished; }));
}

TEST_F(Http3Message, ARequestTheClientCancelsIsTold) {
  serve();
  server_->on_request = [](TestExchange& e) { e.when_complete = nullptr; };
  const int64_t id = client_->get("/slow");
  ASSERT_TRUE(run([&] { return server_->exchanges() == 1 && server_->exchange(0).ended; }));
  client_->stop_sending(id, 0x10c);
  ASSERT_TRUE(run([&] { return server_->exchange(0).reset.has_value(); }));
  EXPECT_EQ(server_->exchange(0).reset, http::Abort::cancelled);
}

// Clients split cookies; whoever is behind us gets one field (RFC 9114 4.2.1).
TEST_F(Http3Message, CookieCrumbsAreJoined) {
  serve();
  const int64_t id =
      client_->get("/", {{"cookie", "a=1"}, {"x", "y"}, {"cookie", "b=2"}, {"cookie", "c=3"}});
  ASSERT_TRUE(answered(id));
  EXPECT_EQ(server_->exchange(0).field("cookie"), "a=1; b=2; c=3");
  EXPECT_EQ(server_->exchange(0).request().fields.count(http::Name::cookie), 1u);
}

TEST_F(Http3Message, HeadsBeyondTheLimitsAre431And414) {
  Http3TestServer::Options options;
  options.limits.max_fields = 20;
  options.limits.max_head = 4096;
  options.limits.max_target = 100;
  serve(std::move(options));
  Http3TestClient::Headers crumbs;
  for (int i = 0; i < 30; ++i) crumbs.emplace_back("cookie", "c=" + std::to_string(i));
  struct Case {
    Http3TestClient::Headers more;
    std::string path;
    int status;
  };
  const Case cases[] = {{crumbs, "/", 431},
                        {{{"x", std::string(4096, 'x')}}, "/", 431},
                        {{{"x", std::string(4096 - 400, 'x')}}, "/", 200},  // 32 a field count too
                        {{}, "/" + std::string(99, 'p'), 200},
                        {{}, "/" + std::string(100, 'p'), 414}};
  for (const Case& c : cases) {
    const int64_t id = client_->get(c.path, c.more);
    ASSERT_TRUE(answered(id));
    EXPECT_EQ(client_->answer(id).status, c.status);
  }
}

TEST_F(Http3Message, BodiesBeyondTheLimitAre413) {
  Http3TestServer::Options options;
  options.limits.max_body = 1000;
  serve(std::move(options));
  const std::string body(1001, 'x');
  const int64_t id = client_->request(
      {{":method", "POST"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", "/"}},
      &body);
  ASSERT_TRUE(answered(id));
  EXPECT_EQ(client_->answer(id).status, 413);
  const int64_t good = client_->post("/", std::string(1000, 'x'));
  ASSERT_TRUE(answered(good));
  EXPECT_EQ(client_->answer(good).status, 200);
}

// RFC 9114 5.2: first a notice, then the true number; what runs is finished.
TEST_F(Http3Message, DrainingFinishesWhatRunsAndThenCloses) {
  serve();
  server_->on_request = [](TestExchange& e) { e.when_complete = nullptr; };
  const int64_t first = client_->get("/first");
  ASSERT_TRUE(run([&] { return server_->exchanges() == 1 && server_->exchange(0).ended; }));
  server_->connection(0)->drain(0);
  ASSERT_TRUE(run([&] { return client_->goaway() == (int64_t{1} << 62) - 4; }));
  const int64_t second = client_->open_bidirectional();  // was under way
  client_->write(second, kPlainGet, true);
  ASSERT_TRUE(run([&] { return client_->goaway() == second + 4; }));
  EXPECT_EQ(server_->exchanges(), 2u);
  server_->exchange(0).answer(200, "one");
  server_->exchange(1).answer(200, "two");
  ASSERT_TRUE(run([&] { return client_->closed().has_value(); }));
  EXPECT_TRUE(client_->answered(first));
  EXPECT_TRUE(client_->stream(second).ended);
  EXPECT_TRUE(client_->closed()->application);
  EXPECT_EQ(client_->closed()->code, 0x100u);
  EXPECT_TRUE(run([&] { return server_->closed(0) == ""; }));
}

TEST_F(Http3Message, RequestsAfterTheFinalGoawayAreRejected) {
  serve();
  server_->on_request = [](TestExchange& e) { e.when_complete = nullptr; };
  client_->get("/first");
  ASSERT_TRUE(run([&] { return server_->exchanges() == 1; }));
  server_->connection(0)->drain(0);
  ASSERT_TRUE(run([&] { return client_->goaway() == 4; }));
  const int64_t late = client_->open_bidirectional();
  client_->write(late, std::string_view("\x01\x00", 2));
  ASSERT_TRUE(run([&] { return client_->stream(late).closed || client_->stream(late).reset; }));
  EXPECT_EQ(client_->stream(late).reset, 0x10bu);  // H3_REQUEST_REJECTED
  EXPECT_EQ(server_->exchanges(), 1u);
}

TEST_F(Http3Message, ClosingNowTellsEveryone) {
  serve();
  server_->on_request = [](TestExchange& e) { e.when_complete = nullptr; };
  client_->get("/");
  ASSERT_TRUE(run([&] { return server_->exchanges() == 1; }));
  server_->connection(0)->close_now();
  EXPECT_EQ(server_->closed(0), "(open)");  // not within the call
  ASSERT_TRUE(run([&] { return client_->closed().has_value(); }));
  EXPECT_EQ(client_->closed()->code, 0x100u);
  EXPECT_EQ(server_->exchange(0).reset, http::Abort::connection_lost);
  EXPECT_EQ(server_->closed(0), "the server ends");
}

TEST_F(Http3Message, AClientThatClosesTakesItsRequestsAlong) {
  serve();
  server_->on_request = [](TestExchange& e) { e.when_complete = nullptr; };
  client_->get("/");
  ASSERT_TRUE(run([&] { return server_->exchanges() == 1; }));
  client_->close(0x100);
  ASSERT_TRUE(run([&] { return server_->closed(0) == ""; }));
  EXPECT_EQ(server_->exchange(0).reset, http::Abort::connection_lost);
  EXPECT_EQ(server_->listener().connections(), 0u);
}

TEST_F(Http3Message, AConnectionTakesSoManyRequestsAndNoMore) {
  Http3TestServer::Options options;
  options.limits.max_requests = 3;
  serve(std::move(options));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(answered(client_->get("/")));
  ASSERT_TRUE(run([&] { return client_->closed().has_value(); }));
  EXPECT_EQ(client_->closed()->code, 0x100u);
  EXPECT_EQ(client_->goaway(), 12);
}

TEST_F(Http3Message, TheListenerMayGoFirst) {
  serve();
  server_->on_request = [](TestExchange& e) { e.when_complete = nullptr; };
  client_->get("/");
  ASSERT_TRUE(run([&] { return server_->exchanges() == 1; }));
  server_->destroy_listener();
  EXPECT_EQ(server_->exchange(0).reset, http::Abort::connection_lost);
  EXPECT_EQ(server_->closed(0), "the listener is gone");
}

// RFC 9218: a PRIORITY_UPDATE or the field decides who goes first when both have much to send.
TEST_F(Http3Message, UrgentAnswersOvertake) {
  serve();
  server_->on_request = [](TestExchange& e) { e.when_complete = nullptr; };
  const int64_t slow = client_->get("/slow", {{"priority", "u=7"}});
  const int64_t fast = client_->get("/fast", {{"priority", "u=1"}});
  ASSERT_TRUE(run([&] {
    return server_->exchanges() == 2 && server_->exchange(0).ended && server_->exchange(1).ended;
  }));
  // Both are ready in one turn; 60 KB each do not fit the first window.
  server_->exchange(0).answer(200, std::string(60'000, 's'));
  server_->exchange(1).answer(200, std::string(60'000, 'f'));
  ASSERT_TRUE(answered(fast) && answered(slow));
  EXPECT_EQ(client_->order(), (std::vector<int64_t>{fast, slow}));
}

}  // namespace
}  // namespace pqedge::wire_test
