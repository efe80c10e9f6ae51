// The process: workers, sockets, reload, drain. Runs on the main thread beside the workers.
#pragma once

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
    Loader loader;                        // called for start and for each reload
    std::optional<crypto::PemPair> pem;   // instead of configured certificates
    // Bound by the service manager: used for listeners of the same address instead of binding.
    std::vector<net::InheritedSocket> inherited;
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

  // Stops listening, announces the end to clients, lets what runs finish until drain_timeout;
  // `done` is called (once, on the main thread) when no connection is left or the time is up.
  void drain(std::function<void()> done);
  bool draining() const { return draining_; }
  bool ready() const { return ready_.load(std::memory_order_acquire); }  // any thread
  void reopen_logs();

  const Settings& settings() const { return current_->settings; }
  const Snapshot& snapshot() const { return *current_; }
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
  Result<void> install(std::shared_ptr<const Snapshot> snapshot, std::vector<ListenerPlan> plans);
  Result<std::vector<ListenerPlan>> plan_listeners(const Settings& settings);
  // The inherited socket for an address; null: bind one.
  const net::InheritedSocket* inherited(const net::Address& address, bool udp) const;
  Result<net::Fd> stream_socket(const Binding& binding, const net::Fd* first) const;
  Result<net::UdpSocket> udp_socket(const Binding& binding, const quic::Settings& quic) const;
  // Inherited sockets that no listener takes, as text; empty: there are none.
  std::string unused_sockets(const Settings& settings) const;
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
  std::shared_ptr<const Snapshot> current_;
  std::map<std::string, bool> bound_;  // address -> with UDP
  std::atomic<bool> ready_{false};
  bool draining_ = false;
  bool running_ = false;
  std::function<void()> drained_;
  Nanos drain_deadline_ = 0;
  net::Timer drain_timer_;
  uint64_t reloads_ = 0;
};

}  // namespace pqedge::edge
