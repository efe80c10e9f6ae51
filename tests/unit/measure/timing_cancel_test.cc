#include "measure/timing/cancel.h"

#include <gtest/gtest.h>

#include <csignal>

namespace pqedge::measure {
namespace {

TEST(TimingCancel, TheFirstSignalSetsTheFlag) {
  CancelOnSignal cancel;
  EXPECT_FALSE(cancel.cancelled());
  EXPECT_EQ(cancel.exit_status(), 0);
  raise(SIGTERM);
  EXPECT_TRUE(cancel.cancelled());
  EXPECT_EQ(cancel.signal(), SIGTERM);
  EXPECT_EQ(cancel.exit_status(), 143);
}

TEST(TimingCancel, EachBeginsAnew) {
  {
    CancelOnSignal cancel;
    raise(SIGINT);
    EXPECT_EQ(cancel.exit_status(), 130);
  }
  CancelOnSignal cancel;
  EXPECT_FALSE(cancel.cancelled());
}

TEST(TimingCancel, WhatWasIgnoredStaysIgnored) {
  std::signal(SIGINT, SIG_IGN);
  {
    CancelOnSignal cancel;
    raise(SIGINT);
    EXPECT_FALSE(cancel.cancelled());
  }
  EXPECT_EQ(std::signal(SIGINT, SIG_DFL), SIG_IGN);
}

TEST(TimingCancelDeathTest, TheSecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        CancelOnSignal cancel;
        raise(SIGINT);
        raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(TimingCancelDeathTest, HandlersFromBeforeAreBack) {
  EXPECT_EXIT(
      {
        {
          CancelOnSignal cancel;
        }
        raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace pqedge::measure
