#include "programs/pqedge/explain.h"
#include "programs/pqedge/complain.h"

#include <cstdio>
#include <format>

#include "base/arena.h"
#include "base/text.h"
#include "config/load.h"
#include "http/rules.h"
#include "route/canary.h"
#include "route/explain.h"

namespace pqedge {
namespace {

constexpr int kNoRoute = 3;

Result<config::Configuration> load(const std::string& file) {
  if (file.empty()) return config::default_configuration(1);
  return config::load_file(file);
}

// "https://host/path?query" into the request; views are into `url`.
Result<void> read_url(std::string_view url, http::Request& request) {
  const size_t colon = url.find("://");
  if (colon == std::string_view::npos) {
    return fail("{} has no scheme: write it as in https://www.example.com/path", url);
  }
  request.scheme = url.substr(0, colon);
  if (request.scheme != "https" && request.scheme != "http") {
    return fail("the scheme {} is neither https nor http", request.scheme);
  }
  url.remove_prefix(colon + 3);
  const size_t slash = std::min(url.find_first_of("/?"), url.size());
  request.authority = url.substr(0, slash);
  url.remove_prefix(slash);
  url = url.substr(0, url.find('#'));
  request.target = url.starts_with('/') ? url : request.arena->concat("/", url);
  return {};
}

Result<void> read_fields(const std::vector<std::string>& lines, http::Request& request) {
  for (const std::string& line : lines) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || colon == 0) {
      return fail("\"{}\" is no header field: write it as in 'Name: value'", line);
    }
    request.fields.add(std::string_view(line).substr(0, colon),
                       trim_ows(std::string_view(line).substr(colon + 1)));
  }
  return {};
}

std::string action(const route::RouteSettings& s) {
  if (!s.pool.empty() && s.canary.on()) {
    return std::format("to pool {}, {} of its requests to pool {}", in_quotes(s.pool),
                       route::share_text(s.canary.share), in_quotes(s.canary.pool));
  }
  if (!s.pool.empty()) return "to pool " + in_quotes(s.pool);
  if (!s.redirect.to.empty()) {
    return std::format("redirects with {} to {}", s.redirect.status, in_quotes(s.redirect.to));
  }
  if (s.redirect_https) return "redirects to https";
  return std::format("answers {}", s.answer_status);
}

void print(const config::Configuration& c, const std::vector<route::Candidate>& candidates) {
  size_t width = 0;
  for (const route::Candidate& one : candidates) {
    width = std::max(width, one.route->settings.name.size());
  }
  for (const route::Candidate& one : candidates) {
    const route::RouteSettings& s = one.route->settings;
    const std::string where = c.position(entry_key("route", one.route->index));
    const std::string why = one.taken ? one.why + ": " + action(s) : one.why;
    std::printf("%s %-*s  %s  (%s)\n", one.taken ? "->" : "  ", static_cast<int>(width),
                s.name.c_str(), why.c_str(), where.c_str());
  }
}

}  // namespace

int explain(const ExplainOptions& options) {
  const auto c = load(options.config);
  if (!c) return complain(c.error().message, "pqedge explain");
  const auto table = route::Table::compile(c->edge.routes);
  if (!table) return complain(table.error().message, "pqedge explain");
  if (!net::Address::from_ip(options.client, 0)) {
    return complain(std::format("{} is no IP address", in_quotes(options.client)),
                    "pqedge explain");
  }
  Arena arena;
  http::Request request(arena);
  request.method_text = options.method;
  request.method = http::parse_method(options.method);
  if (auto read = read_url(options.url, request); !read)
    return complain(read.error().message, "pqedge explain");
  if (auto read = read_fields(options.fields, request); !read) {
    return complain(read.error().message, "pqedge explain");
  }
  if (auto ok = http::canonicalise(request); !ok) {
    return complain(std::format("refused with {} before any route is looked at: {}",
                                ok.error().status, ok.error().reason),
                    "pqedge explain");
  }
  std::string seen = std::format("host {}, path {}", request.host, request.path);
  if (!request.query.empty()) seen += std::format(", query {}", request.query);
  std::printf("%s %s\n%s, client %s\n\n", options.method.c_str(), options.url.c_str(), seen.c_str(),
              options.client.c_str());
  const route::Subject subject{request, options.client};
  print(*c, route::explain(*table, subject));
  if (table->match(subject) != nullptr) return 0;
  std::printf("No route takes it: 404.\n");
  return kNoRoute;
}

}  // namespace pqedge
