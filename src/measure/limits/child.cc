#include "measure/limits/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/time.h"
#include "net/socket.h"

namespace pqedge::measure {
namespace {

constexpr double kPatience = 3;  // seconds from SIGTERM to SIGKILL
constexpr useconds_t kPoll = 5'000;

// Between fork and exec: only what is safe in the child of a process with threads.
[[noreturn]] void become(char* const* arguments, int log, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = ::open("/dev/null", O_RDONLY);
  if (input < 0 || ::dup2(input, 0) < 0 || ::dup2(log, 1) < 0 || ::dup2(log, 2) < 0) ::_exit(127);
  ::execv(arguments[0], arguments);
  ::_exit(127);
}

}  // namespace

Result<Workspace> Workspace::make() {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / "pqcost-XXXXXX").string();
  if (error || ::mkdtemp(path.data()) == nullptr) {
    return fail_errno(errno, "cannot make a temporary folder {}", path);
  }
  // A program that gives up its rights has to read its files.
  std::filesystem::permissions(path, std::filesystem::perms(0755), error);
  return Workspace(std::move(path));
}

Workspace::Workspace(Workspace&& other) noexcept : path_(std::exchange(other.path_, {})) {}

Workspace::~Workspace() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<std::string> Workspace::write(std::string_view name, std::string_view content) const {
  const std::string path = path_ + "/" + std::string(name);
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  if (!file) return fail_errno(errno, "cannot write {}", path);
  return path;
}

Result<Child> Child::start(const std::vector<std::string>& arguments, const std::string& log) {
  std::vector<char*> raw;
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  const net::Fd file(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) return fail_errno(errno, "cannot write {}", log);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno(errno, "cannot start {}", arguments.front());
  if (pid == 0) become(raw.data(), file.get(), parent);
  return Child(pid);
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    stop();
    pid_ = std::exchange(other.pid_, -1);
  }
  return *this;
}

bool Child::running() {
  if (pid_ < 0) return false;
  if (::waitpid(pid_, nullptr, WNOHANG) == 0) return true;
  pid_ = -1;
  return false;
}

std::optional<int> Child::wait(double seconds) {
  const Nanos end = monotonic_now() + static_cast<Nanos>(seconds * static_cast<double>(kSecond));
  while (pid_ > 0) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (monotonic_now() > end) return std::nullopt;
    ::usleep(kPoll);
  }
  return std::nullopt;
}

void Child::stop() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGTERM);
  if (wait(kPatience).has_value()) return;
  ::kill(-pid_, SIGKILL);  // its process group: it and what it started
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::optional<std::string> find_program(std::string_view name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path == nullptr ? "" : path) +
                             ":/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    std::string file = folder + "/" + std::string(name);
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

std::string read_text(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<std::string> output_of(const std::vector<std::string>& arguments,
                              const Workspace& workspace) {
  const std::string log = workspace.path() + "/output";
  auto child = Child::start(arguments, log);
  if (!child) return std::unexpected(child.error());
  const auto status = child->wait(2);
  if (!status) return fail("{} did not end", arguments.front());
  return read_text(log);
}

}  // namespace pqedge::measure
