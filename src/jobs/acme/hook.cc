#include "jobs/acme/hook.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include <sys/syscall.h>  // lacks it itself
}

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "net/socket.h"

namespace pqedge::acme {
namespace {

constexpr size_t kMaxOutput = 4096;  // kept; the rest is read and dropped
constexpr size_t kShown = 512;       // the end of it, in an error
constexpr Nanos kLook = 100 * kMillisecond;

struct FileActions {
  posix_spawn_file_actions_t value;
  FileActions() { posix_spawn_file_actions_init(&value); }
  ~FileActions() { posix_spawn_file_actions_destroy(&value); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
};

struct Attributes {
  posix_spawnattr_t value;
  Attributes() { posix_spawnattr_init(&value); }
  ~Attributes() { posix_spawnattr_destroy(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> environment_with(const HookCall& call) {
  std::vector<std::string> out;
  for (char** one = environ; *one != nullptr; ++one) out.emplace_back(*one);
  for (const auto& [name, value] : call.environment) out.push_back(name + "=" + value);
  return out;
}

// In a process group of its own, so that all of it can be killed; with the signals that this
// process blocks or ignores as a program expects them.
Result<pid_t> start(const HookCall& call, int output) {
  FileActions files;
  posix_spawn_file_actions_addopen(&files.value, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files.value, output, 1);
  posix_spawn_file_actions_adddup2(&files.value, output, 2);
  Attributes attributes;
  sigset_t none;
  sigset_t usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes.value, &none);
  posix_spawnattr_setsigdefault(&attributes.value, &usual);
  posix_spawnattr_setpgroup(&attributes.value, 0);
  posix_spawnattr_setflags(&attributes.value,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> arguments = call.command;
  std::vector<std::string> environment = environment_with(call);
  pid_t pid = 0;
  const int code = posix_spawn(&pid, arguments.front().c_str(), &files.value, &attributes.value,
                               pointers(arguments).data(), pointers(environment).data());
  if (code != 0) return fail_errno(code, "cannot run {}", call.command.front());
  return pid;
}

void read_some(net::Fd& pipe, std::string& output) {
  char buffer[1024];
  const ssize_t n = ::read(pipe.get(), buffer, sizeof buffer);
  if (n == 0) pipe.reset();
  if (n <= 0) return;
  output.append(buffer, static_cast<size_t>(n));
  if (output.size() > kMaxOutput) output.erase(0, output.size() - kMaxOutput);
}

std::string shown(std::string_view output) {
  while (output.ends_with('\n')) output.remove_suffix(1);
  if (output.size() > kShown) output.remove_prefix(output.size() - kShown);
  std::string out;
  append_text_escaped(out, output);
  return out.empty() ? "it wrote nothing" : out;
}

}  // namespace

Result<void> run_hook(const HookCall& call) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
  net::Fd output(ends[0]);
  net::Fd input(ends[1]);
  const auto pid = start(call, input.get());
  input.reset();
  if (!pid) return std::unexpected(pid.error());
  // Not by sys/pidfd.h, whose names some C libraries leave without C linkage.
  const net::Fd process(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  const Nanos deadline = monotonic_now() + call.timeout;
  std::string text;
  int status = 0;
  bool killed = false;
  // What it left running may hold the pipe: its own end counts.
  for (;;) {
    const pid_t ended = ::waitpid(*pid, &status, WNOHANG);
    if (ended == *pid || (ended < 0 && errno == ECHILD)) break;
    const bool stop = call.stop != nullptr && call.stop->load(std::memory_order_relaxed);
    const Nanos now = monotonic_now();
    if (!killed && (stop || now >= deadline)) {
      ::kill(-*pid, SIGKILL);
      killed = true;
    }
    pollfd polled[2] = {{process.get(), POLLIN, 0}, {output.get(), POLLIN, 0}};
    const Nanos left = killed || now >= deadline ? kLook : std::min(deadline - now, kLook);
    ::poll(polled, 2, static_cast<int>(left / kMillisecond) + 1);
    if (polled[1].revents != 0) read_some(output, text);
  }
  if (output) {
    ::fcntl(output.get(), F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 8 && output; ++i) read_some(output, text);
  }
  const std::string& name = call.command.front();
  if (killed) {
    return fail("{} was killed: it took longer than {} s; {}", name, call.timeout / kSecond,
                shown(text));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFEXITED(status)) {
    return fail("{} ended with status {}: {}", name, WEXITSTATUS(status), shown(text));
  }
  return fail("{} was ended by signal {}: {}", name, WTERMSIG(status), shown(text));
}

}  // namespace pqedge::acme
