#include "jobs/file_watch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace pqedge::jobs {
namespace {

namespace fs = std::filesystem;

class Watch : public ::testing::Test {
 protected:
  Watch() : loop_(std::move(*net::Loop::create())) {
    std::string name = fs::temp_directory_path() / "pqedge-watch-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    root_ = fs::canonical(name);
  }
  ~Watch() override {
    watch_ = nullptr;
    fs::remove_all(root_);
  }
  void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  void start(std::vector<std::string> paths) {
    auto made = FileWatch::start(
        *loop_, [this] { ++calls_; },
        {.quiet = kMillisecond, .longest = 20 * kMillisecond, .poll = 3600 * kSecond});
    ASSERT_TRUE(made) << made.error().message;
    watch_ = std::move(*made);
    watch_->set_paths(std::move(paths));
  }
  // One call more than were waited for.
  bool told() {
    for (int i = 0; i < 500 && calls_ == seen_; ++i) loop_->run_once(10 * kMillisecond);
    const bool more = calls_ > seen_;
    seen_ = calls_;
    return more;
  }

  std::unique_ptr<net::Loop> loop_;
  fs::path root_;
  std::unique_ptr<FileWatch> watch_;
  int calls_ = 0;
  int seen_ = 0;
};

TEST_F(Watch, SeesAFileWritten) {
  write(root_ / "a.pem", "1");
  start({root_ / "a.pem"});
  write(root_ / "a.pem", "2");
  EXPECT_TRUE(told());
}

TEST_F(Watch, SeesAFileRenamedOver) {
  write(root_ / "a.pem", "1");
  start({root_ / "a.pem"});
  write(root_ / "new", "2");
  fs::rename(root_ / "new", root_ / "a.pem");
  EXPECT_TRUE(told());
}

TEST_F(Watch, SeesAFileThatComes) {
  start({root_ / "later" / "a.pem"});
  fs::create_directory(root_ / "later");
  EXPECT_TRUE(told());
  write(root_ / "later" / "a.pem", "1");
  EXPECT_TRUE(told());
}

// Kubernetes: tls.crt -> ..data/tls.crt, ..data -> ..2026_1; `..data` is renamed over, again and
// again.
TEST_F(Watch, SeesEachSwapOfALink) {
  const auto make = [&](int n) {
    const fs::path version = root_ / ("..2026_" + std::to_string(n));
    fs::create_directory(version);
    write(version / "tls.crt", std::to_string(n));
    fs::create_symlink(version.filename(), root_ / "..data_tmp");
    fs::rename(root_ / "..data_tmp", root_ / "..data");
  };
  make(0);
  fs::create_symlink("..data/tls.crt", root_ / "tls.crt");
  start({root_ / "tls.crt"});
  for (int n = 1; n <= 3; ++n) {
    make(n);
    EXPECT_TRUE(told()) << n;
    fs::remove_all(root_ / ("..2026_" + std::to_string(n - 1)));
    EXPECT_TRUE(told()) << n;
  }
}

TEST(DirectoriesOfPath, AreThoseThatDecide) {
  std::string name = fs::temp_directory_path() / "pqedge-watch-XXXXXX";
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  const fs::path root = fs::canonical(name);
  fs::create_directories(root / "releases" / "1");
  fs::create_directories(root / "archive");
  std::ofstream(root / "archive" / "cert1.pem") << "x";
  fs::create_symlink("releases/1", root / "current");
  fs::create_symlink("../../archive/cert1.pem", root / "releases" / "1" / "cert.pem");
  const auto directories = directories_of_path(root / "current" / "cert.pem");
  for (const fs::path& wanted : {root, root / "releases" / "1", root / "archive"}) {
    EXPECT_TRUE(std::ranges::contains(directories, wanted.string())) << wanted;
  }
  EXPECT_FALSE(std::ranges::contains(directories, (root / "releases").string()));
  // A loop ends.
  fs::create_symlink("b", root / "a");
  fs::create_symlink("a", root / "b");
  EXPECT_TRUE(std::ranges::contains(directories_of_path(root / "a" / "x"), root.string()));
  EXPECT_TRUE(directories_of_path("relative").empty());
  fs::remove_all(root);
}

}  // namespace
}  // namespace pqedge::jobs
