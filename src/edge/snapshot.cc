#include "edge/snapshot.h"

#include <algorithm>

namespace pqedge::edge {
namespace {

const counters::Counter kSnapshots(
    "pqedge_configurations",
    "Configurations in memory: the one in use, one that is being read, and those before it that a "
    "request still uses.",
    {}, counters::Kind::gauge);

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

// Extended CONNECT is offered where a route can map it.
bool takes_upgrades(const Settings& settings) {
  return std::ranges::any_of(settings.routes, [](const route::RouteSettings& r) {
    return !r.pool.empty() && r.tunnel.connect.empty() &&
           (r.tunnel.websocket || !r.tunnel.upgrades.empty());
  });
}

bool wants_tls(const Settings& settings) {
  return std::ranges::any_of(settings.listeners, &ListenerSettings::tls);
}

}  // namespace

Snapshot::Snapshot() { kSnapshots.add(); }

Snapshot::~Snapshot() { kSnapshots.subtract(); }

Result<std::shared_ptr<const Snapshot>> Snapshot::build(Settings settings,
                                                        const crypto::PemPair* pem,
                                                        const Snapshot* earlier) {
  std::shared_ptr<Snapshot> s(new Snapshot);
  s->settings = std::move(settings);
  s->settings.quic.qlog_directory = s->settings.debug.qlog_dir;
  s->settings.quic.qlog_client = s->settings.debug.client;
  s->settings.limits.connect_protocol = takes_upgrades(s->settings);
  s->limits = std::make_shared<const http::Limits>(s->settings.limits);
  if (wants_tls(s->settings)) {
    // With ACME there may be none in files.
    const bool acme_alone = s->settings.tls.certificates.empty() && s->settings.acme.on();
    auto store = pem != nullptr ? crypto::CertificateStore::from_pem(pem->chain, pem->key)
                 : acme_alone
                     ? Result<std::shared_ptr<const crypto::CertificateStore>>(
                           crypto::CertificateStore::make({}))
                     : crypto::CertificateStore::load(
                           s->settings.tls.certificates,
                           {.strict_keys = s->settings.tls.strict_key_files, .warn = true});
    if (!store) return std::unexpected(store.error());
    s->certificates = std::move(*store);
  }
  if (auto ok = s->load_tls(); !ok) return std::unexpected(ok.error());
  auto table = route::Table::compile_over(s->settings.routes);
  if (!table) return std::unexpected(table.error());
  s->table_ = std::make_unique<const route::Table>(std::move(*table));

  s->plans_.resize(s->settings.routes.size());
  for (size_t i = 0; i < s->plans_.size(); ++i) {
    const route::RouteSettings& r = s->settings.routes[i];
    RoutePlan& plan = s->plans_[i];
    plan.name = r.name;
    plan.settings = &r;
    plan.steps = compile_steps(r);
    if (!r.tunnel.connect.empty()) s->connects_.push_back(static_cast<uint32_t>(i));
    plan.max_body = std::min(r.max_body, s->settings.limits.max_body);
    if (!r.pool.empty()) {
      plan.pool = pool_index(s->settings.pools, r.pool);
      if (plan.pool == SIZE_MAX) {
        return fail("route '{}': no pool is named '{}'", r.name, r.pool);
      }
      plan.target = make_target(plan.pool, s->settings.pools[plan.pool], r.forward);
      if (auto ok = s->plan_shadow(r, plan); !ok) return std::unexpected(ok.error());
    }
    count_as(plan, i < kCountedRoutes ? std::string_view(r.name) : "(other)");
  }
  s->no_route_.name = "(none)";
  s->no_route_.steps = steps_without_route();
  s->no_route_.max_body = s->settings.limits.max_body;
  count_as(s->no_route_, "(none)");
  if (auto ok = s->plan_streams(); !ok) return std::unexpected(ok.error());
  if (auto ok = s->load_shapes(earlier); !ok) return std::unexpected(ok.error());
  return s;
}

// What routes change, and the pages for errors.
Result<void> Snapshot::load_shapes(const Snapshot* earlier) {
  auto pages = content::ErrorPages::load(settings.error_pages);
  if (!pages) return std::unexpected(pages.error());
  error_pages = std::make_unique<const content::ErrorPages>(std::move(*pages));
  auto common = make_common_shape(settings);
  if (!common) return std::unexpected(common.error());
  no_route_.shape = *common;
  for (RoutePlan& plan : plans_) {
    const bool had = earlier != nullptr && plan.settings->canary.on();
    auto shape = make_shape(settings, *plan.settings, *common,
                            had ? earlier->canary_of(plan.name) : nullptr);
    if (!shape) return std::unexpected(shape.error());
    plan.shape = std::move(*shape);
  }
  return {};
}

std::vector<std::shared_ptr<route::Canary>> Snapshot::canaries() const {
  std::vector<std::shared_ptr<route::Canary>> all;
  for (const RoutePlan& plan : plans_) {
    if (plan.shape != nullptr && plan.shape->canary != nullptr) all.push_back(plan.shape->canary);
  }
  return all;
}

std::shared_ptr<route::Canary> Snapshot::canary_of(std::string_view route) const {
  const auto all = canaries();
  const auto found =
      std::ranges::find(all, route, [](const auto& c) -> std::string_view { return c->route(); });
  return found == all.end() ? nullptr : *found;
}

Result<void> Snapshot::plan_shadow(const route::RouteSettings& route, RoutePlan& plan) const {
  const route::ForwardSettings& f = route.forward;
  if (f.shadow_pool.empty() || f.shadow_percent == 0) return {};
  const size_t index = pool_index(settings.pools, f.shadow_pool);
  if (index == SIZE_MAX) {
    return fail("route '{}': no pool is named '{}' for its shadow", route.name, f.shadow_pool);
  }
  plan.shadow = make_shadow_plan(index, settings.pools[index], f);
  return {};
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

StreamCount::StreamCount(const std::string& listener)
    : connections("pqedge_stream_connections_total",
                  "Connections without HTTP that went to a server, by listener.",
                  {{"listener", listener}}),
      failed("pqedge_stream_failed_total", "Those that no server took.", {{"listener", listener}}),
      bytes_in("pqedge_stream_received_bytes_total", "Bytes of theirs from clients.",
               {{"listener", listener}}),
      bytes_out("pqedge_stream_sent_bytes_total", "Bytes of theirs to clients.",
                {{"listener", listener}}) {}

// Each listener without HTTP is a route of its own.
Result<void> Snapshot::plan_streams() {
  for (const ListenerSettings& l : settings.listeners) {
    if (!l.takes_stream()) continue;
    auto& [route, plan] = streams_[l.name];
    route.name = l.name;
    route.pool = l.stream.pool;
    route.tunnel.timeout = l.stream.idle_timeout;
    plan.name = l.name;
    plan.settings = &route;
    plan.steps = steps_of_stream();
    plan.pool = pool_index(settings.pools, l.stream.pool);
    if (plan.pool == SIZE_MAX) {
      return fail("listener '{}': no pool is named '{}'", l.name, l.stream.pool);
    }
    plan.target = make_target(plan.pool, settings.pools[plan.pool], route.forward);
    plan.target.request_timeout = 0;  // a connection is no request
    plan.target.hedge_after = 0;
    plan.stream = std::make_shared<const StreamCount>(l.name);
  }
  return {};
}

const RoutePlan& Snapshot::plan_for_stream(std::string_view listener) const {
  const auto it = streams_.find(listener);
  return it == streams_.end() ? no_route_ : it->second.second;
}

const RoutePlan& Snapshot::plan_for_connect(const route::Subject& subject) const {
  std::string_view host = subject.request.host;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  for (const uint32_t index : connects_) {
    const route::Route& route = table_->routes()[index];
    if (!route.conditions.hold(subject)) continue;
    for (const route::ConnectTarget& target : route.settings.tunnel.connect) {
      if (route::is_target(target, host, subject.request.port)) return plans_[index];
    }
  }
  return no_route_;
}

WorkerSnapshot::WorkerSnapshot(std::shared_ptr<const Snapshot> shared,
                               std::shared_ptr<crypto::ServerContexts> contexts,
                               upstream::Backends& backends, const MemberTable& members,
                               uint32_t workers)
    : shared_(std::move(shared)), contexts_(std::move(contexts)) {
  const auto& pools = shared_->settings.pools;
  for (size_t i = 0; i < pools.size(); ++i) {
    pools_.push_back(backends.make_pool(pools[i], shared_->limits, shared_->backend_tls[i],
                                        members.find(pools[i].name)));
    budgets_.emplace_back(pools[i].retry_budget, pools[i].retry_floor, workers);
  }
}

}  // namespace pqedge::edge
