// The chunked coding (RFC 9112 7.1) and body reading.
#include <gtest/gtest.h>

#include <string>

#include "unit/wire/http1_support.h"
#include "wire/http1/body_reader.h"
#include "wire/http1/chunked.h"

namespace pqedge::http1 {
namespace {

struct Decoded {
  std::string body;
  std::string reason;
  bool done = false;
  size_t used = 0;
};

// Decodes with reads of `piece` bytes.
Decoded decode(std::string_view bytes, size_t piece, size_t max_data = SIZE_MAX) {
  ChunkedDecoder decoder;
  Decoded out;
  size_t end = 0;
  while (true) {
    const auto got = decoder.next(as_bytes(bytes.substr(out.used, end - out.used)), max_data);
    out.used += got.skip;
    switch (got.event) {
      case ChunkedDecoder::Event::need_more:
        if (end == bytes.size()) return out;
        end = std::min(bytes.size(), end + piece);
        break;
      case ChunkedDecoder::Event::data:
        out.body += bytes.substr(out.used, got.size);
        out.used += got.size;
        break;
      case ChunkedDecoder::Event::trailers: out.done = true; return out;
      case ChunkedDecoder::Event::error: out.reason = got.reason; return out;
    }
  }
}

TEST(Http1Chunked, DecodesWhateverThePieces) {
  // The Wikipedia article's well-known example, with extensions of each form added.
  const std::string bytes =
      "4\r\nWiki\r\n5;a\r\npedia\r\n00E;a=b;c=\"d\\\" ;\" ; e\r\n in\r\n\r\nchunks.\r\n0\r\n\r\n";
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    for (size_t max : {size_t{1}, size_t{3}, SIZE_MAX}) {
      const Decoded d = decode(bytes, piece, max);
      EXPECT_TRUE(d.done) << d.reason;
      EXPECT_EQ(d.body, "Wikipedia in\r\n\r\nchunks.");
      EXPECT_EQ(bytes.substr(d.used), "\r\n");
    }
  }
}

// K36: read differently in front and behind, once upon a time.
TEST(Http1Chunked, RefusesOddSizeLines) {
  for (const char* bad : {"2;\n",
                          "2\nab",
                          "2;a\rb",
                          "2;a=\"\r\n",
                          "2x\r\n",
                          "+2\r\n",
                          "-2\r\n",
                          "0x2\r\n",
                          " 2\r\n",
                          "2 \r\n",
                          "2\t\r\n",
                          "2\r\rab",
                          "2\r\nabc",
                          "2\r\nab\n",
                          "2\r\nab\rX",
                          "\r\n",
                          ";a\r\n",
                          "2;\r\n",
                          "2; \r\n",
                          "2;=a\r\n",
                          "2;a=\r\n",
                          "2;a \r\n",
                          "2;a=b \r\n",
                          "2;a=b c\r\n",
                          "2;a b\r\n",
                          "2;a;;b\r\n",
                          "2 a\r\n",
                          "2,3\r\n",
                          "2;a=\"b\"c\r\n",
                          "2;\xc3\xa9\r\n",
                          "00000000000000002\r\n",
                          "10000000000000000\r\n",
                          "g\r\n"}) {
    EXPECT_NE(decode(bad, 1).reason, "") << bad;
    EXPECT_NE(decode(bad, SIZE_MAX).reason, "") << bad;
  }
  EXPECT_NE(decode("2\r\nab\r\n0\n", 1).reason, "");  // the last line with LF alone
  EXPECT_NE(decode(std::string_view("2;a\0b\r\n", 7), 1).reason, "");
}

TEST(Http1Chunked, TakesTheLargestSizes) {
  EXPECT_EQ(decode("ffffffffffffffff\r\nab", 1).body, "ab");
  EXPECT_EQ(decode("000000000000000A\r\n", 1).reason, "");
}

// RFC 9112 7.1.1: the length of extensions is limited, of one and of all.
TEST(Http1Chunked, BoundsExtensions) {
  const std::string fits(ChunkedDecoder::kMaxExtension - 2, 'a');
  EXPECT_EQ(decode("1;" + fits + "\r\nx", 7).reason, "");
  EXPECT_NE(decode("1;" + fits + "aa\r\nx", 7).reason, "");
  std::string many;
  while (many.size() < 2 * ChunkedDecoder::kMaxExtensions) many += "1;aaaaaaaa\r\nx\r\n";
  EXPECT_NE(decode(many, SIZE_MAX).reason, "");
}

struct Reader {
  Arena arena;
  http::Fields trailers{arena};
  Input input;
  BodyReader body;
  std::string text;
  std::string reason;
  uint16_t status = 0;
  bool done = false;

  explicit Reader(Coding coding, uint64_t length = 0) { body.begin(coding, length); }
  void feed(std::string_view bytes) {
    while (!bytes.empty()) {
      const MutableBytes space = input.space();
      const size_t n = std::min(space.size(), bytes.size());
      std::memcpy(space.data(), bytes.data(), n);
      input.filled(n);
      bytes.remove_prefix(n);
      read();
    }
  }
  void read() {
    while (!done && status == 0) {
      auto got = body.next(input, SIZE_MAX, {0, 8, 1024}, trailers);
      if (got.event == BodyReader::Event::need_more) return;
      if (got.event == BodyReader::Event::data) text += as_text(got.data.bytes());
      if (got.event == BodyReader::Event::end) done = true;
      if (got.event == BodyReader::Event::error) {
        status = got.refusal.status;
        reason = got.refusal.reason;
      }
    }
  }
};

// RFC 9112 7.1.2.
TEST(Http1Body, ReadsTrailers) {
  const std::string bytes = "3\r\nabc\r\n0\r\nExpires: never\r\nX-Sum:  1 \r\n\r\nGET /";
  for (size_t cut = 1; cut < bytes.size() - 5; ++cut) {
    Reader r(Coding::chunked);
    r.feed(std::string_view(bytes).substr(0, cut));
    r.feed(std::string_view(bytes).substr(cut));
    ASSERT_TRUE(r.done) << r.reason;
    EXPECT_EQ(r.text, "abc");
    EXPECT_EQ(test::fields_text(r.trailers), "Expires: never\nX-Sum: 1\n");
    EXPECT_EQ(as_text(r.input.pending()), "GET /");
  }
}

TEST(Http1Body, RefusesBadTrailers) {
  for (const char* bad : {"0\r\nA: b\n\r\n", "0\r\nA\r\n\r\n", "0\r\n A: b\r\n\r\n",
                          "0\r\nA : b\r\n\r\n", "0\r\nA: b\r\n c\r\n\r\n", "0\r\n\n"}) {
    Reader r(Coding::chunked);
    r.feed(bad);
    EXPECT_EQ(r.status, 400) << bad;
  }
  Reader endless(Coding::chunked);
  endless.feed("0\r\n");
  for (int i = 0; i < 9; ++i) endless.feed("A: b\r\n");
  EXPECT_EQ(endless.status, 431);
  Reader large(Coding::chunked);
  large.feed("0\r\nA: " + std::string(2000, 'x'));
  EXPECT_EQ(large.status, 431);
}

TEST(Http1Body, ReadsByLengthAndToTheEnd) {
  Reader length(Coding::length, 70'000);
  length.feed(std::string(70'000, 'x') + "GET /");
  EXPECT_TRUE(length.done);
  EXPECT_EQ(length.text.size(), 70'000u);
  EXPECT_EQ(as_text(length.input.pending()), "GET /");
  Reader rest(Coding::until_close);
  rest.feed(std::string(70'000, 'x'));
  EXPECT_EQ(rest.text.size(), 70'000u);
  EXPECT_FALSE(rest.done);
}

// A body byte is never copied, and a chunk is read into for as long as it has room.
TEST(Http1Input, HandsOutSlicesOfTheChunkThatWasReadInto) {
  Input input;
  MutableBytes space = input.space();
  const uint8_t* begin = space.data();
  std::memcpy(space.data(), "abcdef", 6);
  input.filled(6);
  const Slice first = input.take(2);
  EXPECT_EQ(first.data, begin);
  const Slice second = input.take(4);
  EXPECT_EQ(second.data, begin + 2);
  EXPECT_EQ(input.space().data(), begin + 6);  // shared with the slices: beside them
  input.release();
  EXPECT_EQ(as_text(first.bytes()), "ab");
}

TEST(Http1Input, KeepsALongHeadInOnePiece) {
  Input input;
  std::string head;
  const auto feed = [&](size_t n, char c) {
    while (n > 0) {
      const MutableBytes space = input.space();
      const size_t part = std::min(n, space.size());
      std::memset(space.data(), c, part);
      input.filled(part);
      head.append(part, c);
      n -= part;
    }
  };
  feed(100, 'a');
  input.consume(100);
  head.clear();
  feed(20'000, 'b');
  feed(30'000, 'c');
  feed(40'000, 'd');
  EXPECT_EQ(input.head(), head);
  input.consume_head(head.size() - 5);
  EXPECT_EQ(as_text(input.pending()), "ddddd");
  EXPECT_EQ(input.head(), "ddddd");
  EXPECT_EQ(input.consumed(), 100 + head.size() - 5);
}

TEST(Http1Input, ClearForgetsALongHead) {
  const size_t before = Chunk::live();
  Input input;
  for (int i = 0; i < 3; ++i) input.filled(input.space().size());
  EXPECT_GT(input.head().size(), Chunk::kCapacity);
  input.clear();
  EXPECT_EQ(Chunk::live(), before);
  EXPECT_TRUE(input.head().empty());
  EXPECT_EQ(input.consumed(), 3 * Chunk::kCapacity);
  input.space()[0] = 'x';
  input.filled(1);
  EXPECT_EQ(input.head(), "x");
}

}  // namespace
}  // namespace pqedge::http1
