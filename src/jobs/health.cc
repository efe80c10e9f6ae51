#include "jobs/health.h"

#include <format>
#include <optional>
#include <random>

#include "base/counters.h"
#include "base/log.h"

namespace pqedge::jobs {

using upstream::HealthSettings;

// A server: waits, is looked at, waits.
class Health::Checked {
 public:
  Checked(net::Loop& loop, std::shared_ptr<upstream::ServerState> server,
          std::shared_ptr<const HealthProbe> probe, Nanos first)
      : loop_(loop),
        server_(std::move(server)),
        probe_(std::move(probe)),
        random_(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(this) >> 4)),
        timer_([](void* self) { static_cast<Checked*>(self)->look(); }, this) {
    const auto counted = [this](const char* result) {
      return counters::Counter(
          "pqedge_backend_checks_total", "Active checks of the server.",
          {{"pool", server_->pool}, {"server", server_->name}, {"result", result}});
    };
    well_count_ = counted("well");
    bad_count_ = counted("failed");
    not_made_count_ = counted("not_made");
    timer_.arm(loop_, first);
  }

  const std::shared_ptr<const HealthProbe>& probe() const { return probe_; }
  // Goes on with other settings from the next look on; the first one decides alone again.
  void use(std::shared_ptr<const HealthProbe> probe) {
    probe_ = std::move(probe);
    first_ = true;
    good_ = bad_ = 0;
    check_.reset();
    timer_.arm(loop_, 0);
  }

 private:
  void look() {
    check_ = std::make_unique<HealthCheck>(
        loop_, *server_, probe_, [this](std::optional<bool> well, std::string text, Nanos took) {
          if (well) return on_result(*well, text, took);
          not_made_count_.add();
          log::warning("health", "{}: not looked at: {}", server_->name, text);
          wait();
        });
    check_->begin();
  }

  void on_result(bool well, const std::string& text, Nanos took) {
    const HealthSettings& s = probe_->settings;
    (well ? well_count_ : bad_count_).add();
    server_->note_check(well, text, took);
    good_ = well ? good_ + 1 : 0;
    bad_ = well ? 0 : bad_ + 1;
    // A server of which nothing is known yet is what the first look says.
    const uint32_t needed = first_ ? 1 : well ? s.rise : s.fall;
    first_ = false;
    if ((well ? good_ : bad_) >= needed) {
      const uint32_t count = well ? good_ : bad_;
      server_->set_checked(well,
                           std::format("{} check{} in a row {}: {}", count, count == 1 ? "" : "s",
                                       well ? "went well" : "failed", text),
                           monotonic_now());
      down_ = !well;
    }
    wait();
  }

  void wait() {
    const HealthSettings& s = probe_->settings;
    const Nanos wait = down_ && s.interval_down != 0 ? s.interval_down : s.interval;
    // A tenth up or down: many servers and many proxies are not to fall into step.
    std::uniform_int_distribution<Nanos> spread(wait - wait / 10, wait + wait / 10);
    timer_.arm(loop_, spread(random_));
  }

  net::Loop& loop_;
  const std::shared_ptr<upstream::ServerState> server_;
  std::shared_ptr<const HealthProbe> probe_;
  std::minstd_rand random_;
  std::unique_ptr<HealthCheck> check_;
  net::Timer timer_;
  counters::Counter well_count_;
  counters::Counter bad_count_;
  counters::Counter not_made_count_;
  uint32_t good_ = 0;  // in a row
  uint32_t bad_ = 0;
  bool first_ = true;
  bool down_ = false;
};

Health::Health(net::Loop& loop) : loop_(loop) {}
Health::~Health() = default;

// The one of before, if it is the same: sessions and contexts are kept then.
std::shared_ptr<const HealthProbe> Health::probe_for(
    const HealthPool& pool, const std::shared_ptr<const HealthProbe>& before) {
  const uint64_t fingerprint = pool.tls == nullptr ? 0 : pool.tls->fingerprint();
  if (before != nullptr && before->settings == pool.settings && before->protocol == pool.protocol &&
      before->send_proxy == pool.send_proxy &&
      (before->tls == nullptr ? 0 : before->tls->fingerprint()) == fingerprint) {
    return before;
  }
  auto probe = std::make_shared<HealthProbe>(HealthProbe{.settings = pool.settings,
                                                         .protocol = pool.protocol,
                                                         .send_proxy = pool.send_proxy,
                                                         .limits = pool.limits,
                                                         .tls = pool.tls,
                                                         .tls_context = nullptr});
  if (pool.tls == nullptr) return probe;
  auto context = pool.tls->make_context();
  if (context) {
    probe->tls_context = std::shared_ptr<SSL_CTX>(context->release(), SSL_CTX_free);
  } else {
    log::error("health", "pool '{}': {}", pool.name, context.error().message);
  }
  return probe;
}

void Health::set(const std::vector<HealthPool>& pools) {
  std::map<std::string, Pool> next;
  Nanos first = 0;
  for (const HealthPool& pool : pools) {
    if (pool.settings.kind == HealthSettings::Kind::off) continue;
    const auto old = pools_.find(pool.name);
    Pool& now = next[pool.name];
    now.probe = probe_for(pool, old == pools_.end() ? nullptr : old->second.probe);
    if (pool.tls != nullptr && now.probe->tls_context == nullptr) continue;
    for (const auto& server : pool.servers) {
      std::unique_ptr<Checked>& place = now.servers[server.get()];
      if (old != pools_.end()) {
        if (const auto it = old->second.servers.find(server.get());
            it != old->second.servers.end()) {
          place = std::move(it->second);
          old->second.servers.erase(it);
        }
      }
      if (place == nullptr) {
        // A thousand servers are not looked at in one moment.
        place = std::make_unique<Checked>(loop_, server, now.probe, first);
        first += kMillisecond;
      } else if (place->probe() != now.probe) {
        place->use(now.probe);
      }
    }
  }
  std::swap(pools_, next);
  for (auto& [name, pool] : next) {
    for (auto& [server, checked] : pool.servers) {
      if (checked == nullptr) continue;
      server->set_checked(true, "it is not checked any more", monotonic_now());
    }
  }
}

}  // namespace pqedge::jobs
