#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace pqedge {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::string name = fs::temp_directory_path() / "pqedge-file-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    file_ = (folder_ / "a").string();
  }
  ~FileTest() override { fs::remove_all(folder_); }

  std::string content() const {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  mode_t mode() const {
    struct stat info{};
    ::stat(file_.c_str(), &info);
    return info.st_mode & 0777;
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
  std::string file_;
};

TEST_F(FileTest, TakesThePlaceOfWhatWasThere) {
  ASSERT_TRUE(write_file(file_, "one"));
  EXPECT_EQ(content(), "one");
  EXPECT_EQ(mode(), 0600u);
  ASSERT_TRUE(write_file(file_, "two"));
  EXPECT_EQ(content(), "two");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, LeavesAloneWhatIsThere) {
  ASSERT_TRUE(write_file(file_, "one", {.replace = false}));
  const auto again = write_file(file_, "two", {.replace = false});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, EEXIST);
  EXPECT_EQ(content(), "one");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, KeepsTheModeWhereAsked) {
  const mode_t before = ::umask(027);
  EXPECT_TRUE(write_file(file_, "one", {.mode = 0666, .keep_mode = true}));
  EXPECT_EQ(mode(), 0640u);
  ::chmod(file_.c_str(), 0604);
  EXPECT_TRUE(write_file(file_, "two", {.mode = 0666, .keep_mode = true}));
  EXPECT_EQ(mode(), 0604u);
  ::umask(before);
}

TEST_F(FileTest, SaysWhatFailedAndWhere) {
  const std::string nowhere = (folder_ / "none" / "a").string();
  const auto done = write_file(nowhere, "one");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "cannot write " + nowhere + ": No such file or directory");
  EXPECT_EQ(done.error().code, ENOENT);
}

// A full disk, as far as a test can have one: a file may have four bytes and no more.
TEST_F(FileTest, WithoutRoomTheOldFileStays) {
  ASSERT_TRUE(write_file(file_, "old"));
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{4, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto written = write_file(file_, "newer");
  const auto room = check_room(file_, 5);
  const auto enough = check_room(file_, 4);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, EFBIG);
  ASSERT_FALSE(room);
  EXPECT_EQ(room.error().code, EFBIG);
  EXPECT_TRUE(enough);
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, WritersDoNotMix) {
  std::vector<std::thread> writers;
  for (char c = 'a'; c < 'e'; ++c) {
    writers.emplace_back([this, c] {
      for (int i = 0; i < 25; ++i) EXPECT_TRUE(write_file(file_, std::string(20000, c)));
    });
  }
  for (auto& writer : writers) writer.join();
  const std::string text = content();
  ASSERT_EQ(text.size(), 20000u);
  EXPECT_EQ(text.find_first_not_of(text.front()), text.npos);
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, ADeviceThatIsFullIsSaid) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const auto done = write_all(full.get(), "x", "/dev/full");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace pqedge
