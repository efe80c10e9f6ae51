#include "measure/link/command.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "net/address.h"

extern char** environ;

namespace pqedge::measure::link {

namespace {

constexpr Nanos kPatience = 2 * kSecond;

int exit_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void pause_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

bool listens(uint16_t port) {
  const auto address = net::Address::from_ip(kServerIp, port);
  const net::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return socket && address && ::connect(socket.get(), address->data(), address->size()) == 0;
}

}  // namespace

Result<Command> Command::start(const Namespace& space, const std::vector<std::string>& arguments,
                               bool own_group) {
  // All memory is taken before fork(): this process has threads.
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::string client = std::string("PQCOST_CLIENT_IP=") + kClientIp;
  std::string server = std::string("PQCOST_SERVER_IP=") + kServerIp;
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(client.data());
  environment.push_back(server.data());
  environment.push_back(nullptr);
  // Closed by a successful exec; holds errno otherwise.
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  const net::Fd read_end(pipe_ends[0]);
  net::Fd write_end(pipe_ends[1]);

  const pid_t pid = fork();
  if (pid < 0) return fail_errno(errno, "fork");
  if (pid == 0) {
    if (own_group) setpgid(0, 0);
    if (setns(space.descriptor(), CLONE_NEWNET) == 0) {
      execvpe(argv[0], argv.data(), environment.data());
    }
    const int error = errno;
    static_cast<void>(!::write(write_end.get(), &error, sizeof(error)));
    _exit(127);
  }
  write_end.reset();
  if (own_group) setpgid(pid, pid);
  int error = 0;
  if (::read(read_end.get(), &error, sizeof(error)) == sizeof(error)) {
    waitpid(pid, nullptr, 0);
    return fail_errno(error, "{}: cannot be run", arguments.front());
  }
  return Command(pid, own_group);
}

Command::Command(Command&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), own_group_(other.own_group_), status_(other.status_) {}

Command::~Command() { stop(); }

int Command::wait() {
  while (pid_ > 0) {
    int status = 0;
    if (waitpid(pid_, &status, 0) == pid_) {
      status_ = exit_status(status);
      pid_ = -1;
    } else if (errno != EINTR) {
      pid_ = -1;
    }
  }
  return status_;
}

bool Command::running() {
  if (pid_ <= 0) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
  status_ = exit_status(status);
  pid_ = -1;
  return false;
}

void Command::stop() {
  if (!running()) return;
  const pid_t whom = own_group_ ? -pid_ : pid_;
  kill(whom, SIGTERM);
  const Nanos end = monotonic_now() + kPatience;
  while (running() && monotonic_now() < end) pause_a_little();
  if (!running()) return;
  kill(whom, SIGKILL);
  wait();
}

Result<void> wait_for_port(const Testbed& testbed, uint16_t port, Command& server, Nanos timeout) {
  return testbed.server().run([&]() -> Result<void> {
    const Nanos end = monotonic_now() + timeout;
    while (!listens(port)) {
      if (!server.running()) return fail("the server ended at its start");
      if (monotonic_now() > end) {
        return fail("nothing listens on {}:{} after {} s", kServerIp, port, timeout / kSecond);
      }
      pause_a_little();
    }
    return {};
  });
}

}  // namespace pqedge::measure::link
