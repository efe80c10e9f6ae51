// What finding a request's route costs, by how many routes there are (R1): the same requests with
// 10 and with 10,000 routes, of which five in a hundred have a pattern. CPU time of one look-up.
//
//   build/bench_route
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <format>
#include <string>
#include <vector>

#include "base/arena.h"
#include "http/uri.h"
#include "route/table.h"

namespace {

using namespace pqedge;

// One site in ten routes: paths, a pattern where it has one, and a route with conditions.
route::RouteSettings make(size_t i) {
  route::RouteSettings r;
  r.name = std::format("r{}", i);
  r.hosts = {std::format("site{}.example.com", i / 10)};
  r.pool = "app";
  switch (i % 20) {
    case 3: r.path_regex = std::format("/v[0-9]+/item{}/.*", i); break;
    case 7:
      r.path_prefix = "/api/v1";
      r.headers = {{"x-tenant", route::ValueMatch::Kind::exact, "blue"}};
      break;
    case 9: r.path = std::format("/page{}", i); break;
    default: r.path_prefix = std::format("/api/v1/part{}", i); break;
  }
  return r;
}

route::Table table_of(size_t routes) {
  std::vector<route::RouteSettings> all;
  for (size_t i = 0; i < routes; ++i) all.push_back(make(i));
  auto table = route::Table::compile(std::move(all));
  if (table) return std::move(*table);
  std::fprintf(stderr, "%s\n", table.error().message.c_str());
  std::abort();
}

void match(benchmark::State& state, const char* host, const char* target) {
  const route::Table table = table_of(static_cast<size_t>(state.range(0)));
  Arena arena;
  http::Request request(arena);
  request.version = http::Version::http2;
  request.method = http::Method::get;
  request.method_text = "GET";
  request.scheme = "https";
  request.authority = host;
  request.target = target;
  request.fields.add("user-agent", "bench");
  if (!http::canonicalise(request)) std::abort();
  const route::Subject subject{request, "192.0.2.7"};
  for (auto _ : state) benchmark::DoNotOptimize(table.match(subject));
}

void declare(const char* name, const char* host, const char* target) {
  benchmark::RegisterBenchmark(name, match, host, target)->Arg(10)->Arg(10'000);
}

const bool declared = [] {
  declare("prefix", "site0.example.com", "/api/v1/part1/a/b/c");
  declare("exact", "site0.example.com", "/page9");
  declare("pattern", "site0.example.com", "/v12/item3/x/y");
  declare("condition fails", "site0.example.com", "/api/v1/none");
  declare("no such host", "other.example.net", "/api/v1/part1/a");
  return true;
}();

}  // namespace
