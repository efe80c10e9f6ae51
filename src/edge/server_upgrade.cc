// A new process takes the place of this one, or this one has taken another's (O3).
//
//   old                                        new
//   offer(): sockets, keys, links      ->      start(): serves TCP, leaves UDP alone
//   hand_over(): reads UDP no more     <-      ready
//   drain()                            ->      begin_taken(): reads UDP
//
// Both have the same listening sockets, so that no connection waits in one that is closed. A UDP
// socket is read by one of them at a time; what is of the other's connections goes to it by its
// link (process_peer.h).
#include <fcntl.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <algorithm>
#include <format>

#include "base/give_back.h"
#include "base/text.h"
#include "edge/run_on.h"
#include "edge/server.h"
#include "net/fd_message.h"

namespace pqedge::edge {
namespace {

// Snapshots are let go of by requests that end; then they are freed here.
constexpr Nanos kRetiredLook = 500 * kMillisecond;

}  // namespace

Result<void> Server::make_keys(const Settings& settings) {
  shared_.tickets = crypto::TicketKeyRing::create(settings.tls.ticket_lifetime);
  if (options_.before) {
    quic_secret_ = options_.before->quic_secret;
    shared_.generation = static_cast<uint16_t>(options_.before->generation + 1);
    shared_.tickets->go_on_with(options_.before->ticket_keys);
    predecessor_ = options_.before->process;
  } else if (RAND_priv_bytes(quic_secret_.data(), quic_secret_.size()) != 1) {
    return fail("cannot make the QUIC keys: the random generator of OpenSSL failed");
  }
  auto keys = quic::Keys::from_secret(quic_secret_);
  if (!keys) return std::unexpected(keys.error());
  shared_.quic_keys = std::make_shared<const quic::Keys>(std::move(*keys));
  return {};
}

// ---- the old process ----------------------------------------------------------------------------

Result<Handover> Server::offer() {
  if (draining_) return fail("the process is shutting down");
  if (const pid_t before = predecessor(); before != 0) {
    return fail(
        "the process before, {}, still has connections: wait for its end, or end it with "
        "kill {}",
        before, before);
  }
  Handover h;
  h.process = getpid();
  h.generation = shared_.generation;
  h.workers = static_cast<uint16_t>(shared_.workers.size());
  h.workers_asked = restart_only_->workers();
  h.quic_secret = quic_secret_;
  h.ticket_keys = shared_.tickets->own_keys();
  h.state = {.pools = pools_->run_time_state(), .canaries = canary_states(*current_)};
  link_ends_.clear();
  for (auto& w : shared_.workers) {
    auto ok = run_on(*w, [&w, &h] { return w->add_sockets_to(h.sockets); });
    if (!ok) return std::unexpected(ok.error());
    auto pair = net::make_message_pair();
    if (!pair) return std::unexpected(pair.error());
    link_ends_.push_back(std::move(pair->ours));
    h.links.push_back(std::move(pair->theirs));
  }
  // The service manager's are the same for every worker, and known by their names.
  std::erase_if(h.sockets, [this](const PassedSocket& s) {
    return inherited(s.address, s.use == PassedSocket::Use::udp) != nullptr;
  });
  for (const net::InheritedSocket& s : options_.inherited) {
    net::Fd copy(fcntl(s.fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!copy) return fail_errno(errno, "cannot duplicate a listening socket");
    h.inherited.push_back(
        {.fd = std::move(copy), .address = s.address, .udp = s.udp, .name = s.name});
  }
  return h;
}

void Server::hand_over(const std::vector<std::string>& udp) {
  handed_over_ = true;
  owns_socket_files_ = false;
  const auto peer = std::make_shared<ProcessPeer>(static_cast<uint16_t>(shared_.generation + 1),
                                                  std::exchange(link_ends_, {}));
  for (auto& w : shared_.workers) {
    auto ok = run_on(*w, [&w, &peer, &udp]() -> Result<void> {
      w->stop_reading(udp);
      return w->neighbours().precede(peer);
    });
    if (ok) {
      shared_.unsettled.fetch_add(1, std::memory_order_relaxed);
    } else {
      log::error("upgrade", "QUIC connections are lost: {}", ok.error().message);
    }
  }
}

// The links' other ends are closed: the workers read their sockets again.
void Server::take_back() {
  handed_over_ = false;
  owns_socket_files_ = true;
}

// ---- the new process ----------------------------------------------------------------------------

std::vector<std::string> Server::udp_to_take() const { return udp_to_take_; }

Result<void> Server::follow_predecessor() {
  Handover& before = *options_.before;
  before.sockets.clear();  // those left are of addresses that this configuration does not have
  const auto peer = std::make_shared<ProcessPeer>(before.generation, std::move(before.links));
  shared_.predecessors.store(static_cast<uint32_t>(shared_.workers.size()),
                             std::memory_order_relaxed);
  for (auto& w : shared_.workers) {
    auto ok = run_on(*w, [&w, &peer] { return w->neighbours().follow(peer); });
    if (!ok) return ok;
  }
  return {};
}

Result<void> Server::begin_taken() {
  owns_socket_files_ = true;
  for (auto& w : shared_.workers) {
    if (auto ok = run_on(*w, [&w] { return w->begin_reading(); }); !ok) return ok;
  }
  udp_to_take_.clear();
  options_.before.reset();
  acme_->begin();
  return {};
}

pid_t Server::predecessor() const {
  return shared_.predecessors.load(std::memory_order_relaxed) == 0 ? 0 : predecessor_;
}

// ---- of both ------------------------------------------------------------------------------------

std::string Server::process_json() const {
  std::string pending;
  for (const std::string& note : pending_restart_) {
    pending += pending.empty() ? "\"" : ",\"";
    append_json_escaped(pending, note);
    pending += '"';
  }
  return std::format(
      "\"process\":{},\"generation\":{},\"process_before\":{},\"pending_restart\":[{}]", getpid(),
      shared_.generation, predecessor(), pending);
}

// Freeing ten thousand routes takes longer than a request may: never on a worker.
void Server::retire(std::shared_ptr<const Snapshot> snapshot) {
  if (snapshot == nullptr) return;
  retired_.push_back(std::move(snapshot));
  retire_timer_.arm(loop_, kRetiredLook);
}

// The allocator would keep what a large configuration took, and what reading its successor took.
void Server::free_retired() {
  const auto freed = std::erase_if(retired_, [](const auto& s) { return s.use_count() == 1; });
  if (freed != 0) give_back_memory();
  if (!retired_.empty()) retire_timer_.arm(loop_, kRetiredLook);
}

}  // namespace pqedge::edge
