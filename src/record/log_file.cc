#include "record/log_file.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace pqedge::record {

Result<LogFile> LogFile::open(const std::string& path) {
  LogFile file;
  file.path_ = path;
  if (path.empty() || path == "-") {
    file.fd_ = path.empty() ? STDERR_FILENO : STDOUT_FILENO;
  } else {
    // O_NONBLOCK: a FIFO without a reader is an error, not a wait.
    file.owned_ = net::Fd(::open(
        path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640));
    if (!file.owned_) return fail_errno(errno, "cannot open the log file {}", path);
    file.fd_ = file.owned_.get();
  }
  struct stat info{};
  file.regular_ = ::fstat(file.fd_, &info) == 0 && S_ISREG(info.st_mode);
  return file;
}

LogFile::Status LogFile::write(std::string& text) {
  size_t done = 0;
  Status status = Status::ok;
  while (done < text.size()) {
    size_t n = text.size() - done;
    if (may_block()) {
      // The description may be shared with other processes, so it is not made non-blocking. A pipe
      // that is writable takes PIPE_BUF bytes at once (POSIX, write()).
      pollfd wait{fd_, POLLOUT, 0};
      if (::poll(&wait, 1, 0) == 0) {
        status = Status::blocked;
        break;
      }
      n = std::min<size_t>(n, PIPE_BUF);
    }
    const ssize_t written = ::write(fd_, text.data() + done, n);
    if (written > 0) {
      done += static_cast<size_t>(written);
    } else if (written < 0 && errno == EAGAIN) {
      status = Status::blocked;
      break;
    } else if (written == 0 || errno != EINTR) {
      errno_ = written == 0 ? EIO : errno;
      status = Status::failed;
      break;
    }
  }
  if (done > 0) mid_line_ = text[done - 1] != '\n';
  text.erase(0, done);
  return status;
}

Result<bool> LogFile::reopen() {
  if (!owned_) return false;
  auto fresh = open(path_);
  if (!fresh) return std::unexpected(fresh.error());
  *this = std::move(*fresh);
  return true;
}

std::string LogFile::display_name() const {
  if (owned_) return path_;
  return path_.empty() ? "standard error" : "standard output";
}

}  // namespace pqedge::record
