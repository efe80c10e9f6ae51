#include "programs/pqedge/serve.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <format>
#include <future>
#include <memory>
#include <optional>
#include <set>

#include "admin/server.h"
#include "base/log.h"
#include "config/insecure_backends.h"
#include "config/load.h"
#include "crypto/certificates.h"
#include "crypto/kernel_tls.h"
#include "crypto/providers.h"
#include "edge/canaries.h"
#include "edge/server.h"
#include "jobs/demo_backend.h"
#include "net/inherited.h"
#include "net/loop.h"
#include "programs/pqedge/config_watch.h"
#include "programs/pqedge/notify.h"
#include "programs/pqedge/pid_file.h"
#include "programs/pqedge/upgrade.h"
#include "record/error_log.h"
#include "record/metrics.h"

namespace pqedge {
namespace {

void print_now(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// What `make run` shows.
void print_what_to_try() {
  print_now(
      "\npqedge is serving https://localhost:8443 (TCP and UDP) with a certificate made just now.\n"
      "\nTry:\n"
      "  curl -k --http1.1 https://localhost:8443/bytes/1000 -o /dev/null -w '%{http_version}\\n'\n"
      "  curl -k --http2 https://localhost:8443/\n"
      "  curl -k --http3-only https://localhost:8443/\n"
      "  openssl s_client -connect localhost:8443 -groups X25519MLKEM768 </dev/null | grep -i "
      "group\n"
      "  curl -i http://localhost:8080/            (a redirect to https)\n"
      "  curl http://127.0.0.1:8081/metrics\n"
      "\nCtrl-C stops it.\n\n");
}

class Process final : private net::EventSource {
 public:
  explicit Process(const ServeOptions& options)
      : options_(options),
        watchdog_([](void* self) { static_cast<Process*>(self)->ping_watchdog(); }, this) {}

  int run() {
    if (auto ok = begin(); !ok) {
      std::fprintf(stderr, "pqedge: %s\n", ok.error().message.c_str());
      if (channel_) edge::send_failure(channel_.get(), ok.error().message);
      return 1;
    }
    if (options_.config.empty()) print_what_to_try();
    notify("READY=1");
    if (watchdog_interval() != 0) watchdog_.arm(*loop_, watchdog_interval());
    loop_->run();
    ended_.store(true, std::memory_order_release);
    pid_file_.remove();
    admin_.reset();
    server_.reset();
    demo_.reset();
    return 0;
  }

 private:
  Result<void> begin() {
    const uint64_t descriptors = net::raise_descriptor_limit();
    auto loop = net::Loop::create();
    if (!loop) return std::unexpected(loop.error());
    loop_ = std::move(*loop);
    if (auto ok = block_signals(); !ok) return ok;
    edge::Server::Options options;
    auto inherited = net::take_inherited_sockets();
    if (!inherited) return std::unexpected(inherited.error());
    options.inherited = std::move(*inherited);
    std::vector<admin::Server::Socket> admin_sockets;
    if (auto ok = take_over(options, admin_sockets); !ok) return ok;
    if (options_.config.empty()) {
      auto demo = jobs::DemoBackend::start();
      if (!demo) return std::unexpected(demo.error());
      demo_ = std::move(*demo);
      auto pem = crypto::make_self_signed({"localhost", "127.0.0.1", "::1"});
      if (!pem) return std::unexpected(pem.error());
      options.pem = std::move(*pem);
    }
    if (!options_.config.empty()) {  // before it is read: a change meanwhile is seen
      watch_ =
          std::make_unique<ConfigWatch>(*loop_, options_.config, [this] { reload_by_watch(); });
    }
    auto first = load();
    if (!first) return std::unexpected(first.error());
    if (auto ok = record::install_error_log(first->edge.logs); !ok) return ok;
    log::set_level(first->edge.logs.level);
    for (const std::string& w : first->warnings) log::warning("config", "{}", w);
    log::info("server", "{} descriptors may be open", descriptors);
    const crypto::ProviderReport report = crypto::provider_report();
    for (const std::string& line : report.lines) log::info("crypto", "{}", line);
    for (const std::string& line : report.alarms) log::error("crypto", "{}", line);
    log::info("tls", "{}", crypto::describe(crypto::kernel_tls()));
    options.loader = [this, read = std::make_shared<Result<config::Configuration>>(
                                std::move(first))]() -> Result<edge::Settings> {
      // The start needs it once more, and is not to wait for a large file to be read again.
      auto c = *read ? std::exchange(*read, fail("it is in use")) : load();
      if (!c) return std::unexpected(c.error());
      loaded_admin_ = std::move(c->admin);
      loaded_warnings_ = std::move(c->warnings);
      return std::move(c->edge);
    };
    auto server = edge::Server::start(*loop_, std::move(options));
    if (!server) return std::unexpected(server.error());
    server_ = std::move(*server);
    log::info("server", "serving {} with {} workers", server_->settings().source,
              server_->worker_count());
    tell_metrics();
    auto admin = admin::Server::start(loaded_admin_, admin_hooks(), std::move(admin_sockets));
    if (!admin) return std::unexpected(admin.error());
    admin_ = std::move(*admin);
    if (auto ok = begin_taken(); !ok) return ok;
    return begin_own();
  }

  // What belongs to the process that serves.
  Result<void> begin_own() {
    if (auto ok = pid_file_.write(server_->settings().pid_file); !ok) return ok;
    upgrade_ = std::make_unique<Upgrade>(*loop_, Upgrade::Program{options_.command, first_signals_},
                                         upgrade_host());
    return watch_ == nullptr ? Result<void>{} : watch_->set(server_->settings().watch_config);
  }

  // The sockets and keys of the process that started this one to take its place.
  Result<void> take_over(edge::Server::Options& options,
                         std::vector<admin::Server::Socket>& admin_sockets) {
    auto channel = take_upgrade_channel();
    if (!channel) return std::unexpected(channel.error());
    channel_ = std::move(*channel);
    if (!channel_) return {};
    auto handover = edge::receive_handover(channel_.get());
    if (!handover) return std::unexpected(handover.error());
    for (edge::PassedSocket& s : handover->sockets) {
      const bool control = s.use == edge::PassedSocket::Use::control;
      if (!control && s.use != edge::PassedSocket::Use::admin) continue;
      admin_sockets.push_back({.address = s.address, .control = control, .fd = std::move(s.fd)});
    }
    for (net::InheritedSocket& s : handover->inherited) options.inherited.push_back(std::move(s));
    handover->inherited.clear();
    options.before = std::move(*handover);
    return {};
  }

  // Everything is ready here: the old process lets go.
  Result<void> begin_taken() {
    if (!channel_) return {};
    if (auto ok = edge::send_ready(channel_.get(), server_->udp_to_take()); !ok) return ok;
    const auto go = edge::receive_verdict(channel_.get());
    if (!go) return std::unexpected(go.error());
    channel_.reset();
    if (!*go) return fail("the running process has withdrawn its offer");
    if (auto ok = server_->begin_taken(); !ok) return ok;
    log::info("upgrade", "this process, {}, serves instead of {}", getpid(),
              server_->predecessor());
    return {};
  }

  Upgrade::Host upgrade_host() {
    Upgrade::Host host;
    host.add_sockets = [this](std::vector<edge::PassedSocket>& out) -> Result<void> {
      auto sockets = admin_->sockets();
      if (!sockets) return std::unexpected(sockets.error());
      for (admin::Server::Socket& s : *sockets) {
        out.push_back(
            {.use = s.control ? edge::PassedSocket::Use::control : edge::PassedSocket::Use::admin,
             .address = s.address,
             .fd = std::move(s.fd)});
      }
      return {};
    };
    host.done = [this](pid_t process) {
      admin_->release();
      notify(std::format("MAINPID={}", process));
      watchdog_.disarm();
      drain(server_->settings().upgrade_drain_timeout);
    };
    return host;
  }

  void drain(Nanos timeout) {
    server_->drain([this] { loop_->stop(); }, timeout);
  }

  Result<config::Configuration> load() {
    Result<config::Configuration> c = options_.config.empty()
                                          ? config::default_configuration(demo_->address().port())
                                          : config::load_file(options_.config);
    if (c && !options_.debug_client.empty()) {
      c->edge.debug = {options_.debug_client, options_.keylog_file, options_.qlog_dir};
    }
    if (c) {
      if (auto ok = config::check_insecure_backends(*c, options_.allow_insecure_backends); !ok) {
        return std::unexpected(ok.error());
      }
    }
    return c;
  }

  admin::Hooks admin_hooks() {
    admin::Hooks hooks;
    hooks.ready = [this] { return server_->ready(); };
    hooks.reload = [this] { return on_main([this] { return reload(); }); };
    hooks.reload_certificates = [this] {
      return on_main([this] { return server_->reload_certificates(); });
    };
    hooks.upgrade = [this] { return upgrade_and_wait(); };
    hooks.drain = [this] { loop_->post([this] { stop(); }); };
    hooks.reopen_logs = [this] { loop_->post([this] { reopen(); }); };
    hooks.status_json = [this] {
      return on_main([this]() -> Result<std::string> { return server_->status_json(); })
          .value_or("{}");
    };
    hooks.backends_json = [this](const std::string& pool) {
      return on_main([this, pool]() -> Result<std::string> { return server_->pools().json(pool); })
          .value_or("[]\n");
    };
    hooks.order = [this](const edge::PoolOrder& order) {
      return on_main([this, order]() -> Result<std::string> {
        if (auto ok = no_upgrade(); !ok) return std::unexpected(ok.error());
        return server_->order(order);
      });
    };
    hooks.canaries_json = [this] {
      return on_main([this]() -> Result<std::string> {
               return edge::canaries_json(server_->snapshot(), monotonic_now());
             })
          .value_or("[]");
    };
    hooks.set_canary = [this](std::string route, std::string percent) {
      return on_main(
          [this, route = std::move(route), percent = std::move(percent)]() -> Result<std::string> {
            if (auto ok = no_upgrade(); !ok) return std::unexpected(ok.error());
            return edge::set_canary(server_->snapshot(), route, percent);
          });
    };
    return hooks;
  }

  // The process that takes this one's place has been told what was ordered, and would not know of
  // more.
  Result<void> no_upgrade() const {
    if (server_->draining()) return std::unexpected(Error{"the process is shutting down", 409});
    if (upgrade_ == nullptr || !upgrade_->running()) return {};
    return std::unexpected(Error{"an upgrade is under way: ask again when it is done", 409});
  }

  // Called on the admin thread: runs on the main loop and waits.
  Result<std::string> on_main(std::function<Result<std::string>()> task) {
    auto promise = std::make_shared<std::promise<Result<std::string>>>();
    auto future = promise->get_future();
    loop_->post([promise, task = std::move(task)] { promise->set_value(task()); });
    // The main loop may have run its last turn.
    while (future.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
      if (ended_.load(std::memory_order_acquire)) return fail("the process is stopping");
    }
    return future.get();
  }

  // On the admin thread.
  Result<std::string> upgrade_and_wait() {
    auto promise = std::make_shared<std::promise<Result<std::string>>>();
    auto future = promise->get_future();
    loop_->post([this, promise] {
      upgrade([promise](Result<std::string> done) { promise->set_value(std::move(done)); });
    });
    while (future.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
      if (ended_.load(std::memory_order_acquire)) return fail("the process is stopping");
    }
    return future.get();
  }

  void upgrade(Upgrade::Answer answer) {
    if (upgrade_ == nullptr) return answer(fail("the process is starting"));
    upgrade_->begin(*server_, std::move(answer));
  }

  void upgrade_by_signal() {
    upgrade([](const Result<std::string>& done) {
      if (!done) log::error("upgrade", "{}", done.error().message);
    });
  }

  Result<void> block_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int s : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&set, s);
    pthread_sigmask(SIG_BLOCK, &set, &first_signals_);  // inherited by every thread made later
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error to be told of, like a full disk
    signals_ = net::Fd(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    if (!signals_) return fail_errno(errno, "cannot watch signals");
    return loop_->add(signals_.get(), *this, true);
  }

  void on_events(uint32_t) override {
    signalfd_siginfo info;
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {
      switch (info.ssi_signo) {
        case SIGHUP: reload_by_signal(); break;
        case SIGUSR1: reopen(); break;
        case SIGUSR2: upgrade_by_signal(); break;
        default: stop(); break;
      }
    }
  }

  Result<std::string> reload() {
    // The new process would not know of it.
    if (upgrade_ != nullptr && upgrade_->running()) return fail("an upgrade is under way");
    notify_reloading();
    if (watch_ != nullptr) watch_->note();
    auto done = server_->reload();
    if (done) {
      *done += adopt();
      for (const std::string& w : loaded_warnings_) log::warning("config", "{}", w);
      log::info("server", "{}", *done);
    } else {
      log::error("server", "reload refused, nothing has changed:\n{}", done.error().message);
    }
    notify("READY=1");
    return done;
  }
  // What is not the data plane's takes the reloaded settings too. Returns what did not follow.
  std::string adopt() {
    std::string notes;
    if (const auto ok = record::install_error_log(server_->settings().logs); !ok) {
      notes += "; the error log stays as it was: " + ok.error().message;
    }
    if (const std::string restart = admin_->update(loaded_admin_); !restart.empty()) {
      notes += "; " + restart;
    }
    if (watch_ != nullptr) {
      if (auto ok = watch_->set(server_->settings().watch_config); !ok) {
        notes += "; the file is not watched: " + ok.error().message;
      }
    }
    if (auto ok = pid_file_.write(server_->settings().pid_file); !ok) {
      notes += "; " + ok.error().message;
    }
    tell_metrics();
    return notes;
  }

  void tell_metrics() {
    record::ProcessInfo info{.workers = static_cast<unsigned>(server_->worker_count())};
    std::set<uint16_t> ports;
    for (const auto& listener : server_->settings().listeners) {
      if (!listener.binds_udp()) continue;
      for (const net::Address& address : listener.addresses) ports.insert(address.port());
    }
    info.udp_ports.assign(ports.begin(), ports.end());
    record::set_process_info(std::move(info));
  }

  void reload_by_watch() {
    if (server_->draining()) return;
    log::info("server", "{} has changed", options_.config);
    reload_by_signal();
  }

  void reload_by_signal() { [[maybe_unused]] const auto done = reload(); }

  void reopen() {
    server_->reopen_logs();
    record::reopen_error_log();
  }

  // The first time: in good order. The second: at once.
  void stop() {
    if (server_->draining()) {
      log::warning("server", "stopping at once");
      loop_->stop();
      return;
    }
    log::info("server", "stopping: listeners close, {} s for what runs",
              server_->settings().drain_timeout / kSecond);
    notify("STOPPING=1");
    drain(server_->settings().drain_timeout);
  }

  void ping_watchdog() {
    server_->check_workers([] { notify("WATCHDOG=1"); });
    watchdog_.arm(*loop_, watchdog_interval());
  }

  const ServeOptions& options_;
  std::unique_ptr<net::Loop> loop_;
  net::Fd signals_;
  net::Timer watchdog_;
  sigset_t first_signals_{};  // blocked when the program began
  net::Fd channel_;           // to the process whose place this one takes, until it serves
  std::atomic<bool> ended_{false};
  std::unique_ptr<jobs::DemoBackend> demo_;
  std::unique_ptr<edge::Server> server_;
  std::unique_ptr<admin::Server> admin_;
  std::unique_ptr<Upgrade> upgrade_;
  std::unique_ptr<ConfigWatch> watch_;
  PidFile pid_file_;
  admin::Settings loaded_admin_;  // of the last load
  std::vector<std::string> loaded_warnings_;
};

}  // namespace

int serve(const ServeOptions& options) { return Process(options).run(); }

}  // namespace pqedge
