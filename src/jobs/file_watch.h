// Tells when files or directories may have changed: written, renamed over, or led elsewhere by a
// symbolic link anywhere on their path (Kubernetes swaps `..data`, deployments swap `current`).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/loop.h"
#include "net/socket.h"

namespace pqedge::jobs {

// inotify(7) on every directory that a path leads through by a link, and on the one it ends in.
// Where the kernel sees nothing (network file systems, changes by another machine) a look every
// `poll` does. Lives on one loop's thread.
class FileWatch final : private net::EventSource {
 public:
  struct Options {
    Nanos quiet = 200 * kMillisecond;  // after the last event
    Nanos longest = 2 * kSecond;       // after the first, however many follow
    Nanos poll = 30 * kSecond;
  };
  // `changed` is called on the loop; it looks itself at what is different, if anything.
  static Result<std::unique_ptr<FileWatch>> start(net::Loop& loop, std::function<void()> changed,
                                                  Options options);
  static Result<std::unique_ptr<FileWatch>> start(net::Loop& loop, std::function<void()> changed) {
    return start(loop, std::move(changed), Options{});
  }
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Files, and directories whose entries count. They need not exist.
  void set_paths(std::vector<std::string> paths);
  // Calls `changed` after `after` too: to look again for what was half done.
  void look_again(Nanos after);

 private:
  FileWatch(net::Loop& loop, std::function<void()> changed, Options options);
  void on_events(uint32_t events) override;
  void on_timer();
  void watch_all();
  void watch(const std::string& directory);

  net::Loop& loop_;
  const std::function<void()> changed_;
  const Options options_;
  net::Fd inotify_;
  std::vector<std::string> paths_;
  std::set<int> watches_;
  bool some_unwatched_ = false;
  Nanos first_event_ = 0;  // 0: none since the last call
  net::Timer quiet_timer_;
  net::Timer poll_timer_;
};

// The directories whose entries decide what `path` leads to, canonical, without repetition. Of a
// path that does not exist: those up to where it ends, so that its coming is seen.
std::vector<std::string> directories_of_path(const std::string& path);

}  // namespace pqedge::jobs
