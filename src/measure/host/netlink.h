// Questions to the kernel about links and routes (rtnetlink(7)), and its answers as attributes.
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace pqedge::measure {

// One request: `header` is the family's struct (ifinfomsg, rtmsg), followed by attributes.
class NetlinkRequest {
 public:
  NetlinkRequest(uint16_t type, uint16_t flags, Bytes header);
  void add(uint16_t attribute, Bytes value);
  Bytes bytes() const { return message_; }

 private:
  void store_length();
  std::vector<uint8_t> message_;
};

// Calls take(message type, payload) for each message of the answer. Errors are the kernel's.
Result<void> ask_kernel(const NetlinkRequest& request,
                        const std::function<void(uint16_t, Bytes)>& take);

// The value of an attribute in a run of attributes, or nothing.
std::optional<Bytes> attribute(Bytes attributes, uint16_t type);
std::optional<uint32_t> attribute_u32(Bytes attributes, uint16_t type);
std::string attribute_text(Bytes attributes, uint16_t type);  // without its NUL; empty: not there

}  // namespace pqedge::measure
