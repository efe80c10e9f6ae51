#include "measure/record/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "base/problem.h"
#include "net/socket.h"

namespace pqedge::measure {

Result<void> write_file(const std::string& path, std::string_view text) {
  if (path == "-") return write_all(STDOUT_FILENO, text, "standard output");
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    const net::Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!fd) return fail_errno(errno, "cannot write {}", path);
    return write_all(fd.get(), text, path);
  }
  return pqedge::write_file(path, text, {.mode = 0666, .keep_mode = true});
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
