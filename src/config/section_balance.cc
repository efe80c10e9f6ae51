// How a [[pool]] chooses among its servers: algorithm, affinity, queue, limits.
#include <format>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "config/section_readers.h"

namespace pqedge::config {
namespace {

using upstream::KeySource;

// "client_ip", "header:NAME", "cookie:NAME".
void read_hash_key(Table& t, KeySource& out) {
  std::string text;
  t.read("hash_by", text);
  if (!t.has("hash_by") || text.empty()) {
    if (t.has("hash_by")) t.problem(t.key_path("hash_by"), "is empty");
    return;
  }
  const std::string_view all = text;
  for (const auto& [prefix, kind] :
       {std::pair{std::string_view("header:"), KeySource::Kind::header},
        std::pair{std::string_view("cookie:"), KeySource::Kind::cookie}}) {
    if (all.starts_with(prefix)) {
      out = {kind, std::string(all.substr(prefix.size()))};
      return;
    }
  }
  if (all == "client_ip") {
    out = {KeySource::Kind::client_ip, {}};
    return;
  }
  t.problem(t.key_path("hash_by"), in_quotes(text) + " is no key to hash by",
            "write \"client_ip\", \"header:NAME\" or \"cookie:NAME\"");
}

// "off", "cookie", "client_ip", "header:NAME".
void read_affinity(Table& t, upstream::PoolSettings& s) {
  std::string text;
  std::string cookie = "pqedge_server";
  t.read("affinity", text);
  t.read("affinity_cookie", cookie);
  t.duration("affinity_ttl", s.affinity_ttl);
  t.count("affinity_entries", s.affinity_entries);
  const std::string_view all = text;
  if (all == "cookie") {
    s.affinity = {KeySource::Kind::cookie, cookie};
  } else if (all == "client_ip") {
    s.affinity = {KeySource::Kind::client_ip, {}};
  } else if (all.starts_with("header:")) {
    s.affinity = {KeySource::Kind::header, text.substr(7)};
  } else if (t.has("affinity") && all != "off") {
    t.problem(t.key_path("affinity"), in_quotes(text) + " is no kind of affinity",
              "write \"off\", \"cookie\", \"client_ip\" or \"header:NAME\"");
    return;
  }
  const auto only_with = [&](const char* key, bool holds, const char* what) {
    if (t.has(key) && !holds)
      t.problem(t.key_path(key), std::format("has no effect without {}", what));
  };
  const KeySource::Kind kind = s.affinity.kind;
  only_with("affinity_ttl", kind != KeySource::Kind::none, "affinity");
  only_with("affinity_cookie", kind == KeySource::Kind::cookie, "affinity = \"cookie\"");
  only_with("affinity_entries",
            kind == KeySource::Kind::client_ip || kind == KeySource::Kind::header,
            "affinity by \"client_ip\" or \"header:NAME\"");
}

}  // namespace

void read_balance(Table& t, upstream::PoolSettings& s) {
  using upstream::Balance;
  t.choice<Balance>("balance", s.balance,
                    {{"least_connections", Balance::least_connections},
                     {"round_robin", Balance::round_robin},
                     {"random_two", Balance::random_two},
                     {"hash", Balance::hash},
                     {"least_time", Balance::least_time}});
  if (s.balance == Balance::hash) s.hash_by = {KeySource::Kind::client_ip, {}};
  read_hash_key(t, s.hash_by);
  read_affinity(t, s);
  t.count("max_requests", s.max_requests);
  t.count("queue", s.queue);
  t.duration("queue_timeout", s.queue_timeout);
  t.duration("slow_start", s.slow_start);
  if (t.has("hash_by") && s.balance != Balance::hash) {
    t.problem(t.key_path("hash_by"), "has no effect without balance = \"hash\"");
  }
  if (t.has("queue_timeout") && s.queue == 0) {
    t.problem(t.key_path("queue_timeout"), "has no effect without queue");
  }
  if (s.slow_start != 0 && s.balance == Balance::hash) {
    t.problem(t.key_path("slow_start"), "has no effect with balance = \"hash\"",
              "a server has the keys that are its own from the first moment");
  }
}

}  // namespace pqedge::config
