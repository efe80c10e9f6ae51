#include "net/port_holder.h"

#include <filesystem>
#include <format>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "base/text.h"

namespace pqedge::net {
namespace {

constexpr std::string_view kListening = "0A";  // TCP_LISTEN in /proc/net/tcp

// The links of descriptors ("socket:[INODE]") whose sockets are bound to `port`.
void sockets_of(const char* table, uint16_t port, bool udp, std::set<std::string>& links) {
  std::ifstream file(table);
  const std::string wanted = std::format(":{:04X}", port);
  std::string line;
  std::getline(file, line);  // the heading
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
    words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> uid >>
        timeout >> inode;
    if (local.ends_with(wanted) && (udp || state == kListening)) {
      links.insert("socket:[" + inode + "]");
    }
  }
}

bool holds_any(const std::filesystem::path& process, const std::set<std::string>& links) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(process / "fd", error)) {
    std::error_code gone;
    const auto link = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone && links.contains(link.string())) return true;
  }
  return false;
}

}  // namespace

std::optional<PortHolder> find_port_holder(const Address& address, bool udp) {
  if (!address.is_ip()) return std::nullopt;
  std::set<std::string> links;
  for (const char* table :
       {udp ? "/proc/net/udp" : "/proc/net/tcp", udp ? "/proc/net/udp6" : "/proc/net/tcp6"}) {
    sockets_of(table, address.port(), udp, links);
  }
  if (links.empty()) return std::nullopt;
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
    const auto pid = parse_decimal(process.path().filename().string());
    if (!pid || !holds_any(process.path(), links)) continue;
    PortHolder holder{static_cast<pid_t>(*pid), {}};
    std::ifstream comm(process.path() / "comm");
    std::getline(comm, holder.name);
    return holder;
  }
  return std::nullopt;
}

}  // namespace pqedge::net
