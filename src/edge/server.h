// The process: workers, sockets, reload, drain. Runs on the main thread beside the workers.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crypto/certificates.h"
#include "edge/acme.h"
#include "edge/bindings.h"
#include "edge/certificate_keeper.h"
#include "edge/certificate_watcher.h"
#include "edge/handover.h"
#include "edge/pool_keeper.h"
#include "edge/restart_only.h"
#include "edge/settings.h"
#include "edge/snapshot.h"
#include "edge/stapling.h"
#include "edge/ticket_key_keeper.h"
#include "edge/worker.h"
#include "jobs/signing_threads.h"
#include "net/inherited.h"

namespace pqedge::edge {

// Makes the settings anew for a reload. The error is one problem a line.
using Loader = std::function<Result<Settings>()>;

class Server {
 public:
  struct Options {
    Loader loader;                       // called for start and for each reload
    std::optional<crypto::PemPair> pem;  // instead of configured certificates
    // Bound by the service manager: used for listeners of the same address instead of binding.
    std::vector<net::InheritedSocket> inherited;
    // Of the process whose place this one takes: its sockets, its keys, the way to it.
    std::optional<Handover> before;
  };

  // Loads, checks, binds every socket and starts the workers. On an error nothing runs.
  static Result<std::unique_ptr<Server>> start(net::Loop& main_loop, Options options);
  ~Server();

  // Loads and checks a whole new configuration and swaps it in on every worker; on an error the old
  // one stays as it is. The text says what was done, and names what only a restart changes.
  Result<std::string> reload();

  // Reads certificates whose files have changed, now and not when the watch sees it. The text says
  // what became of it; the error, what could not be taken.
  Result<std::string> reload_certificates();

  // Stops listening, announces the end to clients, lets what runs finish until `timeout`; `done` is
  // called (once, on the main thread) when no connection is left or the time is up.
  void drain(std::function<void()> done, Nanos timeout);

  // ---- an upgrade (server_upgrade.cc). In the old process, which serves on meanwhile:
  Result<Handover> offer();
  // The new one is ready, and reads the UDP sockets of these addresses from now on. A drain
  // follows.
  void hand_over(const std::vector<std::string>& udp);
  void take_back();  // it has ended before it could begin
  // In the new one, whose start() left them to the old one: these, and from then on.
  std::vector<std::string> udp_to_take() const;
  Result<void> begin_taken();
  // The process before, while it still has connections; else 0.
  pid_t predecessor() const;
  bool draining() const { return draining_; }
  bool ready() const { return ready_.load(std::memory_order_acquire); }  // any thread
  void reopen_logs();

  const Settings& settings() const { return current_->settings; }
  const Snapshot& snapshot() const { return *current_; }
  // What runs in the pools, and orders about it (the admin API).
  const PoolKeeper& pools() const { return *pools_; }
  Result<std::string> order(const PoolOrder& order);
  std::string status_json() const;
  size_t worker_count() const { return shared_.workers.size(); }
  // Asks every worker for a sign of life; `alive` is called on the main loop when all gave it.
  void check_workers(std::function<void()> alive);

  // Checks what start() would check beyond the settings, without running: certificates, routes, and
  // that no port is taken (by anyone but a running pqedge, which a reload concerns).
  static Result<void> check(Settings settings, bool ports);

 private:
  Server(net::Loop& main_loop, Options options);
  Result<void> begin();
  using Contexts = std::vector<std::shared_ptr<crypto::ServerContexts>>;  // by worker
  Result<void> install(std::shared_ptr<const Snapshot> snapshot, std::vector<ListenerPlan> plans);
  void adopt(const std::shared_ptr<const Snapshot>& snapshot, TicketKeyKeeper::Loaded ticket_keys,
             Nanos patience);
  void go_back();
  Result<void> tell_workers(const std::shared_ptr<const Snapshot>& snapshot,
                            const Contexts& contexts, std::vector<ListenerPlan> plans);
  Result<std::vector<ListenerPlan>> plan_listeners(const Settings& settings);
  // The inherited socket for an address; null: bind one.
  const net::InheritedSocket* inherited(const net::Address& address, bool udp) const;
  // Of the process before; null: it has none of that address.
  PassedSocket* passed(const net::Address& address, bool udp, size_t worker);
  bool is_passed(const net::Address& address, bool udp);
  bool is_left_to_predecessor(const net::Address& address);
  Result<net::Fd> stream_socket(const Binding& binding, size_t worker, const net::Fd* first);
  Result<net::UdpSocket> udp_socket(const Binding& binding, size_t worker,
                                    const quic::Settings& quic);
  Result<void> make_keys(const Settings& settings);
  Result<std::shared_ptr<const Snapshot>> load_next(std::vector<std::string>& pending);
  Result<void> follow_predecessor();
  std::string process_json() const;  // members of an object
  void retire(std::shared_ptr<const Snapshot> snapshot);
  void free_retired();
  // Inherited sockets that no listener takes, as text; empty: there are none.
  std::string unused_sockets(const Settings& settings) const;
  void begin_pools();
  void begin_certificates(const Settings& settings);
  std::shared_ptr<const crypto::CertificateStore> store_of(const Snapshot& snapshot) const;
  void adopt_certificates(const Snapshot& snapshot);
  void end_certificates();
  void watch_drain();
  void finish_drain();
  void stop_workers();

  net::Loop& loop_;
  Options options_;
  Shared shared_;
  std::unique_ptr<TicketKeyKeeper> ticket_keys_;
  std::unique_ptr<CertificateKeeper> keeper_;
  std::unique_ptr<CertificateWatcher> watcher_;
  std::unique_ptr<Stapling> stapling_;
  std::shared_ptr<jobs::SigningThreads> signer_;  // null: the workers make all signatures
  std::shared_ptr<Acme> acme_;
  crypto::HandshakeServices services_;
  std::unique_ptr<PoolKeeper> pools_;
  std::shared_ptr<const Snapshot> current_;
  enum class Udp : uint8_t { none, quic, stream };
  struct Bound {
    bool tcp = false;
    Udp udp = Udp::none;
  };
  static Udp udp_of(const ListenerSettings& listener) {
    return listener.http3 ? Udp::quic : listener.udp ? Udp::stream : Udp::none;
  }
  std::map<std::string, Bound> bound_;  // by address
  std::optional<RestartOnly> restart_only_;
  std::vector<std::string> pending_restart_;  // what the last reload named
  // Still in use by a request somewhere. The last to let go of one would free it on its way.
  std::vector<std::shared_ptr<const Snapshot>> retired_;
  net::Timer retire_timer_;
  std::array<uint8_t, 32> quic_secret_{};
  pid_t predecessor_ = 0;
  std::vector<std::string> udp_to_take_;
  std::vector<net::Fd> link_ends_;  // of an offer: ours
  bool handed_over_ = false;
  bool owns_socket_files_ = true;  // those of Unix listeners: another process has them too
  std::atomic<bool> ready_{false};
  bool draining_ = false;
  bool running_ = false;
  std::function<void()> drained_;
  Nanos drain_deadline_ = 0;
  net::Timer drain_timer_;
  uint64_t reloads_ = 0;
};

}  // namespace pqedge::edge
