#include "measure/host/netlink.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace pqedge::measure {

namespace {

class Socket {
 public:
  Socket() : descriptor_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {}
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

size_t aligned(size_t length) { return (length + 3) & ~size_t{3}; }  // NLMSG_ALIGNTO is 4

void append(std::vector<uint8_t>& to, const void* from, size_t length) {
  const auto* bytes = static_cast<const uint8_t*>(from);
  to.insert(to.end(), bytes, bytes + length);
  to.resize(aligned(to.size()));
}

enum class Next : uint8_t { more, end };

// One datagram of the answer, which holds one or more messages.
Result<Next> take_messages(Bytes datagram, bool dump,
                           const std::function<void(uint16_t, Bytes)>& take) {
  while (datagram.size() >= sizeof(nlmsghdr)) {
    nlmsghdr header;
    std::memcpy(&header, datagram.data(), sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > datagram.size()) break;
    const Bytes payload = datagram.first(header.nlmsg_len).subspan(NLMSG_HDRLEN);
    if (header.nlmsg_type == NLMSG_DONE) return Next::end;
    if (header.nlmsg_type == NLMSG_ERROR) {
      int error = 0;
      if (payload.size() >= sizeof error) std::memcpy(&error, payload.data(), sizeof error);
      if (error != 0) return fail_errno(-error, "the kernel refused the question");
      return Next::end;
    }
    take(header.nlmsg_type, payload);
    if (!dump) return Next::end;
    datagram = datagram.subspan(std::min(aligned(header.nlmsg_len), datagram.size()));
  }
  return Next::more;
}

}  // namespace

NetlinkRequest::NetlinkRequest(uint16_t type, uint16_t flags, Bytes header) {
  nlmsghdr head{};
  head.nlmsg_type = type;
  head.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
  append(message_, &head, sizeof head);
  append(message_, header.data(), header.size());
  store_length();
}

void NetlinkRequest::add(uint16_t attribute, Bytes value) {
  rtattr head{};
  head.rta_type = attribute;
  head.rta_len = static_cast<uint16_t>(RTA_LENGTH(value.size()));
  append(message_, &head, sizeof head);
  append(message_, value.data(), value.size());
  store_length();
}

void NetlinkRequest::store_length() {
  const auto length = static_cast<uint32_t>(message_.size());
  std::memcpy(message_.data(), &length, sizeof length);
}

Result<void> ask_kernel(const NetlinkRequest& request,
                        const std::function<void(uint16_t, Bytes)>& take) {
  const Socket socket;
  if (socket.descriptor() < 0) return fail_errno(errno, "cannot ask the kernel for its routes");
  const Bytes bytes = request.bytes();
  if (send(socket.descriptor(), bytes.data(), bytes.size(), 0) < 0) {
    return fail_errno(errno, "cannot ask the kernel for its routes");
  }
  nlmsghdr head;
  std::memcpy(&head, bytes.data(), sizeof head);
  const bool dump = (head.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
  std::array<uint8_t, 32768> buffer;  // the largest that the kernel puts into one datagram
  while (true) {
    const ssize_t length = recv(socket.descriptor(), buffer.data(), buffer.size(), 0);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return fail_errno(errno, "the kernel's answer did not come");
    const auto next = take_messages(Bytes(buffer).first(static_cast<size_t>(length)), dump, take);
    if (!next) return std::unexpected(next.error());
    if (*next == Next::end) return {};
  }
}

std::optional<Bytes> attribute(Bytes attributes, uint16_t type) {
  while (attributes.size() >= sizeof(rtattr)) {
    rtattr head;
    std::memcpy(&head, attributes.data(), sizeof head);
    if (head.rta_len < sizeof head || head.rta_len > attributes.size()) return std::nullopt;
    // The top two bits are flags (NLA_F_NESTED, NLA_F_NET_BYTEORDER).
    if ((head.rta_type & NLA_TYPE_MASK) == type) {
      return attributes.first(head.rta_len).subspan(sizeof head);
    }
    attributes = attributes.subspan(std::min(aligned(head.rta_len), attributes.size()));
  }
  return std::nullopt;
}

std::optional<uint32_t> attribute_u32(Bytes attributes, uint16_t type) {
  const std::optional<Bytes> value = attribute(attributes, type);
  if (!value || value->size() < sizeof(uint32_t)) return std::nullopt;
  uint32_t number = 0;
  std::memcpy(&number, value->data(), sizeof number);
  return number;
}

std::string attribute_text(Bytes attributes, uint16_t type) {
  const std::optional<Bytes> value = attribute(attributes, type);
  if (!value) return {};
  const std::string_view text = as_text(*value);
  return std::string(text.substr(0, text.find('\0')));
}

}  // namespace pqedge::measure
