#include <netinet/udp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/counters.h"
#include "net/udp_batch.h"

namespace pqedge::net {
namespace {

// Not a power of two: buffers 64 KiB apart would all fall on the same cache lines.
constexpr size_t kStride = 64 * 1024 + 17 * 64;
constexpr size_t kMaxMessage = 64 * 1024;  // the most that GRO puts into one message
constexpr size_t kReceiveControlSize = 192;

const counters::Counter kReceivedDatagrams("pqedge_udp_received_datagrams_total",
                                           "UDP datagrams received.");
const counters::Counter kReceivedMessages(
    "pqedge_udp_received_messages_total",
    "Messages they came in: fewer than the datagrams with GRO.");
const counters::Counter kTruncated("pqedge_udp_truncated_total",
                                   "UDP messages dropped since they did not fit the buffer.");
const counters::Counter kDrops("pqedge_udp_kernel_drops_total",
                               "UDP datagrams that the kernel dropped: full receive buffers.");

template <typename T>
T control_value(const cmsghdr* c) {
  T value;
  std::memcpy(&value, CMSG_DATA(c), sizeof value);
  return value;
}

Address ip_address(int family, const void* ip, uint16_t port) {
  if (family == AF_INET) {
    sockaddr_in sa{};
    sa.sin_family = AF_INET;
    sa.sin_port = htons(port);
    std::memcpy(&sa.sin_addr, ip, 4);
    return Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&sa), sizeof sa);
  }
  sockaddr_in6 sa{};
  sa.sin6_family = AF_INET6;
  sa.sin6_port = htons(port);
  std::memcpy(&sa.sin6_addr, ip, 16);
  return Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&sa), sizeof sa);
}

}  // namespace

struct UdpReceiver::Buffers {
  struct alignas(cmsghdr) Control {
    uint8_t bytes[kReceiveControlSize];
  };

  Buffers() : data(std::make_unique_for_overwrite<uint8_t[]>(kBatch * kStride)) {
    for (size_t i = 0; i < kBatch; ++i) {
      parts[i] = {data.get() + i * kStride, kMaxMessage};
      msghdr& h = headers[i].msg_hdr;
      h = {};
      h.msg_name = &names[i];
      h.msg_iov = &parts[i];
      h.msg_iovlen = 1;
      h.msg_control = controls[i].bytes;
    }
  }

  std::unique_ptr<uint8_t[]> data;  // pages are touched, and so taken, only as they are needed
  std::array<iovec, kBatch> parts;
  std::array<sockaddr_in6, kBatch> names;
  std::array<Control, kBatch> controls;
  std::array<mmsghdr, kBatch> headers;
  std::array<Message, kBatch> messages;
};

UdpReceiver::Buffers& UdpReceiver::buffers() {
  thread_local const std::unique_ptr<Buffers> made = std::make_unique<Buffers>();
  return *made;
}

std::span<const UdpReceiver::Message> UdpReceiver::fetch() {
  Buffers& b = buffers();
  for (mmsghdr& h : b.headers) {
    h.msg_hdr.msg_namelen = sizeof(sockaddr_in6);
    h.msg_hdr.msg_controllen = kReceiveControlSize;
  }
  int n;
  do {
    n = recvmmsg(fd_, b.headers.data(), kBatch, MSG_DONTWAIT, nullptr);
  } while (n < 0 && errno == EINTR);
  full_ = n == static_cast<int>(kBatch);
  if (n <= 0) return {};
  size_t count = 0;
  size_t datagrams = 0;
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    const msghdr& h = b.headers[i].msg_hdr;
    if (h.msg_flags & MSG_TRUNC) {
      kTruncated.add();
      continue;
    }
    Message& m = b.messages[count];
    m.bytes = {b.data.get() + i * kStride, b.headers[i].msg_len};
    m.segment = m.bytes.size();
    m.peer = Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&b.names[i]), h.msg_namelen);
    m.local = bound_;
    m.ecn = 0;
    read_control(h, m);
    if (m.bytes.empty() || m.segment == 0) continue;
    datagrams += (m.bytes.size() + m.segment - 1) / m.segment;
    ++count;
  }
  kReceivedMessages.add(static_cast<uint64_t>(n));
  kReceivedDatagrams.add(datagrams);
  return std::span(b.messages).first(count);
}

void UdpReceiver::read_control(const msghdr& header, Message& m) {
  // CMSG_NXTHDR takes a pointer to a header it may write to; it does not.
  auto* h = const_cast<msghdr*>(&header);
  for (cmsghdr* c = CMSG_FIRSTHDR(h); c != nullptr; c = CMSG_NXTHDR(h, c)) {
    if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
      const auto info = control_value<in_pktinfo>(c);
      m.local = ip_address(AF_INET, &info.ipi_addr, bound_.port());
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
      const auto info = control_value<in6_pktinfo>(c);
      m.local = ip_address(AF_INET6, &info.ipi6_addr, bound_.port());
    } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
      m.ecn = control_value<uint8_t>(c) & 3;
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
      m.ecn = static_cast<uint8_t>(control_value<int>(c) & 3);
    } else if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
      m.segment = static_cast<size_t>(control_value<int>(c));
    } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
      const auto drops = control_value<uint32_t>(c);
      kDrops.add(drops - drops_);  // the kernel's count wraps
      drops_ = drops;
    }
  }
}

}  // namespace pqedge::net
