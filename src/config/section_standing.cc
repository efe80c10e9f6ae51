// What a [[pool]] makes of servers that fail: health, outlier, breaker.
#include <format>
#include <initializer_list>

#include "config/section_readers.h"

namespace pqedge::config {
namespace {

using upstream::HealthSettings;

void read_status_list(Table& t, std::string_view key, std::vector<uint16_t>& out) {
  t.each(key, [&](const std::string& path, const Node& value) {
    if (value.type == Node::Type::integer && value.integer >= 100 && value.integer <= 599) {
      out.push_back(static_cast<uint16_t>(value.integer));
    } else {
      t.problem(path, "is not a status", "write whole numbers from 100 to 599: [200, 204]");
    }
  });
}

void read_health(Table& t, HealthSettings& s) {
  using Kind = HealthSettings::Kind;
  if (!t.absent()) t.require("kind", "write kind = \"http\", \"tcp\" or \"grpc\"");
  t.choice<Kind>("kind", s.kind, {{"tcp", Kind::tcp}, {"http", Kind::http}, {"grpc", Kind::grpc}});
  t.duration("interval", s.interval);
  t.duration("interval_down", s.interval_down);
  t.duration("timeout", s.timeout);
  t.count("rise", s.rise);
  t.count("fall", s.fall);
  t.count("port", s.port);
  t.read("method", s.method);
  t.read("path", s.path);
  t.read("host", s.host);
  t.read("body", s.body);
  t.read("service", s.service);
  read_status_list(t, "statuses", s.statuses);
  if (s.kind == Kind::off) return;  // said already
  const auto only_with = [&](std::initializer_list<const char*> keys, bool holds,
                             const char* kind) {
    for (const char* key : keys) {
      if (t.has(key) && !holds) {
        t.problem(t.key_path(key), std::format("has no effect without kind = {}", kind));
      }
    }
  };
  only_with({"method", "path", "body", "statuses"}, s.kind == Kind::http, "\"http\"");
  only_with({"service"}, s.kind == Kind::grpc, "\"grpc\"");
  only_with({"host"}, s.kind != Kind::tcp, "\"http\" or \"grpc\"");
}

}  // namespace

void read_standing(Table& t, upstream::PoolSettings& s) {
  t.table("health", [&](Table& health) { read_health(health, s.health); });
  t.table("outlier", [&](Table& outlier) {
    upstream::OutlierSettings& o = s.rules.outlier;
    o.on = !outlier.absent();
    outlier.count("failures", o.failures);
    outlier.count("error_percent", o.error_percent);
    outlier.count("min_requests", o.min_requests);
    outlier.duration("window", o.window);
    outlier.duration("eject", o.eject);
    outlier.duration("max_eject", o.max_eject);
    outlier.count("max_percent", o.max_percent);
  });
  t.table("breaker", [&](Table& breaker) {
    upstream::BreakerSettings& b = s.rules.breaker;
    b.on = !breaker.absent();
    breaker.count("failures", b.failures);
    breaker.count("error_percent", b.error_percent);
    breaker.count("min_requests", b.min_requests);
    breaker.duration("window", b.window);
    breaker.duration("pause", b.pause);
    breaker.count("probes", b.probes);
    breaker.duration("probe_timeout", b.probe_timeout);
  });
  read_status_list(t, "failure_statuses", s.rules.failure_statuses);
  if (t.has("failure_statuses") && !s.rules.outlier.on && !s.rules.breaker.on) {
    t.problem(t.key_path("failure_statuses"), "has no effect without outlier or breaker");
  }
}

}  // namespace pqedge::config
