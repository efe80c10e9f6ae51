// One worker's UDP listeners without HTTP, and those that a reload took away as long as they have
// clients.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "edge/udp_stream.h"
#include "net/address.h"

namespace pqedge::edge {

struct ListenerPlan;
struct PassedSocket;
class Worker;

class UdpStreams {
 public:
  explicit UdpStreams(Worker& worker) : worker_(worker) {}

  // Of the sockets of the plan's entries that are its own and new: to be given to apply().
  using Opened = std::map<std::string, std::unique_ptr<UdpStream>>;  // by address
  Result<Opened> make(ListenerPlan& plan);
  void apply(const ListenerPlan& plan, Opened fresh);
  // Those that were taken away and have no client any more.
  void close_unused();
  bool closing() const { return !closing_.empty(); }
  void stop_accepting();
  void cut(std::string_view why);
  void clear();
  // Null: there is none of that address.
  UdpStream* find(const net::Address& address) const;

  // For an upgrade.
  Result<void> add_sockets_to(std::vector<PassedSocket>& out) const;
  void stop_reading(const std::vector<std::string>& addresses);
  Result<void> begin_reading();

 private:
  Worker& worker_;
  Opened open_;
  std::vector<std::unique_ptr<UdpStream>> closing_;
};

}  // namespace pqedge::edge
