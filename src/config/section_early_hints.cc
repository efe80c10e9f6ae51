// What a route says of 103 Early Hints.
#include <format>

#include "config/section_readers.h"
#include "content/early_hints.h"

namespace pqedge::config {

void read_route_early_hints(Table& t, route::RouteSettings& s) {
  constexpr std::string_view kLinks = "early_hints";
  constexpr std::string_view kPass = "pass_early_hints";
  t.each_string(kLinks, [&](const std::string& path, const std::string& text) {
    if (const std::string_view fault = content::link_fault(text); !fault.empty()) {
      t.problem(path, std::string(fault),
                "write one link: \"</style.css>; rel=preload; as=style\"");
    }
    s.early_hints.push_back(text);
  });
  if (s.early_hints.size() > content::kMaxEarlyHints) {
    t.problem(t.key_path(kLinks), std::format("has {} links", s.early_hints.size()),
              std::format("{} at most: a client fetches each of them", content::kMaxEarlyHints));
  }
  t.read(kPass, s.pass_early_hints);
  for (const std::string_view key : {kLinks, kPass}) {
    if (t.has(key) && s.pool.empty()) {
      t.problem(t.key_path(key), "has no effect without a pool",
                "hints go before a backend's answer");
    }
  }
}

}  // namespace pqedge::config
