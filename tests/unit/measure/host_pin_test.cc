#include "measure/host/pin.h"

#include <gtest/gtest.h>

#include <thread>

namespace pqedge::measure {
namespace {

TEST(HostPin, TheHighestAllowedCoreByDefault) {
  EXPECT_EQ(default_core({0, 1, 2, 7}), 7);
  EXPECT_EQ(default_core({3}), 3);
}

TEST(HostPin, HoldsAndGivesBack) {
  const auto before = allowed_cores();
  ASSERT_TRUE(before);
  {
    auto pin = CorePin::take();
    ASSERT_TRUE(pin) << pin.error().message;
    EXPECT_EQ(pin->core(), before->back());
    EXPECT_EQ(*allowed_cores(), std::vector<int>{before->back()});
    EXPECT_EQ(sched_getcpu(), before->back());
    EXPECT_EQ(pin->allowed_before(), *before);
    std::vector<int> of_thread;
    std::thread([&] { of_thread = *allowed_cores(); }).join();
    EXPECT_EQ(of_thread, std::vector<int>{before->back()});
    const CorePin moved = std::move(*pin);
    EXPECT_EQ(*allowed_cores(), std::vector<int>{before->back()});
  }
  EXPECT_EQ(*allowed_cores(), *before);
}

TEST(HostPin, EachCoreByNumber) {
  const auto before = allowed_cores();
  ASSERT_TRUE(before);
  for (const int core : *before) {
    const auto pin = CorePin::take(core);
    ASSERT_TRUE(pin) << pin.error().message;
    EXPECT_EQ(sched_getcpu(), core);
  }
}

TEST(HostPin, ACoreThatIsNotThereNamesThoseThatAre) {
  const auto before = allowed_cores();
  ASSERT_TRUE(before);
  const auto pin = CorePin::take(1000);
  ASSERT_FALSE(pin);
  EXPECT_NE(pin.error().message.find("core 1000 is not allowed"), std::string::npos);
  EXPECT_NE(pin.error().message.find(std::to_string(before->front())), std::string::npos);
  EXPECT_FALSE(CorePin::take(-1));
  EXPECT_FALSE(pin_thread(5000));
  EXPECT_EQ(*allowed_cores(), *before);
}

}  // namespace
}  // namespace pqedge::measure
