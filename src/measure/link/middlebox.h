// A middlebox for TCP that looks at ClientHellos.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "measure/link/packet.h"
#include "measure/link/settings.h"

namespace pqedge::measure::link {

class HelloWatcher {
 public:
  explicit HelloWatcher(const Direction& settings) : settings_(settings) {}

  struct Piece {
    Packet packet;
    Nanos wait = 0;  // beyond the link's own delay
  };
  struct Verdict {
    std::vector<Piece> pass;
    std::vector<Packet> answers;  // to the sender
    bool dropped = false;
  };
  Verdict judge(Bytes packet);

 private:
  struct Flow {
    uint32_t begin = 0;  // sequence numbers of the ClientHello's record
    uint32_t end = 0;
    bool known = false;
    bool blocked = false;
  };
  using Key = std::pair<uint64_t, uint64_t>;  // addresses, ports
  static constexpr size_t kMaxFlows = 4096;

  Flow& flow_of(Bytes packet, const Tcp& tcp);

  Direction settings_;
  std::map<Key, Flow> flows_;
};

}  // namespace pqedge::measure::link
