#include "programs/pqedge/pid_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <format>

#include "base/text.h"
#include "net/socket.h"

namespace pqedge {
namespace {

std::string our_line() { return std::format("{}\n", getpid()); }

std::string content_of(const std::string& path) {
  const net::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char buffer[32];
  const ssize_t n = fd ? ::read(fd.get(), buffer, sizeof buffer) : 0;
  return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : std::string();
}

}  // namespace

Result<void> PidFile::write(const std::string& path) {
  if (path != path_) remove();
  if (path.empty()) return {};
  const std::string temporary = path + ".new";
  const std::string line = our_line();
  const net::Fd fd(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd) return fail_errno(errno, "server.pid_file: cannot write {}", temporary);
  if (::write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
      ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int code = errno;
    ::unlink(temporary.c_str());
    return fail_errno(code, "server.pid_file: cannot write {}", path);
  }
  path_ = path;
  return {};
}

void PidFile::remove() {
  if (!path_.empty() && content_of(path_) == our_line()) ::unlink(path_.c_str());
  path_.clear();
}

}  // namespace pqedge
