#include "jobs/web_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

namespace pqedge::jobs {
namespace {

bool is_local4(uint32_t ip) {  // host order
  const uint32_t first = ip >> 24;
  return first == 0 || first == 127 || ip >> 16 == 0xa9fe /* 169.254/16 */ || first >= 224;
}

bool is_local6(const in6_addr& ip) {
  if (IN6_IS_ADDR_V4MAPPED(&ip) || IN6_IS_ADDR_V4COMPAT(&ip)) {
    const uint8_t* b = ip.s6_addr + 12;
    return is_local4(uint32_t{b[0]} << 24 | uint32_t{b[1]} << 16 | uint32_t{b[2]} << 8 | b[3]);
  }
  return IN6_IS_ADDR_UNSPECIFIED(&ip) || IN6_IS_ADDR_LOOPBACK(&ip) || IN6_IS_ADDR_LINKLOCAL(&ip) ||
         IN6_IS_ADDR_MULTICAST(&ip);
}

}  // namespace

bool is_local_address(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return is_local4(ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr));
  }
  if (address->sa_family == AF_INET6) {
    return is_local6(reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  }
  return true;
}

}  // namespace pqedge::jobs
