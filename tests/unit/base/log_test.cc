#include "base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pqedge::log {
namespace {

std::vector<std::string>& taken() {
  static std::vector<std::string> lines;
  return lines;
}
void take(Level level, std::string_view component, std::string_view message) {
  taken().push_back(std::string(name(level)) + "|" + std::string(component) + "|" +
                    std::string(message));
}

class Log : public testing::Test {
 protected:
  void SetUp() override {
    taken().clear();
    set_sink(take);
  }
  void TearDown() override {
    set_sink(nullptr);
    set_level(Level::info);
  }
};

TEST_F(Log, FormatsALineForTheSink) {
  error("net", "cannot bind {}: {}", "[::]:443", 13);
  EXPECT_EQ(taken(), std::vector<std::string>{"error|net|cannot bind [::]:443: 13"});
}

TEST_F(Log, LeavesOutWhatIsBelowTheLevel) {
  set_level(Level::warning);
  debug("a", "x");
  info("a", "x");
  warning("a", "x");
  error("a", "x");
  EXPECT_EQ(taken(), (std::vector<std::string>{"warning|a|x", "error|a|x"}));
  EXPECT_FALSE(enabled(Level::info));
}

}  // namespace
}  // namespace pqedge::log
