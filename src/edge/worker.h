// One worker thread: its loop, listeners, connections, exchanges and backends.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "crypto/tickets.h"
#include "edge/challenge_answers.h"
#include "edge/client_connection.h"
#include "edge/exchange.h"
#include "edge/handover.h"
#include "edge/member_table.h"
#include "edge/neighbours.h"
#include "edge/quic_listener.h"
#include "edge/shadow.h"
#include "edge/snapshot.h"
#include "edge/tcp_listener.h"
#include "edge/udp_streams.h"
#include "net/loop.h"
#include "record/access_log.h"
#include "wire/quic/keys.h"

namespace pqedge::edge {

class Worker;

// What the workers of a process share.
struct Shared {
  upstream::Registry servers;
  MemberTable members;
  std::shared_ptr<crypto::TicketKeyRing> tickets;
  std::shared_ptr<const quic::Keys> quic_keys;
  uint16_t generation = 0;
  std::atomic<uint32_t> connections{0};  // of clients
  std::atomic<uint32_t> max_connections{0};
  std::atomic<uint32_t> predecessors{0};  // workers of the process before that are still there
  // Workers with QUIC handshakes under way while another process takes over.
  std::atomic<uint32_t> unsettled{0};
  std::unique_ptr<record::AccessLog> access_log;
  std::vector<std::unique_ptr<Worker>> workers;  // fixed once they run
};

// What a worker is to listen on from now on. A socket is set where the address is new.
struct ListenerPlan {
  struct Entry {
    std::shared_ptr<const ListenerView> view;
    net::Fd tcp;
    net::UdpSocket udp;
    bool read_udp = true;  // false: the process before reads it until begin_reading()
  };
  std::vector<Entry> entries;
};

class Worker {
 public:
  static Result<std::unique_ptr<Worker>> create(Shared& shared, uint16_t index, uint32_t workers);
  ~Worker();

  // ---- from the process's main thread ----
  void start();  // the thread
  void join();
  net::Loop& loop() { return *loop_; }

  // ---- on the worker's thread (the main thread posts them) ----
  // Swaps the configuration between two requests. What it needs is made first; `agreed` is told
  // whether that could be done, and says whether it is to be used: else nothing has changed.
  using Agreed = std::function<bool(Result<void>)>;
  void apply(std::shared_ptr<const Snapshot> snapshot,
             std::shared_ptr<crypto::ServerContexts> contexts, ListenerPlan plan,
             const Agreed& agreed);
  // From the next handshake on.
  void set_certificates(std::shared_ptr<const crypto::CertificateStore> store);
  void set_members(const std::string& pool, std::shared_ptr<const upstream::Members> members) {
    backends_.set_members(pool, members);
  }
  // Stops listening and announces the end to every connection.
  void drain(Nanos linger);
  void close_connections();
  size_t connections() const { return connection_count_; }

  // For an upgrade (worker_upgrade.cc). Copies of the descriptors that it listens on.
  Result<void> add_sockets_to(std::vector<PassedSocket>& out) const;
  // Of these addresses another process reads the UDP sockets from now on.
  void stop_reading(const std::vector<std::string>& udp);
  Result<void> begin_reading();
  Neighbours& neighbours() { return neighbours_; }
  QuicListener* quic_listener(const net::Address& address) const;  // null: none of that address
  // No client uses an ID of its own making any more, and nothing is passed on.
  bool quic_is_settled() const;
  void receive_handed_over(const net::Address& listener, const quic::ReceivedDatagram& datagram);

  // ACME's, while there are any.
  void set_challenge_answers(std::shared_ptr<const ChallengeAnswers> answers) {
    challenge_answers_ = std::move(answers);
  }

  // ---- for what lives on the worker ----
  const ChallengeAnswers* challenge_answers() const { return challenge_answers_.get(); }
  Shared& shared() { return shared_; }
  const SnapshotRef& snapshot() const { return snapshot_; }
  uint16_t index() const { return index_; }
  quic::Owner owner() const { return {shared_.generation, index_}; }
  Shadows& shadows() { return shadows_; }
  record::Recorder& recorder() { return shared_.access_log->worker(index_); }
  bool draining() const { return draining_; }
  Nanos linger() const { return linger_; }

  Exchange& new_exchange(http::ServerStream& stream, const ListenerView& listener);
  void retire(Exchange& exchange);  // cleared and kept for use at the end of the turn

  // Exchanges that are resumed when their connection's handshake is complete.
  void wait_for_handshake(Exchange& exchange) { waiting_.push_back(exchange); }
  // Of some connection that began with early data.
  void handshake_confirmed() { loop_->defer(resume_waiting_); }

  bool may_open_connection() const;
  void add_connection(ClientConnection& connection);
  void remove_connection(ClientConnection& connection);
  // What knows the user of a client's connection (upstream/pins.h) goes with it.
  void forget_client(uint64_t connection) { backends_.forget_client(connection); }
  uint64_t next_connection_id() { return (uint64_t{index_} << 48) | ++connection_ids_; }
  void warn_out_of_descriptors(int code);
  // Whether a connection's owner is a worker of this process, or of the one before.
  bool is_here(const quic::Owner& owner) const {
    return (owner.generation == shared_.generation && owner.worker < shared_.workers.size()) ||
           neighbours_.is_of_predecessor(owner);
  }
  // Where all workers read from one UDP socket: whoever gets a datagram gives it to the one that
  // the client's address names. True: that is another.
  bool pass_by_path(const net::Address& listener, const quic::ReceivedDatagram& datagram);
  void hand_over(const quic::Owner& owner, const net::Address& listener,
                 const quic::ReceivedDatagram& datagram);

 private:
  Worker(Shared& shared, uint16_t index, uint32_t workers, std::unique_ptr<net::Loop> loop);
  struct Listeners {
    std::map<std::string, std::unique_ptr<TcpListener>> tcp;  // by address
    std::map<std::string, std::unique_ptr<QuicListener>> quic;
    UdpStreams::Opened udp;
  };
  Result<Listeners> make_listeners(ListenerPlan& plan, const Snapshot& snapshot,
                                   const std::shared_ptr<crypto::ServerContexts>& contexts);
  void clear_retired();
  void resume_waiting();
  void close_unused_listeners();

  Shared& shared_;
  const uint16_t index_;
  std::unique_ptr<net::Loop> loop_;
  upstream::Backends backends_;
  Shadows shadows_;
  SnapshotRef snapshot_;
  std::shared_ptr<const crypto::CertificateStore> certificates_;  // of the keeper; null: none yet
  std::shared_ptr<const ChallengeAnswers> challenge_answers_;
  std::map<std::string, std::unique_ptr<TcpListener>> tcp_;  // by address
  std::map<std::string, std::unique_ptr<QuicListener>> quic_;
  std::vector<std::unique_ptr<QuicListener>> closing_quic_;  // still serve their connections
  net::Timer closing_look_;  // while there are some, or of UDP streams
  IntrusiveList<ClientConnection> connections_;
  size_t connection_count_ = 0;
  uint64_t connection_ids_ = 0;

  IntrusiveList<Exchange> active_;  // owned, like the next two
  IntrusiveList<Exchange> retired_;
  IntrusiveList<Exchange> free_;
  size_t free_count_ = 0;
  net::Deferred clear_retired_;
  IntrusiveList<Exchange, HandshakeTag> waiting_;  // of active_
  net::Deferred resume_waiting_;

  Neighbours neighbours_;
  UdpStreams udp_streams_;
  std::atomic<uint32_t> handed_over_waiting_{0};
  Nanos last_descriptor_warning_ = 0;
  bool draining_ = false;
  Nanos linger_ = 0;
  std::thread thread_;
};

}  // namespace pqedge::edge
