#include "upstream/pool.h"

#include <algorithm>
#include <utility>

#include "base/time.h"

namespace pqedge::upstream {
struct Pool::Place final : RoomWatcher {
  Place(Pool& p, std::shared_ptr<Backend> b) : pool(p), backend(std::move(b)) {
    if (pool.room_ != nullptr) backend->watch_room(*this);
  }
  void on_backend_room(Backend& b) override { pool.on_room(b); }

  Pool& pool;
  const std::shared_ptr<Backend> backend;
};

Pool::Pool(Backends& backends, const PoolSettings& settings, std::shared_ptr<const Members> members,
           std::shared_ptr<const http::Limits> limits,
           std::shared_ptr<const crypto::BackendTls> tls)
    : owner_(backends),
      settings_(&settings),
      limits_(std::move(limits)),
      tls_(std::move(tls)),
      balancer_(settings, reinterpret_cast<uintptr_t>(this) ^ monotonic_now()),
      state_(PoolState::of(settings.name)) {
  using Kind = KeySource::Kind;
  if (settings.affinity.kind == Kind::client_ip || settings.affinity.kind == Kind::header) {
    ties_ = state_->ties(settings.affinity_entries);
  }
  if (settings.queue != 0) {
    QueueUser& user = *this;
    room_ = std::make_unique<WaitingRoom>(owner_.loop_, state_->queue, user,
                                          settings.max_connections != 0);
  }
  set_members(std::move(members));
}

Pool::~Pool() = default;

void Pool::set_members(std::shared_ptr<const Members> members) {
  std::vector<std::unique_ptr<Place>> places;
  places.reserve(members->size());
  const uint32_t workers = owner_.workers_;
  const uint32_t max_idle = std::max<uint32_t>(1, (settings_->max_idle + workers - 1) / workers);
  for (const Member& m : *members) {
    auto backend = owner_.backend_for(m);
    backend->configure(*settings_, max_idle, limits_, tls_);
    places.push_back(std::make_unique<Place>(*this, std::move(backend)));
  }
  places_ = std::move(places);
  balancer_.set_members(*members);
  members_ = std::move(members);
  if (room_ != nullptr) room_->note_room();
}

// ---- choosing ----------------------------------------------------------------------------------

// On `yes` the requester was called, or will be: nothing of this call is valid any more.
Pool::Taken Pool::take(size_t at, Lease& lease, bool fresh) {
  Backend& backend = *places_[at]->backend;
  ServerState& server = backend.state();
  if (!server.enter(owner_.loop_.now(), lease.ticket())) return Taken::no;
  if (take_place(server, lease)) {
    if (backend.acquire(lease, fresh)) return Taken::yes;
    give_back_place(server, lease);
  }
  server.leave(lease.ticket());
  return Taken::full;
}

// Taken before the connection is looked for: workers that choose at the same moment do not exceed
// the maximum.
bool Pool::take_place(ServerState& server, Lease& lease) {
  const uint32_t most = settings_->max_requests;
  if (most == 0) return true;
  uint32_t active = server.active.load(std::memory_order_relaxed);
  while (active < most) {
    if (server.active.compare_exchange_weak(active, active + 1, std::memory_order_relaxed)) {
      lease.set_counted(true);
      return true;
    }
  }
  return false;
}

void Pool::give_back_place(ServerState& server, Lease& lease) {
  if (settings_->max_requests == 0) return;
  lease.set_counted(false);
  server.active.fetch_sub(1, std::memory_order_relaxed);
}

Pool::Taken Pool::try_acquire(Lease& lease, const Choice& choice, bool fresh) {
  bool ties = choice.tie_key != 0;
  if (choice.tied_to != 0) {
    const size_t at = balancer_.find(choice.tied_to);
    if (at != Balancer::kNone && may_take_tied(at, choice)) {
      const Taken taken = take(at, lease, fresh);
      if (taken == Taken::yes) return taken;
      if (taken == Taken::full) ties = false;  // for now elsewhere; the tie stays
    }
  }
  Balancer::Found found = balancer_.begin(choice, owner_.loop_.now());
  while (found == Balancer::Found::some) {
    bool full = false;
    for (size_t at; (at = balancer_.next()) != Balancer::kNone;) {
      if (ties) {
        const size_t holder = claim(at, choice);
        if (holder != at && take(holder, lease, fresh) == Taken::yes) return Taken::yes;
        ties = false;
      }
      const Taken taken = take(at, lease, fresh);
      if (taken == Taken::yes) return taken;
      full |= taken == Taken::full;
    }
    if (full) return Taken::full;
    found = balancer_.begin_next(choice);
  }
  return found == Balancer::Found::full ? Taken::full : Taken::no;
}

void Pool::acquire(net::Loop&, Lease& lease, Requester& requester, const Choice& choice,
                   bool fresh) {
  if (!fresh && !owner_.pins_.empty() && owner_.pins_.acquire(lease, settings_->name)) return;
  // Who is tried again has waited its turn already.
  const bool in_line = room_ != nullptr && room_->occupied() && !choice.avoids_any() && !fresh;
  const Taken taken = in_line ? Taken::full : try_acquire(lease, choice, fresh);
  switch (taken) {
    case Taken::yes: return;
    case Taken::no:
      requester.on_backend_failed(Failure::no_capacity, "no server of the pool takes requests");
      return;
    case Taken::full: break;
  }
  if (room_ == nullptr) {
    requester.on_backend_failed(Failure::no_capacity, "every server is at its maximum");
    return;
  }
  if (room_->wait(lease, choice, fresh, settings_->queue, settings_->queue_timeout)) return;
  requester.on_backend_failed(Failure::no_capacity,
                              "every server is at its maximum, and the queue is full");
}

std::shared_ptr<ServerState> Pool::pick(const Choice& choice) {
  const auto at_maximum = [&](size_t at) {
    const ServerState& s = *(*members_)[at].state;
    return balancer_.is_full(at) ||
           (settings_->max_connections != 0 &&
            s.connections.load(std::memory_order_relaxed) >= settings_->max_connections);
  };
  if (choice.tied_to != 0) {
    const size_t at = balancer_.find(choice.tied_to);
    if (at != Balancer::kNone && may_take_tied(at, choice) && !at_maximum(at)) {
      return (*members_)[at].state;
    }
  }
  Balancer::Found found = balancer_.begin(choice, owner_.loop_.now());
  while (found == Balancer::Found::some) {
    for (size_t at; (at = balancer_.next()) != Balancer::kNone;) {
      if (at_maximum(at)) continue;
      const size_t chosen = choice.tie_key == 0 ? at : claim(at, choice);
      return (*members_)[chosen].state;
    }
    found = balancer_.begin_next(choice);
  }
  return nullptr;
}

bool Pool::serve_waiter(Lease& lease, const Choice& choice, bool fresh) {
  return try_acquire(lease, choice, fresh) == Taken::yes;
}

// An unused connection here is no room for who waits on another worker: it may open one of its own
// once this one is closed.
void Pool::on_room(Backend& backend) {
  if (!room_->occupied()) return;
  if (settings_->max_connections != 0 && backend.idle() > 0 && room_->is_for_another()) {
    backend.close_idle();
  }
  room_->note_room();
}

void Pool::give_up_idle() {
  if (!room_->occupied()) return;
  for (const auto& place : places_) {
    const ServerState& s = place->backend->state();
    const uint32_t most = settings_->max_connections;
    if (most != 0 && s.connections.load(std::memory_order_relaxed) >= most) {
      place->backend->close_idle();
    }
  }
}

}  // namespace pqedge::upstream
