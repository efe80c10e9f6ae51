#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/counters.h"
#include "net/udp_batch.h"

namespace pqedge::net {

// Where control messages of one header are put together.
struct alignas(cmsghdr) SendControl {
  template <typename T>
  void add(int level, int type, const T& value) {
    cmsghdr c{};
    c.cmsg_level = level;
    c.cmsg_type = type;
    c.cmsg_len = CMSG_LEN(sizeof value);
    std::memcpy(bytes + used, &c, sizeof c);
    std::memcpy(bytes + used + CMSG_LEN(0), &value, sizeof value);
    used += CMSG_SPACE(sizeof value);
  }
  size_t used;  // set before the first add()
  uint8_t bytes[128];
};

namespace {

constexpr size_t kMaxPayload = 65'507;  // of one IPv4 datagram, which a GSO message must fit too
constexpr Nanos kRetryAfter = kMillisecond;
constexpr uint32_t kMostStarved = 50;  // tries of one message

const counters::Counter kSentDatagrams("pqedge_udp_sent_datagrams_total", "UDP datagrams sent.");
const counters::Counter kSentMessages("pqedge_udp_sent_messages_total",
                                      "Messages they left in: fewer than the datagrams with GSO.");
const counters::Counter kGsoFailed("pqedge_udp_gso_failed_total",
                                   "GSO messages the kernel refused; their datagrams were sent "
                                   "singly, as all later ones to there.");
const counters::Counter kFailed("pqedge_udp_send_failed_total",
                                "UDP datagrams that the kernel refused to send.");
const counters::Counter kBlocked("pqedge_udp_send_blocked_total",
                                 "Times that a UDP socket's send buffer was full.");

size_t datagrams(size_t size, size_t segment) { return (size + segment - 1) / segment; }

void add_source(SendControl& control, const Address& local) {
  const auto ip = local.ip16();
  if (local.family() == AF_INET) {
    in_pktinfo info{};
    std::memcpy(&info.ipi_spec_dst, ip.data() + 12, 4);
    control.add(IPPROTO_IP, IP_PKTINFO, info);
  } else {
    in6_pktinfo info{};
    std::memcpy(&info.ipi6_addr, ip.data(), 16);
    control.add(IPPROTO_IPV6, IPV6_PKTINFO, info);
  }
}

void add_ecn(SendControl& control, int family, uint8_t ecn) {
  if (family == AF_INET) {
    control.add(IPPROTO_IP, IP_TOS, int{ecn});
  } else {
    control.add(IPPROTO_IPV6, IPV6_TCLASS, int{ecn});
  }
}

}  // namespace

struct UdpSender::Wire {
  std::array<mmsghdr, kBatch> headers;
  std::array<iovec, kBatch> parts;
  std::array<SendControl, kBatch> controls;
};

UdpSender::UdpSender(Loop& loop, const UdpSocket& socket, const Address& bound, bool gso,
                     OnRoom on_room, void* context)
    : loop_(loop),
      fd_(socket.fd.get()),
      any_address_(bound.is_any()),
      gso_(gso && socket.gso),
      on_room_(on_room),
      context_(context),
      buffer_(std::make_unique_for_overwrite<uint8_t[]>(kCapacity)),
      flush_([](void* self) { static_cast<UdpSender*>(self)->flush(); }, this),
      retry_([](void* self) { static_cast<UdpSender*>(self)->retry(); }, this) {}

MutableBytes UdpSender::room(size_t size) {
  if (!blocked_ && kCapacity - bytes_ < size) flush();
  if (blocked_) {
    room_wanted_ = true;
    return {};
  }
  return {buffer_.get() + bytes_, size};
}

bool UdpSender::joins(const Entry& last, size_t size, size_t segment, const Address& peer,
                      const Address& local, uint8_t ecn) const {
  // Only the last datagram of a GSO message may be shorter. It does not join a lone longer one:
  // that may be a probe of the path's MTU (RFC 9000 14.3), which is to fail alone.
  const bool fits = segment == last.segment ||
                    (size == segment && size < last.segment && last.size > last.segment);
  return fits && last.size % last.segment == 0 && last.size + size <= kMaxPayload &&
         datagrams(last.size + size, last.segment) <= kSegmentsMax && last.ecn == ecn &&
         last.peer == peer && last.local == local;
}

void UdpSender::commit(size_t size, size_t segment, const Address& peer, const Address& local,
                       uint8_t ecn) {
  if (size == 0) return;
  segment = std::clamp<size_t>(segment, 1, size);
  const uint8_t* data = buffer_.get() + bytes_;
  bytes_ += size;
  if (queue_.size() > head_ && joins(queue_.back(), size, segment, peer, local, ecn)) {
    queue_.back().size += size;
  } else {
    queue_.push_back({data, size, segment, peer, local, ecn});
  }
  loop_.defer(flush_);
}

bool UdpSender::gso_to(const Address& peer) const {
  if (!gso_) return false;
  if (failed_count_ == 0) [[likely]]
    return true;
  const auto known = std::span(failed_).first(std::min(failed_count_, kFailedPaths));
  return std::ranges::find(known, peer.ip16()) == known.end();
}

void UdpSender::remember_failed(const Address& peer) {
  if (gso_to(peer)) failed_[failed_count_++ % kFailedPaths] = peer.ip16();
}

// Lays out what is queued as messages, as many as fit.
size_t UdpSender::fill(Wire& wire) const {
  size_t count = 0;
  for (size_t i = head_; i < queue_.size(); ++i) {
    const Entry& e = queue_[i];
    const bool joined = e.size > e.segment && gso_to(e.peer);
    const size_t most = joined ? std::min(kSegmentsMax * e.segment,
                                          std::max(e.segment, kMaxPayload / e.segment * e.segment))
                               : e.segment;
    for (size_t at = 0; at < e.size; at += most) {
      if (count == kBatch) return count;
      const size_t n = std::min(most, e.size - at);
      SendControl& control = wire.controls[count];
      control.used = 0;
      if (any_address_ && e.local.is_ip() && !e.local.is_any()) add_source(control, e.local);
      if (e.ecn != 0) add_ecn(control, e.peer.family(), e.ecn);
      if (n > e.segment) control.add(SOL_UDP, UDP_SEGMENT, static_cast<uint16_t>(e.segment));
      wire.parts[count] = {const_cast<uint8_t*>(e.data + at), n};
      msghdr& h = wire.headers[count].msg_hdr;
      h = {};
      h.msg_name = const_cast<sockaddr*>(e.peer.data());
      h.msg_namelen = e.peer.size();
      h.msg_iov = &wire.parts[count];
      h.msg_iovlen = 1;
      h.msg_control = control.used != 0 ? control.bytes : nullptr;
      h.msg_controllen = control.used;
      ++count;
    }
  }
  return count;
}

// `bytes` from the front are done with.
void UdpSender::advance(size_t bytes) {
  sent_ += bytes;
  while (bytes > 0) {
    Entry& e = queue_[head_];
    const size_t n = std::min(bytes, e.size);
    e.data += n;
    e.size -= n;
    bytes -= n;
    if (e.size == 0) ++head_;
  }
}

// The first message, of `bytes`, was refused.
void UdpSender::drop_front(size_t bytes, int code) {
  const Entry& e = queue_[head_];
  if (bytes > e.segment && (code == EIO || code == EINVAL || code == EMSGSIZE)) {
    // GSO can fail at send time, also after it worked: the route's device may have changed. The
    // entry is laid out singly from now on.
    kGsoFailed.add();
    remember_failed(e.peer);
    return;
  }
  kFailed.add(datagrams(bytes, e.segment));
  advance(bytes);
}

void UdpSender::flush() {
  flush_.unlink();
  if (blocked_) return;
  Wire wire;
  while (head_ < queue_.size()) {
    const size_t count = fill(wire);
    const int n = sendmmsg(fd_, wire.headers.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
    if (n < 0) {
      if (errno == EINTR) continue;
      const int code = errno;
      if (code == EAGAIN || code == EWOULDBLOCK) return wait_for_room();
      // It may be the way to one peer that is stuck: it is not to hold up the others for ever.
      const bool starved = code == ENOBUFS || code == ENOMEM;
      if (starved && ++starved_ <= kMostStarved) return wait_for_room();
      starved_ = 0;
      drop_front(wire.parts[0].iov_len, code);
      continue;
    }
    starved_ = 0;
    kSentMessages.add(static_cast<uint64_t>(n));
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
      kSentDatagrams.add(datagrams(wire.parts[i].iov_len, queue_[head_].segment));
      advance(wire.parts[i].iov_len);
    }
  }
  queue_.clear();
  head_ = 0;
  bytes_ = sent_ = 0;
}

void UdpSender::wait_for_room() {
  kBlocked.add();
  blocked_ = true;
  retry_.arm(loop_, kRetryAfter);
}

void UdpSender::retry() {
  blocked_ = false;
  flush();
  if (!blocked_ && std::exchange(room_wanted_, false) && on_room_ != nullptr) on_room_(context_);
}

}  // namespace pqedge::net
