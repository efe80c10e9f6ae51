// The hellos of QUIC connections that nobody knows yet: read, kept while they come in part, and
// given to the listener or to a new flow.
#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "edge/udp_passthrough.h"
#include "edge/worker.h"
#include "wire/quic/initial_reader.h"

namespace pqedge::edge {
namespace {

// RFC 9000 14.1: a datagram with a client's Initial is never smaller.
constexpr size_t kLeastInitial = 1200;

counters::Counter hellos(const char* outcome) {
  return counters::Counter("pqedge_passthrough_quic_hellos_total",
                           "QUIC hellos read on listeners with a passthrough, by outcome.",
                           {{"outcome", outcome}});
}
const counters::Counter kPassedOn = hellos("passed_on");
const counters::Counter kOurs = hellos("ours");
const counters::Counter kBroken = hellos("broken");
const counters::Counter kExpired = hellos("expired");
const counters::Counter kEvicted = hellos("evicted");

}  // namespace

bool UdpPassthrough::take_long(const quic::ReceivedDatagram& datagram, const PathKey& key,
                               UdpFlow* newest) {
  const auto header = quic::read_long_header(datagram.bytes);
  if (!header) return false;  // of another version, or damaged: the listener answers, or drops it
  switch (header->type) {
    case quic::LongType::handshake:
      if (newest == nullptr) return false;
      forward(*newest, datagram, false);
      return true;
    case quic::LongType::retry: return false;
    case quic::LongType::zero_rtt:
    case quic::LongType::initial: break;
  }
  if (!accepting_ || !view_->passes_on(PassthroughTransport::udp) ||
      !worker_.may_open_connection()) {
    return false;
  }
  return header->type == quic::LongType::initial ? take_initial(datagram, key, *header)
                                                 : take_early(datagram, key, header->destination);
}

// 0-RTT that overtook the hello.
bool UdpPassthrough::take_early(const quic::ReceivedDatagram& datagram, const PathKey& key,
                                Bytes id) {
  PendingHello* pending = pending_.find(key, id);
  if (pending == nullptr) pending = &pending_.make(key, id, worker_.loop().now());
  pending_.keep(*pending, datagram, false);
  arm_expiry();
  return true;
}

bool UdpPassthrough::take_initial(const quic::ReceivedDatagram& datagram, const PathKey& key,
                                  const quic::LongHeader& header) {
  if (datagram.bytes.size() < kLeastInitial) return false;
  PendingHello* pending = pending_.find(key, header.destination);
  std::unique_ptr<quic::InitialReader> fresh;
  if (pending == nullptr || pending->reader == nullptr) {
    fresh = std::make_unique<quic::InitialReader>(header.version, header.destination);
  }
  quic::InitialReader& reader = fresh != nullptr ? *fresh : *pending->reader;
  const size_t before = reader.packets();
  const quic::InitialReader::State state = reader.take(datagram.bytes);
  if (state == quic::InitialReader::State::whole) {
    auto taken = pending == nullptr ? nullptr : pending_.take(*pending);
    return decide(reader, std::move(taken), datagram, header);
  }
  if (state == quic::InitialReader::State::broken) {
    kBroken.add();
    log::debug("passthrough", "{}: {}", datagram.peer.ip(), reader.fault());
    if (pending != nullptr) pending_.take(*pending);
    return true;
  }
  if (reader.packets() == before) return true;  // not sealed with its keys: noise
  if (pending == nullptr) {
    pending = &pending_.make(key, header.destination, worker_.loop().now());
  }
  if (fresh != nullptr) pending->reader = std::move(fresh);
  if (!pending_.keep(*pending, datagram, true)) {
    kBroken.add();
    pending_.take(*pending);
  }
  arm_expiry();
  return true;
}

// ---- the decision -------------------------------------------------------------------------------

// `reader` may be the pending hello's. A hello that is malformed is left to the TLS stack, which
// refuses it by the same reader.
bool UdpPassthrough::decide(const quic::InitialReader& reader,
                            std::unique_ptr<PendingHello> pending,
                            const quic::ReceivedDatagram& datagram,
                            const quic::LongHeader& header) {
  std::string host = host_of_hello(reader.message());
  auto passthrough = view_->passthrough->find(PassthroughTransport::udp, host);
  if (passthrough != nullptr) {
    kPassedOn.add();
    begin_flow(std::move(passthrough), std::move(host), std::move(pending), datagram,
               header.destination);
    return true;
  }
  kOurs.add();
  if (pending == nullptr) return false;
  deliver(std::move(pending), datagram);
  return true;
}

void UdpPassthrough::deliver(std::unique_ptr<PendingHello> pending,
                             const quic::ReceivedDatagram& datagram) {
  for (const KeptDatagram& d : pending->initials) listener_.receive_unfiltered(d.view());
  listener_.receive_unfiltered(datagram);
  for (const KeptDatagram& d : pending->others) listener_.receive_unfiltered(d.view());
}

void UdpPassthrough::begin_flow(PassthroughRef passthrough, std::string host,
                                std::unique_ptr<PendingHello> pending,
                                const quic::ReceivedDatagram& datagram, Bytes id) {
  if (!room_for_flow(PathKey(datagram.peer, datagram.local))) return;
  std::vector<KeptDatagram> first_flight;
  if (pending != nullptr) first_flight = std::move(pending->initials);
  first_flight.emplace_back(datagram);
  if (pending != nullptr) {
    std::ranges::move(pending->others, std::back_inserter(first_flight));
  }
  UdpFlow& flow = insert(std::make_unique<UdpFlow>(*this, std::move(passthrough), datagram.peer,
                                                   datagram.local, std::move(host)));
  flow.client_ids.add(id);
  if (auto ok = flow.begin(std::move(first_flight)); !ok) {
    listener_.refuse(datagram);
    end(flow, ok.error().message);
  }
}

// ---- those that come in part ----------------------------------------------------------------

void UdpPassthrough::expire() {
  kExpired.add(pending_.expire(worker_.loop().now()));
  arm_expiry();
}

void UdpPassthrough::arm_expiry() {
  if (pending_.evicted() != evicted_seen_) {
    kEvicted.add(pending_.evicted() - evicted_seen_);
    evicted_seen_ = pending_.evicted();
  }
  const Nanos due = pending_.next_deadline();
  if (due != kNever && (!expiry_.armed() || expiry_.deadline() > due)) {
    expiry_.arm_at(worker_.loop(), due);
  }
}

}  // namespace pqedge::edge
