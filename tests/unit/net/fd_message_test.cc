#include "net/fd_message.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace pqedge::net {
namespace {

constexpr Nanos kWait = 5 * kSecond;

TEST(FdMessage, CarriesBytesAndDescriptors) {
  auto pair = make_message_pair();
  ASSERT_TRUE(pair.has_value());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  const int passed = writer.get();
  ASSERT_TRUE(send_message(pair->ours.get(), as_bytes("here"), {&passed, 1}, kWait).has_value());
  writer.reset();
  auto message = receive_message(pair->theirs.get(), kWait);
  ASSERT_TRUE(message.has_value()) << message.error().message;
  EXPECT_EQ(as_text(message->bytes), "here");
  ASSERT_EQ(message->descriptors.size(), 1u);
  // The same pipe, under a number of its own.
  ASSERT_EQ(write(message->descriptors[0].get(), "x", 1), 1);
  char c = 0;
  ASSERT_EQ(read(reader.get(), &c, 1), 1);
  EXPECT_EQ(c, 'x');
}

TEST(FdMessage, ManyDescriptorsAtOnce) {
  auto pair = make_message_pair();
  ASSERT_TRUE(pair.has_value());
  const std::vector<int> many(kMaxMessageDescriptors, pair->ours.get());
  ASSERT_TRUE(send_message(pair->ours.get(), as_bytes("m"), many, kWait).has_value());
  const auto message = receive_message(pair->theirs.get(), kWait);
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->descriptors.size(), many.size());
}

TEST(FdMessage, TheEndOfThePeerIsAnEmptyMessage) {
  auto pair = make_message_pair();
  ASSERT_TRUE(pair.has_value());
  ASSERT_TRUE(send_message(pair->ours.get(), as_bytes("last"), {}, kWait).has_value());
  pair->ours.reset();
  EXPECT_EQ(as_text(receive_message(pair->theirs.get(), kWait)->bytes), "last");
  const auto end = receive_message(pair->theirs.get(), kWait);
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->bytes.empty());
  EXPECT_FALSE(send_message(pair->theirs.get(), as_bytes("x"), {}, kWait).has_value());
}

TEST(FdMessage, WaitsNoLongerThanItMay) {
  auto pair = make_message_pair();
  ASSERT_TRUE(pair.has_value());
  const auto nothing = receive_message(pair->ours.get(), 20 * kMillisecond);
  ASSERT_FALSE(nothing.has_value());
  EXPECT_EQ(nothing.error().code, ETIMEDOUT);
  const std::string large(kMaxMessageBytes, 'x');
  Result<void> sent;
  for (int i = 0; i < 10'000 && sent; ++i) {
    sent = send_message(pair->ours.get(), as_bytes(large), {}, 20 * kMillisecond);
  }
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code, ETIMEDOUT);
}

}  // namespace
}  // namespace pqedge::net
