// Sources whose write the kernel refused for want of memory.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "net/loop.h"
#include "unit/net/support.h"

namespace pqedge::net {
namespace {

class Refused final : public EventSource {
 public:
  explicit Refused(Loop& loop) : loop_(loop) {}
  void on_events(uint32_t events) override {
    told.push_back(events);
    if (other != nullptr) loop_.remove(-1, *other);
    if (again) loop_.tell_writable_soon(*this);
  }
  Loop& loop_;
  std::vector<uint32_t> told;
  EventSource* other = nullptr;
  bool again = false;
};

void turns(Loop& loop) {
  const Nanos end = monotonic_now() + 20 * kMillisecond;
  while (monotonic_now() < end) loop.run_once(5 * kMillisecond);
}

TEST(LoopRefused, AreToldOnceThatTheyAreWritable) {
  auto loop = make_loop();
  Refused source(*loop);
  loop->tell_writable_soon(source);
  loop->tell_writable_soon(source);
  EXPECT_TRUE(source.told.empty());
  turns(*loop);
  EXPECT_EQ(source.told, std::vector<uint32_t>{EventSource::kWritable});
}

TEST(LoopRefused, AreToldAgainWhenTheyAskAgain) {
  auto loop = make_loop();
  Refused source(*loop);
  source.again = true;
  loop->tell_writable_soon(source);
  turns(*loop);
  EXPECT_GE(source.told.size(), 2u);
  loop->remove(-1, source);
}

TEST(LoopRefused, NobodyIsToldAfterItsEnd) {
  auto loop = make_loop();
  Refused first(*loop), second(*loop), third(*loop);
  first.other = &second;
  loop->tell_writable_soon(first);
  loop->tell_writable_soon(second);
  loop->tell_writable_soon(third);
  loop->remove(-1, third);
  turns(*loop);
  EXPECT_EQ(first.told.size(), 1u);
  EXPECT_TRUE(second.told.empty());
  EXPECT_TRUE(third.told.empty());
}

}  // namespace
}  // namespace pqedge::net
