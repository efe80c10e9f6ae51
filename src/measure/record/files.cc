#include "measure/record/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/problem.h"
#include "measure/record/json.h"
#include "net/socket.h"

namespace pqedge::measure {
namespace {

Result<void> write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n > 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (n == 0 || errno != EINTR) {
      return fail_errno(n == 0 ? EIO : errno, "cannot write {}", path);
    }
  }
  return {};
}

// A file of the same folder that is gone again unless it got the name it was made for. It has the
// permissions of the file that it takes the place of.
class Temporary {
 public:
  explicit Temporary(const std::string& path) : name_(path + '.' + new_record_id().substr(0, 12)) {
    struct stat info {};
    const bool there = ::stat(path.c_str(), &info) == 0;
    fd_ = net::Fd(::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd_ && there) ::fchmod(fd_.get(), info.st_mode & 0777);
  }
  ~Temporary() {
    if (fd_ && !kept_) ::unlink(name_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  int fd() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  bool rename_to(const std::string& path) {
    kept_ = ::rename(name_.c_str(), path.c_str()) == 0;
    return kept_;
  }

 private:
  std::string name_;
  net::Fd fd_;
  bool kept_ = false;
};

// The name is on the disk only when its folder is.
void sync_folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const net::Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) ::fsync(fd.get());
}

}  // namespace

Result<void> write_file(const std::string& path, std::string_view text) {
  if (path == "-") return write_all(STDOUT_FILENO, text, "standard output");
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    const net::Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!fd) return fail_errno(errno, "cannot write {}", path);
    return write_all(fd.get(), text, path);
  }
  Temporary file(path);
  if (!file) return fail_errno(errno, "cannot write {}", path);
  if (auto written = write_all(file.fd(), text, path); !written) return written;
  if (::fsync(file.fd()) != 0 || !file.rename_to(path)) {
    return fail_errno(errno, "cannot write {}", path);
  }
  sync_folder_of(path);
  return {};
}

Result<std::string> read_file(const std::string& path, size_t limit) {
  const net::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return fail_errno(errno, "cannot read {}", path);
  std::string text;
  constexpr size_t kStep = 65536;
  while (text.size() <= limit) {
    const size_t before = text.size();
    text.resize(before + kStep);
    const ssize_t n = ::read(fd.get(), text.data() + before, kStep);
    text.resize(before + (n > 0 ? static_cast<size_t>(n) : 0));
    if (n == 0) return text;
    if (n < 0 && errno != EINTR) return fail_errno(errno, "cannot read {}", path);
  }
  return fail("{}: larger than {}, more than is read", path, size_text(limit));
}

}  // namespace pqedge::measure
