// Hellos out of TLS records, however they are cut.
#include "crypto/hello_records.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pqedge::crypto {
namespace {

using Buffer = std::vector<uint8_t>;
using State = HelloRecords::State;

Buffer hello(size_t body) {
  Buffer m{1, static_cast<uint8_t>(body >> 16), static_cast<uint8_t>(body >> 8),
           static_cast<uint8_t>(body)};
  for (size_t i = 0; i < body; ++i) m.push_back(static_cast<uint8_t>(i * 7 + (i >> 8)));
  return m;
}

void append_record(Buffer& out, Bytes fragment, uint8_t type = 22) {
  out.insert(out.end(), {type, 3, 1, static_cast<uint8_t>(fragment.size() >> 8),
                         static_cast<uint8_t>(fragment.size())});
  out.insert(out.end(), fragment.begin(), fragment.end());
}

// `message` in records of `size` bytes.
Buffer records(Bytes message, size_t size) {
  Buffer out;
  for (size_t at = 0; at < message.size(); at += size) {
    append_record(out, message.subspan(at, std::min(size, message.size() - at)));
  }
  return out;
}

void expect_whole(HelloRecords& reader, Bytes all, Bytes message) {
  ASSERT_EQ(reader.take(all), State::whole);
  ASSERT_TRUE(std::ranges::equal(reader.message(), message));
}

TEST(HelloRecords, EveryTwoWaySplitOfTheBytes) {
  const Buffer message = hello(700);
  for (const size_t size : {704u, 352u, 240u, 18u, 5u, 1u}) {
    const Buffer wire = records(message, size);
    for (size_t at = 0; at < wire.size(); ++at) {
      HelloRecords reader;
      ASSERT_EQ(reader.take(Bytes(wire).first(at)), State::more) << size << " " << at;
      expect_whole(reader, wire, message);
    }
  }
}

TEST(HelloRecords, SingleBytes) {
  const Buffer message = hello(1800);
  for (const size_t size : {2000u, 601u, 45u, 1u}) {
    const Buffer wire = records(message, size);
    HelloRecords reader;
    for (size_t n = 1; n < wire.size(); ++n) {
      ASSERT_EQ(reader.take(Bytes(wire).first(n)), State::more) << size << " " << n;
    }
    expect_whole(reader, wire, message);
  }
}

// Early data follows the hello at once.
TEST(HelloRecords, LooksAtNothingBehindTheHello) {
  const Buffer message = hello(300);
  Buffer wire = records(message, 1000);
  wire.insert(wire.end(), {0x17, 9, 9, 9, 9, 9});
  HelloRecords reader;
  expect_whole(reader, wire, message);
  EXPECT_EQ(reader.message().data(), wire.data() + 5);  // no copy
}

State of(const Buffer& wire) {
  HelloRecords reader;
  return reader.take(wire);
}

TEST(HelloRecords, TellsWhatIsNotTls) {
  const std::string_view http = "GET / HTTP/1.1\r\n";
  EXPECT_EQ(of({http.begin(), http.end()}), State::not_tls);
  EXPECT_EQ(of({0x80, 0x2e, 1}), State::not_tls);
  EXPECT_EQ(of({}), State::more);
}

TEST(HelloRecords, RefusesRecordsThatTlsForbids) {
  const Buffer message = hello(300);
  Buffer wire;
  append_record(wire, Bytes(message).first(100));
  Buffer empty = wire;
  append_record(empty, {});
  EXPECT_EQ(of(empty), State::broken);
  Buffer other = wire;
  append_record(other, Bytes(message).subspan(100), 23);
  EXPECT_EQ(of(other), State::broken);
  EXPECT_EQ(of({22, 2, 0, 0, 1, 1}), State::broken);           // SSL 2 has no such records
  EXPECT_EQ(of({22, 3, 1, 0x40, 1, 1}), State::broken);        // longer than a record may be
  EXPECT_EQ(of({22, 3, 1, 0, 4, 2, 0, 0, 0}), State::broken);  // a ServerHello
}

TEST(HelloRecords, KeepsToItsBounds) {
  EXPECT_EQ(of({22, 3, 1, 0, 4, 1, 0, 0x40, 0}), State::too_long);
  const Buffer longest = hello(HelloRecords::kMaxHello - 4);
  HelloRecords reader;
  expect_whole(reader, records(longest, 16384), longest);
  Buffer scattered = records(longest, 1);
  scattered.resize(HelloRecords::kMaxBytes);
  EXPECT_EQ(of(scattered), State::too_long);
}

}  // namespace
}  // namespace pqedge::crypto
