// One worker's view of a pool: which server takes the next request, and who waits for one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/intrusive_list.h"
#include "http/message.h"
#include "upstream/affinity.h"
#include "upstream/backend.h"
#include "upstream/balance.h"
#include "upstream/choice.h"
#include "upstream/member.h"
#include "upstream/pool_state.h"
#include "upstream/queue.h"

namespace pqedge::upstream {

class Backends;

class Pool final : public ListNode<Pool>, private QueueUser {
 public:
  ~Pool();

  const PoolSettings& settings() const { return *settings_; }

  // What the request says of the server that is to take it. `client_ip` is who is taken for the
  // client. Before the first acquire(), once.
  void read_choice(const http::Request& request, std::string_view client_ip, Choice& choice) const;
  // For what has no request (a connection or datagrams passed on): by the client's address alone.
  void read_choice(const net::Address& client, Choice& choice) const;

  // Picks a server by affinity and by the pool's algorithm, and gets a connection to it. Where
  // every server that may be chosen is at its maximum, the lease waits in the pool's queue.
  // The requester hears through its calls, perhaps before this returns. `choice` is copied where it
  // is needed longer.
  void acquire(net::Loop& loop, Lease& lease, Requester& requester, const Choice& choice,
               bool fresh);

  // A server for datagrams, without a connection; the queue has no part in it. Null: none takes any
  // now. What is counted of it, in ServerState::active and elsewhere, is the caller's.
  std::shared_ptr<ServerState> pick(const Choice& choice);

  // The cookie that ties the client to the server that answers, where it is to get one: the value
  // of a Set-Cookie field, in `arena`; else an empty text. `secure`: the client came over TLS.
  std::string_view tie_cookie(const Choice& choice, const ServerState* server, bool secure,
                              Arena& arena) const;

  // Replaces the servers between two requests. Running exchanges keep theirs.
  void set_members(std::shared_ptr<const Members> members);
  const std::shared_ptr<const Members>& members() const { return members_; }

 private:
  friend class Backends;
  struct Place;  // a server as this worker sees it
  Pool(Backends& backends, const PoolSettings& settings, std::shared_ptr<const Members> members,
       std::shared_ptr<const http::Limits> limits, std::shared_ptr<const crypto::BackendTls> tls);

  enum class Taken : uint8_t { yes, full, no };
  Taken try_acquire(Lease& lease, const Choice& choice, bool fresh);
  Taken take(size_t at, Lease& lease, bool fresh);
  void read_tie(uint64_t key, Choice& choice) const;
  bool take_place(ServerState& server, Lease& lease);
  void give_back_place(ServerState& server, Lease& lease);
  bool may_take_tied(size_t at, const Choice& choice) const;
  // Ties the client to a candidate, or hears of another member that it is tied to.
  size_t claim(size_t candidate, const Choice& choice);
  Nanos tie_ttl() const;
  // QueueUser
  bool serve_waiter(Lease& lease, const Choice& choice, bool fresh) override;
  void give_up_idle() override;
  void on_room(Backend& backend);

  Backends& owner_;
  const PoolSettings* settings_;  // lives in the snapshot that owns this pool's worker view
  std::shared_ptr<const http::Limits> limits_;
  std::shared_ptr<const crypto::BackendTls> tls_;
  std::shared_ptr<const Members> members_;
  std::vector<std::unique_ptr<Place>> places_;  // in the order of *members_
  Balancer balancer_;                           // its targets: the same order
  std::shared_ptr<PoolState> state_;            // of the process
  std::shared_ptr<Ties> ties_;                  // null: not with this kind of affinity
  std::unique_ptr<WaitingRoom> room_;           // null: no queue
};

// All backends of one worker, kept over reloads so that their connections are.
class Backends {
 public:
  Backends(net::Loop& loop, Registry& registry, uint32_t workers)
      : loop_(loop), registry_(registry), workers_(workers) {}

  // `members` null: those of the settings.
  std::unique_ptr<Pool> make_pool(const PoolSettings& settings,
                                  std::shared_ptr<const http::Limits> limits,
                                  std::shared_ptr<const crypto::BackendTls> tls,
                                  std::shared_ptr<const Members> members = nullptr);
  // In every snapshot of this worker that has a pool of that name.
  void set_members(std::string_view pool, const std::shared_ptr<const Members>& members);
  // Closes the kept connections of servers that no pool names any more.
  void forget_unused();
  // The client connection has ended: backend connections that knew its user are closed.
  void forget_client(uint64_t client) {
    if (!pins_.empty()) pins_.forget_client(client);
  }
  void close_idle();
  void close_all();

 private:
  friend class Pool;
  std::shared_ptr<Backend> backend_for(const Member& member);

  net::Loop& loop_;
  Registry& registry_;
  uint32_t workers_;
  Pins pins_;
  std::unordered_map<ServerState*, std::weak_ptr<Backend>> known_;
  IntrusiveList<Pool> pools_;  // owned by their snapshots
};

}  // namespace pqedge::upstream
