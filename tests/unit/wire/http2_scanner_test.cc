// The frame scanner and the flood budget by themselves.
#include <gtest/gtest.h>

#include "http2_support.h"
#include "wire/http2/frame_scanner.h"

namespace pqedge::http2 {
namespace {

using test::be32;
using test::frame;

constexpr Nanos kStart = 1000 * kSecond;
constexpr size_t kMaxBlock = 64 * 1024;

class Scan : public ::testing::Test {
 protected:
  FrameScanner::Result scan(std::string_view bytes, Nanos now = kStart) {
    return scanner.scan(as_bytes(bytes), now);
  }
  // Frames that may pass in a row without a moment going by.
  size_t passes(const std::string& one, size_t at_most = 20'000) {
    for (size_t n = 0; n < at_most; ++n) {
      if (scan(one).stop == FrameScanner::Stop::flood) return n;
    }
    return at_most;
  }

  FloodBudget budget{kStart};
  FrameScanner scanner{budget, kMaxBlock};
  std::string preface = std::string(kPreface) + frame(FrameType::settings, 0, 0);
};

TEST_F(Scan, PrefaceAndFramesInAnyPieces) {
  const std::string all = preface + frame(FrameType::headers, flag::kEndHeaders, 1, "abc") +
                          frame(FrameType::data, 0, 1, std::string(100, 'x')) +
                          frame(FrameType::ping, 0, 0, "12345678");
  for (size_t piece = 1; piece <= all.size(); ++piece) {
    FloodBudget b(kStart);
    FrameScanner s(b, kMaxBlock);
    for (size_t at = 0; at < all.size(); at += piece) {
      const auto part = as_bytes(std::string_view(all).substr(at, piece));
      const auto r = s.scan(part, kStart);
      ASSERT_EQ(r.stop, FrameScanner::Stop::none);
      ASSERT_EQ(r.size, part.size());
    }
    EXPECT_EQ(s.highest_stream(), 1u);
    EXPECT_EQ(b.points(), FloodBudget::kCapacity - 2 * FloodBudget::kFrame) << piece;
  }
}

// RFC 9113 5.1.1; nghttp2 drops such a frame without a callback (nghttp2#2278).
TEST_F(Scan, OldStreamStopsBeforeItsFrame) {
  const std::string before = preface + frame(FrameType::headers, flag::kEndHeaders, 5, "abc");
  const std::string old = frame(FrameType::headers, flag::kEndHeaders, 3, "abc");
  for (size_t cut = 0; cut <= kFrameHeaderSize; ++cut) {
    FloodBudget b(kStart);
    FrameScanner s(b, kMaxBlock);
    // `cut` bytes of the frame's header come with what is before it.
    const std::string first = before + old.substr(0, cut);
    auto r = s.scan(as_bytes(first), kStart);
    std::string_view rest = std::string_view(old).substr(cut);
    if (cut < kFrameHeaderSize) {
      ASSERT_EQ(r.stop, FrameScanner::Stop::none);
      ASSERT_EQ(r.size, first.size());
      r = s.scan(as_bytes(rest), kStart);
      EXPECT_EQ(r.size, 0u);  // nghttp2 never has the whole header
    } else {
      EXPECT_EQ(r.size, before.size());
      rest = old;
    }
    EXPECT_EQ(r.stop, FrameScanner::Stop::old_stream);
    EXPECT_EQ(r.stream_id, 3u);
    s.permit(3);
    r = s.scan(as_bytes(rest), kStart);
    EXPECT_EQ(r.stop, FrameScanner::Stop::none);
    EXPECT_EQ(r.size, rest.size());
    EXPECT_EQ(s.highest_stream(), 5u);
    // A permit is good for one frame.
    EXPECT_EQ(s.scan(as_bytes(old), kStart).stop, FrameScanner::Stop::old_stream);
  }
}

TEST_F(Scan, LongBlockOverContinuations) {  // RFC 9113 10.5.1
  scan(preface);
  ASSERT_EQ(scan(frame(FrameType::headers, 0, 1, std::string(16'000, 'x'))).stop,
            FrameScanner::Stop::none);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(scan(frame(FrameType::continuation, 0, 1, std::string(16'000, 'x'))).stop,
              FrameScanner::Stop::none);
  }
  EXPECT_EQ(scan(frame(FrameType::continuation, 0, 1, std::string(16'000, 'x'))).stop,
            FrameScanner::Stop::long_block);
}

// Strings that nghttp2 does not decode are found before it sees their length, whatever is before
// them in the block (RFC 7541 5.1, 5.2, 6).
TEST(HpackStrings, FindsTheLongOne) {
  const std::string before = std::string("\x82") +             // indexed
                             "\xff\x80\x01" +                  // indexed, 127 + 128
                             "\x3f\xe1\x1f" +                  // table size 4096
                             test::literal("name", "value") +  // new name
                             test::literal("n", std::string(300, 'x')) +
                             std::string("\x0f\x01\x00", 3) +  // indexed name 16, empty value
                             "\x10" + test::literal("a", "b").substr(1) +
                             std::string("\x40\x00\x00", 3);  // empty name and value
  const std::pair<std::string, bool> longs[] = {
      {test::literal("long", std::string(66'000, 'v')), false},
      {test::literal(std::string(66'000, 'v'), "name"), false},
      {"\x44" + test::literal("", std::string(66'000, 'v')).substr(2), true},
      {"\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", true},
  };
  for (const auto& [last, path] : longs) {
    const std::string all = before + last;
    for (const size_t cut : {size_t{1}, size_t{2}, size_t{7}, all.size()}) {
      HpackStrings s;
      s.begin();
      size_t passed = 0;
      for (size_t at = 0; at < all.size(); at += cut) {
        const auto part = as_bytes(std::string_view(all).substr(at, cut));
        const size_t n = s.pass(part);
        passed += n;
        if (n < part.size()) break;
      }
      EXPECT_GT(passed, before.size()) << cut;
      EXPECT_LT(passed, before.size() + 12) << cut;
      EXPECT_EQ(s.at_path(), path);
    }
  }
  HpackStrings good;
  good.begin();
  const std::string all = before + test::literal("long", std::string(65'536, 'v')) + before;
  EXPECT_EQ(good.pass(as_bytes(all)), all.size());
}

TEST_F(Scan, ClockOfTheHeadRunsFromHeadersToEndHeaders) {
  scanner.expect_preface(kStart);
  EXPECT_EQ(scanner.head_began(), kStart);
  scan(preface);
  EXPECT_EQ(scanner.head_began(), kNever);
  const std::string head = frame(FrameType::headers, 0, 1, "abc");
  scan(head.substr(0, 10), kStart + 1);
  EXPECT_EQ(scanner.head_began(), kStart + 1);
  scan(head.substr(10), kStart + 2);
  EXPECT_EQ(scanner.head_began(), kStart + 1);
  scan(frame(FrameType::continuation, 0, 1, "abc"), kStart + 3);
  EXPECT_EQ(scanner.head_began(), kStart + 1);
  scan(frame(FrameType::continuation, flag::kEndHeaders, 1, "abc"), kStart + 4);
  EXPECT_EQ(scanner.head_began(), kNever);
  scan(frame(FrameType::headers, flag::kEndHeaders, 3, ""), kStart + 5);
  EXPECT_EQ(scanner.head_began(), kNever);
}

TEST_F(Scan, EachFloodRunsOut) {
  struct Case {
    const char* what;
    std::string bytes;
    Charge charge;
    size_t at_most;
  };
  const Case cases[] = {
      {"PING, CVE-2019-9512", frame(FrameType::ping, 0, 0, "12345678"), Charge::ping, 1000},
      {"SETTINGS, CVE-2019-9515", frame(FrameType::settings, 0, 0), Charge::settings, 250},
      {"SETTINGS ACK", frame(FrameType::settings, flag::kAck, 0), Charge::unknown, 1000},
      {"PRIORITY, CVE-2019-9513", frame(FrameType::priority, 0, 1, "12345"), Charge::priority,
       1000},
      {"PRIORITY_UPDATE", frame(FrameType::priority_update, 0, 0, be32(1) + "u=0"),
       Charge::priority, 1000},
      {"RST_STREAM, CVE-2019-9514", frame(FrameType::rst_stream, 0, 1, be32(8)), Charge::reset,
       1000},
      {"WINDOW_UPDATE, CVE-2019-9511", frame(FrameType::window_update, 0, 0, be32(1)),
       Charge::window_update, 1000},
      {"empty DATA, CVE-2019-9518", frame(FrameType::data, 0, 1), Charge::empty_data, 1000},
      {"one byte of DATA", frame(FrameType::data, 0, 1, "x"), Charge::tiny_data, 16'000},
      {"CONTINUATION", frame(FrameType::continuation, 0, 1), Charge::continuation, 1000},
      {"unknown type", frame(FrameType{0xfe}, 0, 1), Charge::unknown, 1000},
      {"GOAWAY", frame(FrameType::goaway, 0, 0, be32(0) + be32(0)), Charge::unknown, 1000},
  };
  for (const Case& c : cases) {
    FloodBudget b(kStart);
    FrameScanner s(b, kMaxBlock);
    s.scan(as_bytes(preface), kStart);
    size_t n = 0;
    FrameScanner::Result r;
    do {
      r = s.scan(as_bytes(c.bytes), kStart);
      ++n;
    } while (r.stop == FrameScanner::Stop::none && n < 50'000);
    EXPECT_EQ(r.stop, FrameScanner::Stop::flood) << c.what;
    EXPECT_EQ(r.charge, c.charge) << c.what;
    EXPECT_EQ(n, c.at_most + 1) << c.what;
    EXPECT_EQ(r.size, 0u) << c.what;
  }
}

// One budget for all: kinds do not add up.
TEST_F(Scan, MixedFloodSharesTheBudget) {
  scan(preface);
  EXPECT_LT(
      passes(frame(FrameType::ping, 0, 0, "12345678") + frame(FrameType::priority, 0, 1, "12345") +
             frame(FrameType::window_update, 0, 0, be32(1))),
      400u);
}

// RFC 9113 5.1: where the peer may have ended the stream, somebody else has to know.
TEST_F(Scan, DataStopsWhereTheStreamMayHaveEnded) {
  const std::string open = frame(FrameType::headers, flag::kEndHeaders, 1, "abc");
  const std::string whole = frame(FrameType::headers, flag::kEndHeaders | flag::kEndStream, 1);
  const std::string other = frame(FrameType::headers, flag::kEndHeaders, 3, "abc");
  const std::string data = frame(FrameType::data, 0, 1, std::string(100, 'x'));
  const std::string last = frame(FrameType::data, flag::kEndStream, 1);
  const std::string reset = frame(FrameType::rst_stream, 0, 1, be32(8));
  struct Case {
    const char* what;
    std::string before;
    bool stops;
  };
  const Case cases[] = {{"an upload", open + data + data, false},
                        {"idle: nghttp2 knows", "", false},
                        {"HEADERS with END_STREAM", whole, true},
                        {"DATA with END_STREAM", open + last, true},
                        {"RST_STREAM", open + data + reset, true},
                        {"another stream's frames between", open + data + other, true}};
  for (const Case& c : cases) {
    FloodBudget b(kStart);
    FrameScanner s(b, kMaxBlock);
    s.scan(as_bytes(preface + c.before), kStart);
    const auto r = s.scan(as_bytes(data), kStart);
    EXPECT_EQ(r.stop, c.stops ? FrameScanner::Stop::old_stream : FrameScanner::Stop::none)
        << c.what;
    if (!c.stops) continue;
    EXPECT_EQ(r.stream_id, 1u);
    EXPECT_EQ(r.type, FrameType::data);
    s.permit(1);
    EXPECT_EQ(s.scan(as_bytes(data + data), kStart).stop, FrameScanner::Stop::none) << c.what;
  }
}

// RFC 9113 4.2, 6.3, RFC 9218 7.1, RFC 7540 5.3.1.
TEST_F(Scan, BadFrames) {
  const auto priority = [](uint32_t stream, std::string payload) {
    return frame(FrameType::priority, 0, stream, std::move(payload));
  };
  const auto headers = [](uint8_t flags, std::string payload) {
    return frame(FrameType::headers, static_cast<uint8_t>(flag::kEndHeaders | flags), 3,
                 std::move(payload));
  };
  struct Case {
    const char* what;
    std::string bytes;
    ErrorCode error;
  };
  const Case cases[] = {
      {"stream 0", priority(0, be32(1) + "w"), ErrorCode::protocol_error},
      {"4 bytes", priority(3, be32(1)), ErrorCode::frame_size_error},
      {"6 bytes", priority(3, be32(1) + "ww"), ErrorCode::frame_size_error},
      {"itself", priority(3, be32(3) + "w"), ErrorCode::protocol_error},
      {"itself, exclusively", priority(3, be32(0x8000'0003) + "w"), ErrorCode::protocol_error},
      {"another", priority(3, be32(1) + "w"), ErrorCode::no_error},
      {"HEADERS: itself", headers(flag::kPriority, be32(3) + "w\x82"), ErrorCode::protocol_error},
      {"HEADERS: itself, padded",
       headers(flag::kPriority | flag::kPadded, std::string(1, '\1') + be32(3) + "w\x82."),
       ErrorCode::protocol_error},
      {"HEADERS: another", headers(flag::kPriority, be32(1) + "w\x82"), ErrorCode::no_error},
      {"HEADERS without them", headers(0, be32(3) + "w"), ErrorCode::no_error},
      {"PRIORITY_UPDATE of 0", frame(FrameType::priority_update, 0, 0, be32(0) + "u=1"),
       ErrorCode::protocol_error},
      {"PRIORITY_UPDATE", frame(FrameType::priority_update, 0, 0, be32(3) + "u=1"),
       ErrorCode::no_error}};
  for (const Case& c : cases) {
    for (size_t piece = 1; piece <= c.bytes.size(); ++piece) {
      FloodBudget b(kStart);
      FrameScanner s(b, kMaxBlock);
      s.scan(as_bytes(preface), kStart);
      FrameScanner::Result r;
      for (size_t at = 0; at < c.bytes.size() && r.stop == FrameScanner::Stop::none; at += piece) {
        r = s.scan(as_bytes(std::string_view(c.bytes).substr(at, piece)), kStart);
      }
      const bool good = c.error == ErrorCode::no_error;
      EXPECT_EQ(r.stop, good ? FrameScanner::Stop::none : FrameScanner::Stop::bad_frame)
          << c.what << ", " << piece;
      EXPECT_EQ(r.error, c.error) << c.what << ", " << piece;
    }
  }
}

TEST_F(Scan, FramesThatCarrySomethingAreFree) {
  scan(preface);
  EXPECT_EQ(passes(frame(FrameType::data, 0, 1, std::string(16, 'x'))), 20'000u);
  EXPECT_EQ(passes(frame(FrameType::data, flag::kEndStream, 1)), 20'000u);
}

TEST(FloodBudget, TimeAndWorkRefillItUpToItsCapacity) {
  FloodBudget b(kStart);
  Nanos now = kStart;
  auto drain = [&] {
    int n = 0;
    while (b.spend(Charge::ping, now)) ++n;
    return n;
  };
  EXPECT_EQ(drain(), 1000);
  now += kSecond;
  EXPECT_NEAR(drain(), 100, 1);
  now += 1000 * kSecond;
  EXPECT_NEAR(drain(), 1000, 1);
  b.earn(FloodBudget::kFinishedStream);
  EXPECT_GE(b.points(), 0);
  for (int i = 0; i < 10'000; ++i) b.earn(FloodBudget::kFinishedStream);
  EXPECT_EQ(b.points(), FloodBudget::kCapacity);
}

// A client that cancels every second request, and one that answers each DATA frame with two
// WINDOW_UPDATEs, may go on for ever.
TEST(FloodBudget, HonestHabitsNeverRunOut) {
  FloodBudget cancels(kStart);
  FloodBudget updates(kStart);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(cancels.spend(Charge::headers, kStart));
    ASSERT_TRUE(cancels.spend(Charge::headers, kStart));
    ASSERT_TRUE(cancels.spend(Charge::reset, kStart));
    cancels.earn(FloodBudget::kFinishedStream);
    updates.earn(FloodBudget::kSentData);
    ASSERT_TRUE(updates.spend(Charge::window_update, kStart));
    ASSERT_TRUE(updates.spend(Charge::window_update, kStart));
  }
}

}  // namespace
}  // namespace pqedge::http2
