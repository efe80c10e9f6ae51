#include "programs/pqedge/upgrade.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <format>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "net/fd_message.h"

extern char** environ;

namespace pqedge {
namespace {

constexpr const char* kVariable = "PQEDGE_UPGRADE_FD";
constexpr int kChannel = 3;  // its number in the new process
// To load its configuration and to bind what is new.
constexpr Nanos kStartTimeout = 60 * kSecond;

// Ours, but for what is meant for one process alone.
std::vector<std::string> environment() {
  std::vector<std::string> out;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view entry = *e;
    const bool ours = entry.starts_with("LISTEN_PID=") || entry.starts_with("LISTEN_FDS=") ||
                      entry.starts_with("LISTEN_FDNAMES=") || entry.starts_with("WATCHDOG_PID=") ||
                      entry.starts_with(kVariable);
    if (!ours) out.emplace_back(entry);
  }
  out.push_back(std::format("{}={}", kVariable, kChannel));
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

struct SpawnSetup {
  SpawnSetup() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSetup() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
  }
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};

std::string ended_how(pid_t process) {
  int status = 0;
  if (waitpid(process, &status, 0) != process) return "it has ended";
  if (WIFSIGNALED(status)) return std::format("it was ended by signal {}", WTERMSIG(status));
  return std::format("it ended with status {}: the reason is in the log, or on standard error",
                     WEXITSTATUS(status));
}

}  // namespace

std::vector<std::string> own_command(int argc, char** argv) {
  std::vector<std::string> command(argv, argv + argc);
  if (command.empty()) command.emplace_back();
  std::error_code code;
  // A link in the path stays one: it may lead to a new version later. Where the shell has searched
  // for the program, the kernel knows what it found.
  const auto path = command[0].contains('/')
                        ? std::filesystem::absolute(command[0], code)
                        : std::filesystem::read_symlink("/proc/self/exe", code);
  if (!code) command[0] = path.string();
  return command;
}

Result<net::Fd> take_upgrade_channel() {
  const char* value = std::getenv(kVariable);
  if (value == nullptr) return net::Fd();
  const auto number = parse_decimal(value);
  unsetenv(kVariable);
  int kind = 0;
  socklen_t size = sizeof kind;
  if (!number || *number < 3 || *number > 1'000'000 ||
      getsockopt(static_cast<int>(*number), SOL_SOCKET, SO_TYPE, &kind, &size) != 0 ||
      kind != SOCK_SEQPACKET || fcntl(static_cast<int>(*number), F_SETFD, FD_CLOEXEC) != 0) {
    return fail("{} is for pqedge itself to set, when a process replaces another", kVariable);
  }
  return net::Fd(static_cast<int>(*number));
}

Upgrade::Upgrade(net::Loop& loop, Program program, Host host)
    : loop_(loop),
      program_(std::move(program)),
      host_(std::move(host)),
      limit_(
          [](void* self) {
            static_cast<Upgrade*>(self)->refuse(
                std::format("the new process was not ready in {} s", kStartTimeout / kSecond));
          },
          this) {}

Upgrade::~Upgrade() {
  if (channel_) loop_.remove(channel_.get(), *this);
}

void Upgrade::begin(edge::Server& server, Answer answer) {
  if (running()) return answer(fail("an upgrade is under way already"));
  if (getpid() == 1) {
    return answer(
        fail("this is process 1 of its container, which ends with it: no other process "
             "can take its place. Start a second container instead"));
  }
  auto pair = net::make_message_pair();
  if (!pair) return answer(std::unexpected(pair.error()));
  // What cannot be given is known before anything is started.
  auto handover = server.offer();
  if (!handover) return answer(std::unexpected(handover.error()));
  if (auto ok = host_.add_sockets(handover->sockets); !ok) {
    return answer(std::unexpected(ok.error()));
  }
  if (auto ok = start_process(pair->theirs.get()); !ok) {
    return answer(std::unexpected(ok.error()));
  }
  pair->theirs.reset();
  server_ = &server;
  answer_ = std::move(answer);
  channel_ = std::move(pair->ours);
  log::info("upgrade", "process {} is started: {}", process_, program_.command[0]);
  if (auto ok = edge::send_handover(channel_.get(), *handover); !ok) {
    return refuse(ok.error().message);
  }
  if (auto ok = loop_.add(channel_.get(), *this, true); !ok) return refuse(ok.error().message);
  limit_.arm(loop_, kStartTimeout);
}

Result<void> Upgrade::start_process(int theirs) {
  SpawnSetup setup;
  std::vector<std::string> arguments = program_.command;
  std::vector<std::string> variables = environment();
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int s : {SIGPIPE, SIGXFSZ}) sigaddset(&defaults, s);
  const bool ready = posix_spawn_file_actions_adddup2(&setup.files, theirs, kChannel) == 0 &&
                     posix_spawn_file_actions_addclosefrom_np(&setup.files, kChannel + 1) == 0 &&
                     posix_spawnattr_setflags(
                         &setup.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) == 0 &&
                     posix_spawnattr_setsigmask(&setup.attributes, &program_.signals) == 0 &&
                     posix_spawnattr_setsigdefault(&setup.attributes, &defaults) == 0;
  if (!ready) return fail("cannot prepare the start of {}", program_.command[0]);
  const int code =
      posix_spawn(&process_, program_.command[0].c_str(), &setup.files, &setup.attributes,
                  pointers(arguments).data(), pointers(variables).data());
  if (code != 0) return fail_errno(code, "cannot start {}", program_.command[0]);
  return {};
}

void Upgrade::on_events(uint32_t) {
  const auto udp = edge::receive_ready(channel_.get());
  if (!udp) return refuse(udp.error().message);
  server_->hand_over(*udp);
  if (auto ok = edge::send_verdict(channel_.get(), true); !ok) {
    server_->take_back();
    return refuse(ok.error().message);
  }
  finish();
}

void Upgrade::finish() {
  limit_.disarm();
  loop_.remove(channel_.get(), *this);
  channel_.reset();
  log::info("upgrade", "process {} serves now; this one ends with its last connection", process_);
  answer(std::format("process {} serves now; process {} ends with its last connection", process_,
                     getpid()));
  host_.done(process_);
}

// This process goes on as if nothing had been.
void Upgrade::refuse(const std::string& why) {
  limit_.disarm();
  loop_.remove(channel_.get(), *this);
  channel_.reset();
  kill(process_, SIGKILL);
  const std::string text =
      std::format("the upgrade has failed, process {} serves on: {}; process {}: {}", getpid(), why,
                  process_, ended_how(process_));
  log::error("upgrade", "{}", text);
  answer(fail("{}", text));
}

void Upgrade::answer(Result<std::string> result) {
  if (auto then = std::exchange(answer_, nullptr)) then(std::move(result));
}

}  // namespace pqedge
