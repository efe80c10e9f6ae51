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
#include "crypto/providers.h"
#include "crypto/kernel_tls.h"
#include "edge/canaries.h"
#include "edge/server.h"
#include "jobs/demo_backend.h"
#include "net/inherited.h"
#include "net/loop.h"
#include "programs/pqedge/notify.h"
#include "record/error_log.h"
#include "record/metrics.h"

namespace pqedge {
namespace {

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// What `make run` shows.
void print_what_to_try() {
  print(
      "\npqedge is serving https://localhost:8443 (TCP and UDP) with a certificate made just now.\n"
      "\nTry:\n"
      "  curl -k --http1.1 https://localhost:8443/bytes/1000 -o /dev/null -w '%{http_version}\\n'\n"
      "  curl -k --http2 https://localhost:8443/\n"
      "  curl -k --http3-only https://localhost:8443/\n"
      "  openssl s_client -connect localhost:8443 -groups X25519MLKEM768 </dev/null | grep -i group\n"
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
      return 1;
    }
    if (options_.config.empty()) print_what_to_try();
    notify("READY=1");
    if (watchdog_interval() != 0) watchdog_.arm(*loop_, watchdog_interval());
    loop_->run();
    ended_.store(true, std::memory_order_release);
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
    if (options_.config.empty()) {
      auto demo = jobs::DemoBackend::start();
      if (!demo) return std::unexpected(demo.error());
      demo_ = std::move(*demo);
      auto pem = crypto::make_self_signed({"localhost", "127.0.0.1", "::1"});
      if (!pem) return std::unexpected(pem.error());
      options.pem = std::move(*pem);
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
    options.loader = [this]() -> Result<edge::Settings> {
      auto c = load();
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
    auto admin = admin::Server::start(loaded_admin_, admin_hooks());
    if (!admin) return std::unexpected(admin.error());
    admin_ = std::move(*admin);
    return {};
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
    hooks.drain = [this] { loop_->post([this] { stop(); }); };
    hooks.reopen_logs = [this] { loop_->post([this] { reopen(); }); };
    hooks.status_json = [this] {
      return on_main([this]() -> Result<std::string> { return server_->status_json(); })
          .value_or("{}");
    };
    hooks.canaries_json = [this] {
      return on_main([this]() -> Result<std::string> {
               return edge::canaries_json(server_->snapshot(), monotonic_now());
             })
          .value_or("[]");
    };
    hooks.set_canary = [this](std::string route, std::string percent) {
      return on_main([this, route = std::move(route), percent = std::move(percent)] {
        return edge::set_canary(server_->snapshot(), route, percent);
      });
    };
    return hooks;
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

  Result<void> block_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int s : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&set, s);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);  // inherited by every thread made from here on
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
        default: stop(); break;
      }
    }
  }

  Result<std::string> reload() {
    notify_reloading();
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
    server_->drain([this] { loop_->stop(); });
  }

  void ping_watchdog() {
    server_->check_workers([] { notify("WATCHDOG=1"); });
    watchdog_.arm(*loop_, watchdog_interval());
  }

  const ServeOptions& options_;
  std::unique_ptr<net::Loop> loop_;
  net::Fd signals_;
  net::Timer watchdog_;
  std::atomic<bool> ended_{false};
  std::unique_ptr<jobs::DemoBackend> demo_;
  std::unique_ptr<edge::Server> server_;
  std::unique_ptr<admin::Server> admin_;
  admin::Settings loaded_admin_;  // of the last load
  std::vector<std::string> loaded_warnings_;
};

}  // namespace

int serve(const ServeOptions& options) { return Process(options).run(); }

}  // namespace pqedge
