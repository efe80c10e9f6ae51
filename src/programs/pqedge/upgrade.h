// A new process of the program takes this one's place, while both serve (recipes/hot-upgrade.md).
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "edge/handover.h"
#include "edge/server.h"
#include "net/loop.h"
#include "net/socket.h"

namespace pqedge {

// In the old process, on the main thread: starts the new one, gives it what it needs, and says what
// became of it. Until the new one is ready nothing changes here.
class Upgrade final : private net::EventSource {
 public:
  // How the program was called, and the signals that were blocked then.
  struct Program {
    std::vector<std::string> command;
    sigset_t signals;
  };
  struct Host {
    // Sockets besides the server's that the new process needs.
    std::function<Result<void>(std::vector<edge::PassedSocket>&)> add_sockets;
    std::function<void(pid_t)> done;  // the new process serves: what is here may end
  };
  using Answer = std::function<void(Result<std::string>)>;

  Upgrade(net::Loop& loop, Program program, Host host);
  ~Upgrade();

  // `answer` is called once, perhaps at once.
  void begin(edge::Server& server, Answer answer);
  bool running() const { return static_cast<bool>(channel_); }

 private:
  void on_events(uint32_t events) override;
  Result<void> start_process(int theirs);
  Result<void> give(edge::Server& server, int channel);
  void finish();
  void refuse(const std::string& why);
  void answer(Result<std::string> result);

  net::Loop& loop_;
  const Program program_;
  const Host host_;
  edge::Server* server_ = nullptr;
  net::Fd channel_;  // while the new process starts
  pid_t process_ = 0;
  Answer answer_;
  net::Timer limit_;
};

// In the new process: the way to the old one, if this process was started by one. Takes the
// variable that names it out of the environment.
Result<net::Fd> take_upgrade_channel();

// The path and arguments to start this program with again, also after its file was replaced.
std::vector<std::string> own_command(int argc, char** argv);

}  // namespace pqedge
