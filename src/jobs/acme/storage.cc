#include "jobs/acme/storage.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <format>

#include "base/file.h"
#include "base/text.h"
#include "jobs/acme/account_key.h"

namespace pqedge::acme {
namespace {

constexpr size_t kMaxFile = 4 * 1024 * 1024;
constexpr size_t kRoom = 64 * 1024;   // a chain and its key, with some to spare
constexpr size_t kLongestName = 180;  // of a file, before a hash: NAME_MAX is 255
constexpr std::string_view kEnd = ".pem";

Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return fail_errno(errno, "cannot make the folder {}", path);
}

}  // namespace

Storage::Storage(const std::string& folder, std::string_view directory_url) : root_(folder) {
  if (const size_t scheme = directory_url.find("://"); scheme != directory_url.npos) {
    directory_url.remove_prefix(scheme + 3);
  }
  std::string name = to_lower(directory_url.substr(0, kLongestName));
  std::ranges::replace_if(
      name, [](char c) { return !(c >= 'a' && c <= 'z') && !is_digit(c) && c != '.' && c != '-'; },
      '_');
  root_ += "/" + name;
}

Result<void> Storage::prepare() const {
  const std::filesystem::path root(root_);
  for (const std::string& folder :
       {root.parent_path().string(), root_, root_ + "/certificates", root_ + "/on_demand"}) {
    if (auto ok = make_folder(folder); !ok) return ok;
  }
  return {};
}

std::string Storage::certificate_file(const std::string& id, bool on_demand) const {
  return root_ + (on_demand ? "/on_demand/" : "/certificates/") + id + std::string(kEnd);
}

std::vector<std::string> Storage::on_demand_ids(size_t most) const {
  std::vector<std::string> ids;
  std::error_code code;
  std::filesystem::directory_iterator folder(root_ + "/on_demand", code);
  for (const auto end = std::filesystem::directory_iterator(); !code && folder != end;
       folder.increment(code)) {
    std::string name = folder->path().filename().string();
    if (!name.ends_with(kEnd) || ids.size() >= most) continue;
    name.resize(name.size() - kEnd.size());
    ids.push_back(std::move(name));
  }
  return ids;
}

Result<std::string> Storage::read(const std::string& file) {
  const net::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0) return fail_errno(errno, "cannot read {}", file);
  if (!S_ISREG(info.st_mode) || static_cast<size_t>(info.st_size) > kMaxFile) {
    return fail("{} is not a file that was written here", file);
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t n = ::read(fd.get(), text.data() + filled, text.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot read {}", file);
    if (n == 0) break;
    filled += static_cast<size_t>(n);
  }
  text.resize(filled);
  return text;
}

Result<void> Storage::write(const std::string& file, std::string_view text) {
  return write_file(file, text);
}

Result<void> Storage::check_room(const std::string& file) {
  return pqedge::check_room(file, kRoom);
}

void Storage::remove(const std::string& file) { ::unlink(file.c_str()); }

int64_t Storage::version_of(const std::string& file) {
  struct stat info{};
  if (::stat(file.c_str(), &info) != 0) return 0;
  // Renaming gives it another inode even within one tick of the clock.
  return (static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec) ^
         static_cast<int64_t>(info.st_ino << 1 | 1);
}

Result<Lock> Storage::lock(const std::string& file) {
  const std::string name = file + ".lock";
  Lock fd(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno(errno, "cannot open {}", name);
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return Lock();
    return fail_errno(errno, "cannot lock {}", name);
  }
  return fd;
}

std::string id_of(const std::vector<std::string>& names) {
  std::string id = names.front().substr(0, kLongestName);
  std::ranges::replace(id, '*', '_');
  if (names.size() == 1 && names.front().size() <= kLongestName) return id;
  std::string all;
  for (const std::string& name : names) all += name + '\n';
  return id + "+" + to_hex(as_bytes(sha256(all)).first(8));
}

}  // namespace pqedge::acme
