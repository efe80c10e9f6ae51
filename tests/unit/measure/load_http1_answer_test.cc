#include "measure/load/http1_answer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace pqedge::measure::load {
namespace {

struct Outcome {
  Http1Answer answer;
  std::string body;
  size_t taken = 0;
};

// Reads `text` in pieces of `step` bytes.
Outcome read(std::string_view text, size_t step, bool has_body = true) {
  Outcome outcome;
  outcome.answer.begin(has_body);
  while (outcome.taken < text.size() && !outcome.answer.done() && !outcome.answer.broken()) {
    std::span<const uint8_t> body;
    const size_t taken = outcome.answer.take(as_bytes(text.substr(outcome.taken, step)), body);
    outcome.taken += taken;
    outcome.body += as_text(body);
  }
  return outcome;
}

void expect_complete(std::string_view text, std::string_view rest, int status,
                     std::string_view body) {
  const std::string all = std::string(text) + std::string(rest);
  for (const size_t step : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, all.size()}) {
    const Outcome outcome = read(all, step);
    EXPECT_TRUE(outcome.answer.done()) << step;
    EXPECT_EQ(outcome.answer.status(), status) << step;
    EXPECT_EQ(outcome.body, body) << step;
    EXPECT_EQ(outcome.taken, text.size()) << step;
  }
}

TEST(LoadHttp1Answer, EndsAfterItsLength) {
  expect_complete("HTTP/1.1 200 OK\r\ncontent-LENGTH:  5 \r\nX: y\r\n\r\nhello", "HTTP/1.1 200",
                  200, "hello");
  expect_complete("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "next", 200, "");
}

// The chunked example of RFC 9112 7.1 in spirit: an extension, a trailer.
TEST(LoadHttp1Answer, EndsAfterTheLastChunkAndItsTrailers) {
  expect_complete(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "4\r\nWiki\r\n7;name=value\r\npedia i\r\nB\r\nn \r\nchunks.\r\n0\r\nExpires: never\r\n\r\n",
      "HTTP/1.1", 200, "Wikipedia in \r\nchunks.");
}

TEST(LoadHttp1Answer, PassesOverInterimAnswers) {
  expect_complete(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
      "HTTP/1.1 204 No Content\r\n\r\n",
      "more", 204, "");
}

TEST(LoadHttp1Answer, HasNoBodyWhereThereIsNone) {
  EXPECT_TRUE(read("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 5).answer.done());
  EXPECT_TRUE(read("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 5, false).answer.done());
}

TEST(LoadHttp1Answer, WithoutALengthTheEndIsTheConnections) {
  Outcome outcome = read("HTTP/1.1 200 OK\r\n\r\nall of it", 4);
  EXPECT_FALSE(outcome.answer.done());
  EXPECT_TRUE(outcome.answer.closes());
  outcome.answer.on_end();
  EXPECT_TRUE(outcome.answer.done());
  EXPECT_EQ(outcome.body, "all of it");
}

TEST(LoadHttp1Answer, ABodyCutShortIsNotComplete) {
  Outcome outcome = read("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", 64);
  outcome.answer.on_end();
  EXPECT_FALSE(outcome.answer.done());
  outcome = read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n", 64);
  outcome.answer.on_end();
  EXPECT_FALSE(outcome.answer.done());
}

TEST(LoadHttp1Answer, SeesTheAnnouncedClose) {
  EXPECT_TRUE(read("HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n", 9)
                  .answer.closes());
  EXPECT_TRUE(read("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", 9).answer.closes());
  EXPECT_FALSE(read("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 9).answer.closes());
}

TEST(LoadHttp1Answer, RefusesWhatItCannotFrame) {
  for (const std::string_view text : {
           "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
           "HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
           "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\na",
           "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
       }) {
    EXPECT_TRUE(read(text, 1).answer.broken()) << text;
    EXPECT_TRUE(read(text, text.size()).answer.broken()) << text;
  }
}

}  // namespace
}  // namespace pqedge::measure::load
