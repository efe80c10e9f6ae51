#include "edge/snapshot.h"

#include <algorithm>

namespace pqedge::edge {
namespace {

// Series a route; a configuration with more routes counts the rest together.
constexpr size_t kCountedRoutes = 1500;

void count_as(RoutePlan& plan, std::string_view label) {
  static constexpr std::array<std::string_view, 6> kClasses = {"none", "1xx", "2xx",
                                                               "3xx",  "4xx", "5xx"};
  for (size_t i = 0; i < kClasses.size(); ++i) {
    plan.by_class[i] =
        counters::Counter("pqedge_requests_total", "Requests by route and class of status.",
                          {{"route", std::string(label)}, {"class", std::string(kClasses[i])}});
  }
}

size_t pool_index(const std::vector<upstream::PoolSettings>& pools, const std::string& name) {
  const auto it = std::ranges::find(pools, name, &upstream::PoolSettings::name);
  return it == pools.end() ? SIZE_MAX : static_cast<size_t>(it - pools.begin());
}

bool wants_tls(const Settings& settings) {
  return std::ranges::any_of(settings.listeners, &ListenerSettings::tls);
}

}  // namespace

Result<std::shared_ptr<const Snapshot>> Snapshot::build(Settings settings,
                                                        const crypto::PemPair* pem) {
  std::shared_ptr<Snapshot> s(new Snapshot);
  s->settings = std::move(settings);
  s->settings.quic.qlog_directory = s->settings.debug.qlog_dir;
  s->settings.quic.qlog_client = s->settings.debug.client;
  s->limits = std::make_shared<const http::Limits>(s->settings.limits);
  if (wants_tls(s->settings)) {
    // With ACME there may be none in files.
    const bool acme_alone = s->settings.tls.certificates.empty() && s->settings.acme.on();
    auto store = pem != nullptr ? crypto::CertificateStore::from_pem(pem->chain, pem->key)
                 : acme_alone ? Result<std::shared_ptr<const crypto::CertificateStore>>(
                                    crypto::CertificateStore::make({}))
                     : crypto::CertificateStore::load(
                           s->settings.tls.certificates,
                           {.strict_keys = s->settings.tls.strict_key_files, .warn = true});
    if (!store) return std::unexpected(store.error());
    s->certificates = std::move(*store);
  }
  if (auto ok = s->load_tls(); !ok) return std::unexpected(ok.error());
  auto table = route::Table::compile(s->settings.routes);
  if (!table) return std::unexpected(table.error());
  s->table_ = std::make_unique<const route::Table>(std::move(*table));

  s->plans_.resize(s->settings.routes.size());
  for (size_t i = 0; i < s->plans_.size(); ++i) {
    const route::RouteSettings& r = s->settings.routes[i];
    RoutePlan& plan = s->plans_[i];
    plan.name = r.name;
    plan.settings = &r;
    plan.steps = compile_steps(r);
    plan.max_body = std::min(r.max_body, s->settings.limits.max_body);
    if (!r.pool.empty()) {
      plan.pool = pool_index(s->settings.pools, r.pool);
      if (plan.pool == SIZE_MAX) {
        return fail("route '{}': no pool is named '{}'", r.name, r.pool);
      }
    }
    count_as(plan, i < kCountedRoutes ? std::string_view(r.name) : "(other)");
  }
  s->no_route_.name = "(none)";
  s->no_route_.steps = steps_without_route();
  s->no_route_.max_body = s->settings.limits.max_body;
  count_as(s->no_route_, "(none)");
  return s;
}

// The policies by host, and what connections to pools with TLS are made from.
Result<void> Snapshot::load_tls() {
  auto loaded = crypto::PolicySet::load(settings.tls, settings.tls_policies);
  if (!loaded) return std::unexpected(loaded.error());
  policies = std::move(*loaded);
  for (const upstream::PoolSettings& pool : settings.pools) {
    backend_tls.emplace_back();
    if (!pool.tls) continue;
    auto made = crypto::BackendTls::load(pool.tls_settings);
    if (!made) return fail("pool '{}': {}", pool.name, made.error().message);
    backend_tls.back() = std::move(*made);
  }
  return {};
}

const RoutePlan& Snapshot::plan_for(const route::Subject& subject) const {
  const route::Route* route = table_->match(subject);
  return route == nullptr ? no_route_ : plans_[route->index];
}

WorkerSnapshot::WorkerSnapshot(std::shared_ptr<const Snapshot> shared,
                               std::shared_ptr<crypto::ServerContexts> contexts,
                               upstream::Backends& backends)
    : shared_(std::move(shared)), contexts_(std::move(contexts)) {
  const auto& pools = shared_->settings.pools;
  for (size_t i = 0; i < pools.size(); ++i) {
    pools_.push_back(backends.make_pool(pools[i], shared_->limits, shared_->backend_tls[i]));
  }
}

}  // namespace pqedge::edge
