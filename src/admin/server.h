// The admin side: read-only pages over TCP, and over a Unix socket what changes state. It has a
// thread and a loop of its own, so that it answers when every worker is busy.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "admin/settings.h"
#include "base/result.h"
#include "edge/pool_keeper.h"
#include "net/loop.h"
#include "net/socket.h"

namespace pqedge::admin {

// What the program does for the admin side. All are called on the admin thread and may block it.
struct Hooks {
  std::function<bool()> ready;                  // started and not draining
  std::function<Result<std::string>()> reload;  // the text says what was done
  std::function<Result<std::string>()> reload_certificates;
  std::function<Result<std::string>()> upgrade;  // a new process takes this one's place
  std::function<void()> drain;
  std::function<void()> reopen_logs;
  std::function<std::string()> status_json;
  std::function<std::string(const std::string& pool)> backends_json;  // empty: of all; or no such
  std::function<Result<std::string>(const edge::PoolOrder&)> order;
  std::function<std::string()> canaries_json;
  // Of a route's name, and a percentage or "rollback"; the text says what was done.
  std::function<Result<std::string>(std::string route, std::string percent)> set_canary;
};

class Listener;
class Site;

class Server {
 public:
  // A listening socket of a process that another takes the place of.
  struct Socket {
    net::Address address;  // as configured; of the control socket: its path
    bool control = false;
    net::Fd fd;
  };

  // Binds every address, but for those that were passed on, and runs. The error names the address.
  static Result<std::unique_ptr<Server>> start(const Settings& settings, Hooks hooks,
                                               std::vector<Socket> passed = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // For a reload: takes the new `hosts`; returns a text that names what only a restart changes, or
  // an empty one.
  std::string update(const Settings& settings);

  // Copies, for the process that takes this one's place. Once it serves, release(): no connection
  // is accepted here any more, and the control socket's file is the other's.
  Result<std::vector<Socket>> sockets() const;
  void release();

  // Where it listens, in the order of settings.listen: port 0 has become a real one.
  const std::vector<net::Address>& addresses() const { return addresses_; }

 private:
  Server();
  Result<void> bind_all(std::vector<Socket> passed);

  Settings settings_;
  std::vector<net::Address> addresses_;
  std::unique_ptr<net::Loop> loop_;
  std::unique_ptr<Site> site_;  // what is served; used on the loop's thread once it runs
  std::vector<std::unique_ptr<Listener>> listeners_;
  dev_t control_device_ = 0;  // of the control socket's file; inode 0: there is none
  ino_t control_inode_ = 0;
  std::thread thread_;
};

}  // namespace pqedge::admin
