#include "edge/neighbours.h"

#include "base/log.h"
#include "edge/worker.h"

namespace pqedge::edge {
namespace {

constexpr Nanos kSettleLook = 50 * kMillisecond;

}  // namespace

Neighbours::Neighbours(Worker& worker)
    : worker_(worker),
      before_(*this),
      after_(*this),
      settle_timer_([](void* self) { static_cast<Neighbours*>(self)->look_whether_settled(); },
                    this),
      close_(
          [](void* self) {
            auto& n = *static_cast<Neighbours*>(self);
            if (n.before_.link != nullptr && n.before_.peer->is_gone(n.worker_.index())) {
              n.before_.link.reset();
              n.before_.peer.reset();
            }
            if (n.after_.link != nullptr && n.after_.peer->is_gone(n.worker_.index())) {
              n.after_.link.reset();
              n.after_.peer.reset();
            }
          },
          this) {}

Neighbours::~Neighbours() = default;

// ---- the new process ----------------------------------------------------------------------------

Result<void> Neighbours::follow(std::shared_ptr<ProcessPeer> before) {
  auto link = ProcessLink::open(worker_.loop(), before, worker_.index(), before_);
  if (!link) return std::unexpected(link.error());
  before_.peer = std::move(before);
  before_.link = std::move(*link);
  before_.settled = false;
  return {};
}

void Neighbours::hand_over(const quic::Owner& owner, const net::Address& listener,
                           const quic::ReceivedDatagram& datagram) {
  before_.peer->send(owner.worker,
                     {.from = worker_.index(), .listener = listener, .datagram = datagram});
}

// It is asked of the worker that read this socket before: what it knows came from there.
bool Neighbours::ask(const net::Address& listener, const quic::ReceivedDatagram& datagram) {
  return may_ask() &&
         before_.peer->send(worker_.index(),
                            {.from = worker_.index(), .listener = listener, .datagram = datagram});
}

void Neighbours::Before::on_link_datagram(const ProcessPeer::Datagram& d) {
  if (QuicListener* listener = neighbours.worker_.quic_listener(d.listener)) {
    listener->receive_returned(d.datagram);
  }
}

// The link is still on the call stack.
void Neighbours::Before::on_link_closed() {
  neighbours.worker_.loop().defer(neighbours.close_);
  neighbours.worker_.shared().predecessors.fetch_sub(1, std::memory_order_relaxed);
}

// ---- the old process ----------------------------------------------------------------------------

Result<void> Neighbours::precede(std::shared_ptr<ProcessPeer> after) {
  auto link = ProcessLink::open(worker_.loop(), after, worker_.index(), after_);
  if (!link) return std::unexpected(link.error());
  after_.peer = std::move(after);
  after_.link = std::move(*link);
  settle_timer_.arm(worker_.loop(), kSettleLook);
  return {};
}

void Neighbours::After::on_link_datagram(const ProcessPeer::Datagram& d) {
  QuicListener* listener = neighbours.worker_.quic_listener(d.listener);
  if (listener != nullptr && listener->receive_from_successor(d.datagram)) return;
  peer->send(d.from, {.returned = true,
                      .from = neighbours.worker_.index(),
                      .listener = d.listener,
                      .datagram = d.datagram});
}

// The new process has ended, crashed perhaps: nobody else reads what clients of ours send.
void Neighbours::After::on_link_closed() {
  neighbours.worker_.loop().defer(neighbours.close_);
  if (auto ok = neighbours.worker_.begin_reading(); !ok) {
    log::error("upgrade", "{}", ok.error().message);
  }
}

// New handshakes begin in the other process: once those here are done, there are none again.
void Neighbours::look_whether_settled() {
  if (after_.link != nullptr && !worker_.quic_is_settled()) {
    settle_timer_.arm(worker_.loop(), kSettleLook);
    return;
  }
  if (after_.link != nullptr) after_.peer->send_settled(worker_.index());
  worker_.shared().unsettled.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace pqedge::edge
