#include "record/error_log.h"

#include <gtest/gtest.h>

#include <regex>
#include <thread>

#include "base/log.h"
#include "unit/record/temporary_directory.h"

namespace pqedge::record {
namespace {

class ErrorLog : public ::testing::Test {
 protected:
  void TearDown() override {
    close_error_log();
    log::set_level(log::Level::info);
  }
  const TemporaryDirectory dir_;
};

TEST_F(ErrorLog, WritesTimeLevelComponentAndMessage) {
  ASSERT_TRUE(install_error_log({.error_file = dir_.file("e")}).has_value());
  log::warning("net", "port {} is {}", 443, "taken");
  close_error_log();
  EXPECT_TRUE(std::regex_match(
      read_file(dir_.file("e")),
      std::regex(
          "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z warning net: port 443 is taken\n")))
      << read_file(dir_.file("e"));
}

TEST_F(ErrorLog, KeepsToItsLevelAndTakesANewOne) {
  ASSERT_TRUE(
      install_error_log({.error_file = dir_.file("e"), .level = log::Level::warning}).has_value());
  log::info("x", "quiet");
  log::error("x", "loud");
  ASSERT_TRUE(
      install_error_log({.error_file = dir_.file("e"), .level = log::Level::debug}).has_value());
  log::debug("x", "every word");
  close_error_log();
  const std::string text = read_file(dir_.file("e"));
  EXPECT_EQ(text.find("quiet"), std::string::npos);
  EXPECT_NE(text.find("error x: loud"), std::string::npos);
  EXPECT_NE(text.find("debug x: every word"), std::string::npos);
}

TEST_F(ErrorLog, EachLineOfAMessageIsALineOfItsOwnAndNoControlByteComesThrough) {
  ASSERT_TRUE(install_error_log({.error_file = dir_.file("e")}).has_value());
  log::error("config", "two\nproblems\x1b[31m\r");
  close_error_log();
  const std::string text = read_file(dir_.file("e"));
  EXPECT_NE(text.find("Z error config: two\n"), std::string::npos);
  EXPECT_NE(text.find("Z error config: problems\\x1b[31m\\x0d\n"), std::string::npos);
}

TEST_F(ErrorLog, AFileThatCannotBeOpenedChangesNothing) {
  ASSERT_TRUE(install_error_log({.error_file = dir_.file("e")}).has_value());
  EXPECT_FALSE(install_error_log({.error_file = "/nonexistent/e"}).has_value());
  log::error("x", "still here");
  close_error_log();
  EXPECT_NE(read_file(dir_.file("e")).find("still here"), std::string::npos);
}

TEST_F(ErrorLog, ReopensByName) {
  ASSERT_TRUE(install_error_log({.error_file = dir_.file("e")}).has_value());
  std::filesystem::rename(dir_.file("e"), dir_.file("e.1"));
  reopen_error_log();
  while (!std::filesystem::exists(dir_.file("e"))) std::this_thread::yield();
  log::error("x", "after");
  close_error_log();
  EXPECT_NE(read_file(dir_.file("e")).find("after"), std::string::npos);
}

TEST_F(ErrorLog, TakesMessagesOfManyThreadsWhole) {
  ASSERT_TRUE(install_error_log({.error_file = dir_.file("e")}).has_value());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i)
        log::info("thread", "{} {}", std::string(100, static_cast<char>('a' + t)), i);
    });
  }
  for (auto& t : threads) t.join();
  close_error_log();
  const std::string text = read_file(dir_.file("e"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 800);
  const std::regex line("\\S+Z info thread: ([a-d])\\1{99} \\d+");
  std::istringstream in(text);
  for (std::string l; std::getline(in, l);) EXPECT_TRUE(std::regex_match(l, line)) << l;
}

}  // namespace
}  // namespace pqedge::record
