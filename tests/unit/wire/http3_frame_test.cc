#include "wire/http3/frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"

namespace pqedge::http3 {
namespace {

std::string bytes(std::string_view digits) { return *from_hex(digits); }

// What a reader makes of `input`, given in pieces of `step` bytes: "type/length:payload;" a frame.
std::string read_all(std::string_view input, size_t step, bool* between = nullptr) {
  FrameReader reader;
  std::string out;
  for (size_t at = 0; at < input.size(); at += step) {
    Bytes in = as_bytes(input.substr(at, step));
    for (bool going = true; going;) {
      switch (reader.next(in)) {
        case FrameReader::Event::more:
          EXPECT_TRUE(in.empty());
          going = false;
          break;
        case FrameReader::Event::begin:
          out += std::to_string(reader.type()) + "/" + std::to_string(reader.length()) + ":";
          break;
        case FrameReader::Event::payload:
          EXPECT_FALSE(reader.payload().empty());
          out += as_text(reader.payload());
          break;
        case FrameReader::Event::end: out += ";"; break;
      }
    }
  }
  if (between != nullptr) *between = reader.between_frames();
  return out;
}

// RFC 9114 7.1: type and length are varints, of any length of encoding.
TEST(Http3Frame, CutsFramesWhereverThePiecesEnd) {
  const std::string input = bytes("0003") + "abc" +    // DATA
                            bytes("0100") +            // HEADERS, empty
                            bytes("400b0240") + "x" +  // type 11 in two bytes
                            bytes("80000021c000000000000001") +
                            "y";  // a reserved type, length in 8
  const std::string expected = "0/3:abc;1/0:;11/2:@x;33/1:y;";
  for (size_t step = 1; step <= input.size(); ++step) {
    bool between = false;
    EXPECT_EQ(read_all(input, step, &between), expected) << step;
    EXPECT_TRUE(between);
  }
}

TEST(Http3Frame, KnowsThatAFrameIsUnfinished) {
  for (const char* digits : {"40", "00", "0002", "000261", "0080"}) {
    bool between = true;
    read_all(bytes(digits), 1, &between);
    EXPECT_FALSE(between) << digits;
  }
}

TEST(Http3Frame, LengthsUpToTheLastAreTaken) {
  std::string out = read_all(bytes("00ffffffffffffffff") + "abc", 5);
  EXPECT_EQ(out, "0/4611686018427387903:abc");
}

TEST(Http3Frame, WritesShortHeaders) {
  uint8_t out[16];
  EXPECT_EQ(to_hex({out, store_frame_header(out, frame::kData, 5)}), "0005");
  EXPECT_EQ(to_hex({out, store_frame_header(out, frame::kHeaders, 1000)}), "0143e8");
}

// RFC 9114 7.2.8: 0x1f * N + 0x21.
TEST(Http3Frame, ReservedIdentifiers) {
  EXPECT_EQ(reserved_id(0), 0x21u);
  EXPECT_EQ(reserved_id(1), 0x40u);
  EXPECT_EQ(reserved_id(148764065110560899), 0x3ffffffffffffffeu);
}

// ---- SETTINGS (RFC 9114 7.2.4, RFC 9204 5) -----------------------------------------------------

TEST(Http3Settings, ReadsWhatIsKnownAndSkipsTheRest) {
  const std::string payload = bytes("015000") +      // QPACK_MAX_TABLE_CAPACITY 4096
                              bytes("0710") +        // QPACK_BLOCKED_STREAMS 16
                              bytes("0680010000") +  // MAX_FIELD_SECTION_SIZE 65536
                              bytes("2105");         // reserved
  const auto s = parse_settings(as_bytes(payload));
  ASSERT_TRUE(s.has_value());
  EXPECT_EQ(s->qpack_max_table_capacity, 4096u);
  EXPECT_EQ(s->qpack_blocked_streams, 16u);
  EXPECT_EQ(s->max_field_section_size, 65536u);
}

TEST(Http3Settings, DefaultsOfAnEmptyFrame) {
  const auto s = parse_settings({});
  ASSERT_TRUE(s.has_value());
  EXPECT_EQ(s->qpack_max_table_capacity, 0u);
  EXPECT_EQ(s->qpack_blocked_streams, 0u);
  EXPECT_EQ(s->max_field_section_size, UINT64_MAX);
}

TEST(Http3Settings, RefusesWhatIsWrong) {
  const std::pair<const char*, ErrorCode> cases[] = {
      {"01", ErrorCode::frame_error},           // no value
      {"0140", ErrorCode::frame_error},         // half a value
      {"01000100", ErrorCode::settings_error},  // twice (7.2.4)
      {"21002100", ErrorCode::settings_error},  // also of one that means nothing
      {"0000", ErrorCode::settings_error},      // HTTP/2's (7.2.4.1)
      {"0200", ErrorCode::settings_error},     {"0300", ErrorCode::settings_error},
      {"0400", ErrorCode::settings_error},     {"0500", ErrorCode::settings_error},
  };
  for (const auto& [digits, code] : cases) {
    const std::string payload = bytes(digits);
    const auto s = parse_settings(as_bytes(payload));
    ASSERT_FALSE(s.has_value()) << digits;
    EXPECT_EQ(s.error().code, code) << digits;
  }
}

TEST(Http3Settings, OneFrameHasBoundedSettings) {
  std::string payload;
  for (int i = 0; i < 65; ++i)
    payload += bytes("7f" + to_hex(as_bytes(std::string(1, static_cast<char>(i)))) + "00");
  EXPECT_EQ(parse_settings(as_bytes(payload)).error().code, ErrorCode::excessive_load);
}

TEST(Http3Settings, OursCanBeReadAndGrease) {
  for (const uint64_t grease : {uint64_t{0}, uint64_t{0x123456789abcdef0}, UINT64_MAX}) {
    uint8_t out[kMaxSettingsFrame];
    const size_t size = store_settings(out, {.qpack_max_table_capacity = 4096,
                                             .qpack_blocked_streams = 100,
                                             .max_field_section_size = 65536,
                                             .grease = grease});
    ASSERT_LE(size, sizeof out);
    FrameReader reader;
    Bytes in{out, size};
    ASSERT_EQ(reader.next(in), FrameReader::Event::begin);
    EXPECT_EQ(reader.type(), frame::kSettings);
    ASSERT_EQ(reader.next(in), FrameReader::Event::payload);
    const auto s = parse_settings(reader.payload());
    ASSERT_TRUE(s.has_value());
    EXPECT_EQ(s->qpack_max_table_capacity, 4096u);
    EXPECT_EQ(s->qpack_blocked_streams, 100u);
    EXPECT_EQ(s->max_field_section_size, 65536u);
    EXPECT_EQ(reader.next(in), FrameReader::Event::end);
    EXPECT_TRUE(in.empty());
  }
}

TEST(Http3Frame, AnIdentifierFillsItsFrame) {
  EXPECT_EQ(*parse_id(as_bytes(bytes("4004"))), 4u);
  EXPECT_EQ(parse_id({}).error().code, ErrorCode::frame_error);
  EXPECT_EQ(parse_id(as_bytes(bytes("0400"))).error().code, ErrorCode::frame_error);
  EXPECT_EQ(parse_id(as_bytes(bytes("40"))).error().code, ErrorCode::frame_error);
}

}  // namespace
}  // namespace pqedge::http3
