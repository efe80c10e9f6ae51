#include "jobs/file_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <deque>
#include <system_error>
#include <utility>

#include "base/log.h"

namespace pqedge::jobs {
namespace {

// What changes the meaning of a name: not reads, and not each write of a file that is being
// written.
constexpr uint32_t kEvents = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                             IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
constexpr int kMostLinks = 40;  // as the kernel counts them (path_resolution(7))
constexpr size_t kMostWatches = 4096;

std::deque<std::string> components_of(const std::string& path) {
  std::deque<std::string> parts;
  size_t at = 0;
  while (at < path.size()) {
    const size_t end = std::min(path.find('/', at), path.size());
    if (end > at) parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string join(const std::string& directory, const std::string& name) {
  return directory == "/" ? "/" + name : directory + "/" + name;
}

std::string parent_of(const std::string& directory) {
  const size_t slash = directory.rfind('/');
  return slash == 0 || slash == directory.npos ? "/" : directory.substr(0, slash);
}

std::string link_of(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t n = readlink(path.c_str(), target, sizeof target);
  return n > 0 && static_cast<size_t>(n) < sizeof target
             ? std::string(target, static_cast<size_t>(n))
             : std::string();
}

void add(std::vector<std::string>& list, const std::string& one) {
  if (!std::ranges::contains(list, one)) list.push_back(one);
}

}  // namespace

std::vector<std::string> directories_of_path(const std::string& path) {
  std::vector<std::string> directories;
  if (!path.starts_with('/')) return directories;
  std::deque<std::string> left = components_of(path);
  std::string here = "/";  // a directory without links in its name
  int links = 0;
  while (!left.empty()) {
    const std::string name = left.front();
    left.pop_front();
    if (name == ".") continue;
    if (name == "..") {
      here = parent_of(here);
      continue;
    }
    const std::string next = join(here, name);
    struct stat st{};
    if (lstat(next.c_str(), &st) != 0) {
      add(directories, here);  // here it would come to be
      return directories;
    }
    if (S_ISLNK(st.st_mode)) {
      add(directories, here);
      const std::string target = link_of(next);
      if (target.empty() || ++links > kMostLinks) return directories;
      auto parts = components_of(target);
      left.insert(left.begin(), parts.begin(), parts.end());
      if (target.starts_with('/')) here = "/";
      continue;
    }
    if (left.empty()) add(directories, S_ISDIR(st.st_mode) ? next : here);
    if (S_ISDIR(st.st_mode)) here = next;
  }
  return directories;
}

FileWatch::FileWatch(net::Loop& loop, std::function<void()> changed, Options options)
    : loop_(loop),
      changed_(std::move(changed)),
      options_(options),
      quiet_timer_([](void* self) { static_cast<FileWatch*>(self)->on_timer(); }, this),
      poll_timer_([](void* self) { static_cast<FileWatch*>(self)->on_timer(); }, this) {}

Result<std::unique_ptr<FileWatch>> FileWatch::start(net::Loop& loop, std::function<void()> changed,
                                                    Options options) {
  std::unique_ptr<FileWatch> made(new FileWatch(loop, std::move(changed), options));
  made->inotify_ = net::Fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!made->inotify_) {
    // The user's instances may be used up (fs.inotify.max_user_instances): then the poll must do.
    log::warning("files", "cannot watch files ({}): they are looked at every {} seconds",
                 std::generic_category().message(errno), options.poll / kSecond);
  } else if (auto added = loop.add(made->inotify_.get(), *made); !added) {
    made->inotify_ = {};
    return std::unexpected(added.error());
  }
  made->poll_timer_.arm(loop, options.poll);
  return made;
}

FileWatch::~FileWatch() {
  if (inotify_) loop_.remove(inotify_.get(), *this);
}

void FileWatch::set_paths(std::vector<std::string> paths) {
  paths_ = std::move(paths);
  watch_all();
}

void FileWatch::look_again(Nanos after) {
  const Nanos when = loop_.now() + after;
  if (!poll_timer_.armed() || poll_timer_.deadline() > when) poll_timer_.arm_at(loop_, when);
}

// Watches are on inodes: after a swap the same names mean others.
void FileWatch::watch_all() {
  if (!inotify_) return;
  const std::set<int> before = std::move(watches_);
  watches_.clear();
  some_unwatched_ = false;
  for (const std::string& path : paths_) {
    for (const std::string& directory : directories_of_path(path)) watch(directory);
  }
  for (const int one : before) {
    if (!watches_.contains(one)) inotify_rm_watch(inotify_.get(), one);
  }
}

void FileWatch::watch(const std::string& directory) {
  const int one = watches_.size() < kMostWatches
                      ? inotify_add_watch(inotify_.get(), directory.c_str(), kEvents)
                      : -1;
  if (one >= 0) {
    watches_.insert(one);
  } else if (!std::exchange(some_unwatched_, true)) {
    log::debug("files", "{} cannot be watched; it is looked at every {} seconds", directory,
               options_.poll / kSecond);
  }
}

// What happened is not asked: a look at the files themselves says it, also when events were lost.
void FileWatch::on_events(uint32_t) {
  alignas(inotify_event) char buffer[16 * 1024];
  bool some = false;
  while (read(inotify_.get(), buffer, sizeof buffer) > 0) some = true;
  if (!some) return;
  if (first_event_ == 0) first_event_ = loop_.now();
  quiet_timer_.arm_at(loop_,
                      std::min(loop_.now() + options_.quiet, first_event_ + options_.longest));
}

// First the watches, then the look: what changes in between raises an event.
void FileWatch::on_timer() {
  first_event_ = 0;
  quiet_timer_.disarm();
  watch_all();
  poll_timer_.arm(loop_, options_.poll);
  changed_();
}

}  // namespace pqedge::jobs
