#include "record/access_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/counters.h"
#include "net/socket.h"
#include "unit/record/temporary_directory.h"

namespace pqedge::record {
namespace {

uint64_t counter(std::string_view name) {
  uint64_t value = 0;
  counters::for_each([&](const counters::Series& s) {
    if (s.name == name) value += s.value;
  });
  return value;
}

AccessRecord request(std::string_view path) {
  AccessRecord r;
  r.path = path;
  r.method = "GET";
  r.status = 200;
  return r;
}

size_t lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Looks again and again until the writer got so far: a wait for an event of another thread.
template <typename Done>
bool eventually(Done&& done) {
  const Nanos end = monotonic_now() + 20 * kSecond;
  while (!done()) {
    if (monotonic_now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(AccessLog, IsOffWithoutAFile) {
  auto log = AccessLog::open({}, 2);
  ASSERT_TRUE(log.has_value());
  EXPECT_FALSE((*log)->enabled());
  EXPECT_FALSE((*log)->worker(1).enabled());
  const uint64_t before = counter("pqedge_access_log_lines_total");
  (*log)->worker(1).push(request("/"));
  EXPECT_EQ(counter("pqedge_access_log_lines_total"), before);
}

TEST(AccessLog, WritesWhatEveryWorkerPushedBeforeItEnds) {
  const TemporaryDirectory dir;
  {
    auto log = AccessLog::open({.access_file = dir.file("access.log")}, 3);
    ASSERT_TRUE(log.has_value());
    std::vector<std::thread> workers;
    for (unsigned w = 0; w < 3; ++w) {
      workers.emplace_back([&, w] {
        for (int i = 0; i < 1000; ++i) (*log)->worker(w).push(request("/" + std::to_string(i)));
      });
    }
    for (auto& t : workers) t.join();
  }
  EXPECT_EQ(lines(read_file(dir.file("access.log"))), 3000u);
}

TEST(AccessLog, AQuietLogIsWrittenWithoutAnotherRequest) {
  const TemporaryDirectory dir;
  auto log = AccessLog::open({.access_file = dir.file("a")}, 1);
  ASSERT_TRUE(log.has_value());
  for (int i = 1; i <= 5; ++i) {
    (*log)->worker(0).push(request("/"));
    ASSERT_TRUE(
        eventually([&] { return lines(read_file(dir.file("a"))) == static_cast<size_t>(i); }));
  }
}

TEST(AccessLog, AFileThatCannotBeOpenedIsAnErrorWithItsName) {
  const auto log = AccessLog::open({.access_file = "/nonexistent/access.log"}, 1);
  ASSERT_FALSE(log.has_value());
  EXPECT_NE(log.error().message.find("/nonexistent/access.log"), std::string::npos);
}

TEST(AccessLog, ReopenFollowsARenamedFile) {
  const TemporaryDirectory dir;
  auto log = AccessLog::open({.access_file = dir.file("a")}, 1);
  ASSERT_TRUE(log.has_value());
  (*log)->worker(0).push(request("/before"));
  ASSERT_TRUE(eventually([&] { return lines(read_file(dir.file("a"))) == 1; }));
  std::filesystem::rename(dir.file("a"), dir.file("a.1"));
  (*log)->reopen();
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(dir.file("a")); }));
  (*log)->worker(0).push(request("/after"));
  ASSERT_TRUE(eventually([&] { return lines(read_file(dir.file("a"))) == 1; }));
  EXPECT_NE(read_file(dir.file("a.1")).find("/before"), std::string::npos);
  EXPECT_NE(read_file(dir.file("a")).find("/after"), std::string::npos);
}

TEST(AccessLog, UpdateChangesTheFileAndTurnsItOff) {
  const TemporaryDirectory dir;
  auto log = AccessLog::open({.access_file = dir.file("a")}, 1);
  ASSERT_TRUE(log.has_value());
  EXPECT_FALSE((*log)->update({.access_file = "/nonexistent/x"}).has_value());
  EXPECT_TRUE((*log)->enabled()) << "the old file stays";
  ASSERT_TRUE((*log)->update({.access_file = dir.file("b")}).has_value());
  ASSERT_TRUE(eventually([&] {
    (*log)->worker(0).push(request("/"));
    return lines(read_file(dir.file("b"))) > 0;
  }));
  ASSERT_TRUE((*log)->update({}).has_value());
  EXPECT_FALSE((*log)->worker(0).enabled());
}

TEST(AccessLog, TheFileIsNotForEveryUser) {
  const TemporaryDirectory dir;
  auto log = AccessLog::open({.access_file = dir.file("a")}, 1);
  struct stat info{};
  ASSERT_EQ(::stat(dir.file("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07, 0u);
}

// A disk that is full: /dev/full answers every write with ENOSPC.
TEST(AccessLog, AFullDiskDropsAndCountsAndHoldsNobody) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  const uint64_t dropped = counter("pqedge_access_log_dropped_total");
  const uint64_t errors = counter("pqedge_log_write_errors_total");
  auto log = AccessLog::open({.access_file = "/dev/full", .queue = 64}, 1);
  ASSERT_TRUE(log.has_value());
  const std::string path(2000, 'x');
  for (int i = 0; i < 10'000; ++i) (*log)->worker(0).push(request(path));
  EXPECT_GT(counter("pqedge_access_log_dropped_total"), dropped);
  EXPECT_TRUE(eventually([&] { return counter("pqedge_log_write_errors_total") > errors; }));
}

// A pipe nobody reads from: the writer waits for it, the workers and the end of the log do not.
TEST(AccessLog, APipeWithoutAReaderHoldsNobody) {
  const TemporaryDirectory dir;
  ASSERT_EQ(::mkfifo(dir.file("fifo").c_str(), 0600), 0);
  const net::Fd reader(::open(dir.file("fifo").c_str(), O_RDONLY | O_NONBLOCK));
  const uint64_t dropped = counter("pqedge_access_log_dropped_total");
  {
    auto log = AccessLog::open({.access_file = dir.file("fifo"), .queue = 64}, 1);
    ASSERT_TRUE(log.has_value());
    const std::string path(2000, 'x');
    ASSERT_TRUE(eventually([&] {
      (*log)->worker(0).push(request(path));
      return counter("pqedge_access_log_dropped_total") > dropped;
    }));
  }
}

// A line that was written in part goes on where it stopped.
TEST(AccessLog, ASlowReaderGetsWholeLines) {
  const TemporaryDirectory dir;
  ASSERT_EQ(::mkfifo(dir.file("fifo").c_str(), 0600), 0);
  const net::Fd reader(::open(dir.file("fifo").c_str(), O_RDONLY | O_NONBLOCK));
  auto log = AccessLog::open({.access_file = dir.file("fifo"), .queue = 4096}, 1);
  ASSERT_TRUE(log.has_value());
  const std::string path(1900, 'x');
  constexpr size_t kCount = 300;  // some ten times what a pipe holds
  for (size_t i = 0; i < kCount; ++i) (*log)->worker(0).push(request(path));
  std::string text;
  ASSERT_TRUE(eventually([&] {
    char buffer[1000];
    const ssize_t n = ::read(reader.get(), buffer, sizeof buffer);
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
    return lines(text) == kCount;
  }));
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    EXPECT_TRUE(line.starts_with("{\"time\":\"") && line.ends_with("\"}")) << line;
    begin = end + 1;
  }
}

}  // namespace
}  // namespace pqedge::record
