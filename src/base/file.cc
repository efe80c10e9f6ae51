#include "base/file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"

namespace pqedge {
namespace {

// "FILE.3fa9c1d2e4b5a697.new": no other writer of the file has this one.
std::string temporary_name(const std::string& file) {
  uint8_t random[8] = {};
  while (::getrandom(random, sizeof random, 0) < 0 && errno == EINTR) {
  }
  return file + '.' + to_hex(random) + ".new";
}

// In the folder of `file`; gone again unless it got the name it was made for.
class Temporary {
 public:
  Temporary(const std::string& file, const WriteOptions& options) : path_(temporary_name(file)) {
    struct stat info{};
    const bool takes_place = options.keep_mode && ::stat(file.c_str(), &info) == 0;
    fd_ = Fd(
        ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, options.mode));
    if (fd_ && takes_place) ::fchmod(fd_.get(), info.st_mode & 0777);
  }
  ~Temporary() {
    if (fd_ && !named_) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  explicit operator bool() const { return static_cast<bool>(fd_); }

  Result<void> fill(std::string_view text, const std::string& file) {
    if (auto ok = write_all(fd_.get(), text, file); !ok) return ok;
    if (::fsync(fd_.get()) != 0) return fail_errno(errno, "cannot write {}", file);
    return {};
  }

  Result<void> give_name(const std::string& file, bool replace) {
    // link() does not replace what is there; the temporary name goes away with this object.
    const int done =
        replace ? ::rename(path_.c_str(), file.c_str()) : ::link(path_.c_str(), file.c_str());
    if (done != 0) return fail_errno(errno, "cannot write {}", file);
    named_ = replace;
    return {};
  }

 private:
  std::string path_;
  Fd fd_;
  bool named_ = false;
};

// Without it a crash could bring the old file back although rename() had returned.
void sync_folder_of(const std::string& file) {
  const size_t slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash + 1);
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) ::fsync(fd.get());
}

}  // namespace

Result<void> write_all(int fd, std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n > 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (n == 0 || errno != EINTR) {
      return fail_errno(n == 0 ? EIO : errno, "cannot write {}", name);
    }
  }
  return {};
}

Result<void> write_file(const std::string& file, std::string_view text,
                        const WriteOptions& options) {
  {
    Temporary temporary(file, options);
    if (!temporary) return fail_errno(errno, "cannot write {}", file);
    if (auto ok = temporary.fill(text, file); !ok) return ok;
    if (auto ok = temporary.give_name(file, options.replace); !ok) return ok;
  }
  sync_folder_of(file);
  return {};
}

Result<void> check_room(const std::string& file, size_t size) {
  Temporary temporary(file, {});
  if (!temporary) return fail_errno(errno, "cannot write {}", file);
  return temporary.fill(std::string(size, '\n'), file);
}

}  // namespace pqedge
