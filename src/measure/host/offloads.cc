#include "measure/host/offloads.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace pqedge::measure {

namespace {

class Ethtool {
 public:
  explicit Ethtool(const std::string& interface)
      : descriptor_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    interface.copy(request_.ifr_name, sizeof request_.ifr_name - 1);
  }
  ~Ethtool() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Ethtool(const Ethtool&) = delete;
  Ethtool& operator=(const Ethtool&) = delete;

  // `command` begins with the command's number and takes the answer.
  bool ask(void* command) {
    request_.ifr_data = static_cast<char*>(command);
    return ioctl(descriptor_, SIOCETHTOOL, &request_) == 0;
  }

  std::optional<uint32_t> value(uint32_t command) {
    ethtool_value answer{command, 0};
    if (!ask(&answer)) return std::nullopt;
    return answer.data;
  }

 private:
  int descriptor_;
  ifreq request_{};
};

// A command whose fixed part ends in an array: memory for both.
template <typename Command>
class Extended {
 public:
  Extended(uint32_t command, size_t extra) : bytes_(sizeof(Command) + extra) {
    get()->cmd = command;
  }
  Command* get() { return reinterpret_cast<Command*>(bytes_.data()); }
  const uint8_t* tail() const { return bytes_.data() + sizeof(Command); }

 private:
  std::vector<uint8_t> bytes_;
};

size_t feature_count(Ethtool& ethtool) {
  Extended<ethtool_sset_info> command(ETHTOOL_GSSET_INFO, sizeof(uint32_t));
  command.get()->sset_mask = uint64_t{1} << ETH_SS_FEATURES;
  if (!ethtool.ask(command.get()) || command.get()->sset_mask == 0) return 0;
  uint32_t count = 0;
  std::memcpy(&count, command.tail(), sizeof count);
  return count;
}

std::vector<std::string> feature_names(Ethtool& ethtool, size_t count) {
  Extended<ethtool_gstrings> command(ETHTOOL_GSTRINGS, count * ETH_GSTRING_LEN);
  command.get()->string_set = ETH_SS_FEATURES;
  command.get()->len = static_cast<uint32_t>(count);
  std::vector<std::string> names;
  if (!ethtool.ask(command.get())) return names;
  for (size_t i = 0; i < count; ++i) {
    const auto* text = reinterpret_cast<const char*>(command.tail()) + i * ETH_GSTRING_LEN;
    names.emplace_back(text, strnlen(text, ETH_GSTRING_LEN));
  }
  return names;
}

// One block of 32 features each; the fourth of its words says which are active.
void add_features(Ethtool& ethtool, std::map<std::string, std::string>& found) {
  static constexpr std::array<std::string_view, 3> kWanted{"tx-udp-segmentation", "rx-gro-hw",
                                                           "rx-udp-gro-forwarding"};
  const size_t count = feature_count(ethtool);
  const std::vector<std::string> names = feature_names(ethtool, count);
  const size_t blocks = (count + 31) / 32;
  Extended<ethtool_gfeatures> command(ETHTOOL_GFEATURES,
                                      blocks * sizeof(ethtool_get_features_block));
  command.get()->size = static_cast<uint32_t>(blocks);
  if (names.empty() || !ethtool.ask(command.get())) return;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!std::ranges::contains(kWanted, names[i])) continue;
    ethtool_get_features_block block;
    std::memcpy(&block, command.tail() + i / 32 * sizeof block, sizeof block);
    found[names[i]] = (block.active >> (i % 32) & 1) != 0 ? "on" : "off";
  }
}

}  // namespace

std::map<std::string, std::string> offloads(const std::string& interface) {
  struct Question {
    const char* name;
    uint32_t command;
    uint32_t mask;
  };
  static constexpr std::array kQuestions = {
      Question{"rx", ETHTOOL_GRXCSUM, 1},
      Question{"tx", ETHTOOL_GTXCSUM, 1},
      Question{"sg", ETHTOOL_GSG, 1},
      Question{"tso", ETHTOOL_GTSO, 1},
      Question{"gso", ETHTOOL_GGSO, 1},
      Question{"gro", ETHTOOL_GGRO, 1},
      Question{"lro", ETHTOOL_GFLAGS, ETH_FLAG_LRO},
  };
  Ethtool ethtool(interface);
  std::map<std::string, std::string> found;
  for (const Question& question : kQuestions) {
    if (const auto value = ethtool.value(question.command)) {
      found[question.name] = (*value & question.mask) != 0 ? "on" : "off";
    }
  }
  add_features(ethtool, found);
  return found;
}

}  // namespace pqedge::measure
