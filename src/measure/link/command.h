// Commands in the namespaces of the emulated link.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "measure/link/testbed.h"

namespace pqedge::measure::link {

// A child process in a namespace, in a process group of its own; the destructor ends the group.
// Its environment has PQCOST_CLIENT_IP and PQCOST_SERVER_IP.
class Command {
 public:
  static Result<Command> start(const Namespace& space, const std::vector<std::string>& arguments,
                               bool own_group);
  Command(Command&& other) noexcept;
  Command& operator=(Command&&) = delete;
  ~Command();

  // Waits for its end: its exit status, or 128 plus the signal that ended it.
  int wait();
  bool running();
  // SIGTERM to the group, SIGKILL after two seconds.
  void stop();

 private:
  Command(pid_t pid, bool own_group) : pid_(pid), own_group_(own_group) {}
  pid_t pid_;
  bool own_group_;
  int status_ = -1;
};

// Until something listens on the server's TCP port, or the server has ended, or the time is over.
Result<void> wait_for_port(const Testbed& testbed, uint16_t port, Command& server, Nanos timeout);

}  // namespace pqedge::measure::link
