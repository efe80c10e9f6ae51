#include "measure/calculator/figures.h"

#include <algorithm>
#include <set>

#include "base/problem.h"
#include "base/text.h"

namespace pqedge::measure {
namespace {

std::string run_of(const Record& record) {
  const Environment& e = record.environment;
  return "record " + record.id.substr(0, 8) + " (" + e.date + ", " + e.host.name + ')';
}

// The suite of the signatures track that times this key.
std::string suite_of_key(std::string_view key) {
  if (key.starts_with("RSA-") && !key.ends_with("-PSS")) return std::string(key) + "-PSS";
  return std::string(key);
}

const PhaseRecord* find_phase(const SuiteRecord& suite, std::string_view name) {
  const auto it = std::ranges::find_if(
      suite.phases, [name](const PhaseRecord& p) { return iequals(p.name, name); });
  return it == suite.phases.end() ? nullptr : &*it;
}

std::string listed(const std::set<std::string>& names) {
  if (names.empty()) return "it holds none";
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "it holds " : ", ") + name;
  return out;
}

Figure figure_of(const Record& record, const SuiteRecord& suite, std::string_view track,
                 std::string_view member, double value) {
  return {value, std::format("tracks.{}.{}.{} by {} {} ({}) in {}", track, suite.name, member,
                             suite.provider, suite.provider_version, suite.code, run_of(record))};
}

}  // namespace

std::string plain_name(std::string_view name) {
  std::string out;
  for (const char c : to_lower(name)) {
    if ((c >= 'a' && c <= 'z') || is_digit(c)) out += c;
  }
  return out;
}

Figures::Figures(std::vector<Record> records, std::string provider, bool allow_withheld)
    : records_(std::move(records)),
      provider_(std::move(provider)),
      allow_withheld_(allow_withheld) {
  std::ranges::reverse(records_);
}

Result<Figures::Found> Figures::suite(std::string_view track, std::string_view name) const {
  const std::string wanted = plain_name(name);
  std::set<std::string> there;
  std::string withheld;
  for (const Record& record : records_) {
    for (const TrackRecord& t : record.tracks) {
      if (t.name != track) continue;
      for (const SuiteRecord& s : t.suites) {
        if (!s.absent.empty() || !iequals(s.provider, provider_)) continue;
        there.insert(s.name);
        // "Falcon-512" is timed as "Falcon-512 (round 3)".
        if (plain_name(s.name) != wanted && plain_name(s.name) != wanted + "round3") continue;
        const auto& why = record.withheld ? record.withheld : s.withheld;
        if (!why || allow_withheld_) return Found{&record, &s};
        withheld = why->reason;
      }
    }
  }
  if (!withheld.empty()) {
    return fail(
        "{} of track {} is withheld: {}; measure again with 'pqcost run {}', or allow it "
        "with --allow-withheld",
        name, track, withheld, track);
  }
  return fail("no record has {} by {} in track {} ({}): measure it with 'pqcost run {}'", name,
              provider_, track, listed(there), track);
}

Result<Figure> Figures::exchange_server(std::string_view group) const {
  const auto found = suite("tls", group);
  if (!found) return std::unexpected(found.error());
  const SuiteRecord& s = *found->suite;
  if (!s.server) return fail("{} of track tls has no server's share: measure it again", group);
  return figure_of(*found->record, s, "tls", "server.mean_us", s.server->mean_us);
}

Result<Figure> Figures::exchange(std::string_view group) const {
  const auto found = suite("tls", group);
  if (!found) return std::unexpected(found.error());
  const SuiteRecord& s = *found->suite;
  if (!s.composed) return fail("{} of track tls has no composed total: measure it again", group);
  return figure_of(*found->record, s, "tls", "composed.mean_us", s.composed->mean_us);
}

Result<Figure> Figures::signature(std::string_view key, std::string_view phase) const {
  const auto found = suite("signatures", suite_of_key(key));
  if (!found) return std::unexpected(found.error());
  const PhaseRecord* p = find_phase(*found->suite, phase);
  if (p == nullptr) {
    return fail("{} of track signatures has no phase {}: measure it with 'pqcost run signatures'",
                key, phase);
  }
  return figure_of(*found->record, *found->suite, "signatures", p->name + ".mean_us",
                   p->figures.mean_us);
}

Result<Figure> Figures::encrypt_byte() const {
  const auto found = suite("bulk", "AES-256-GCM");
  if (!found) return std::unexpected(found.error());
  const PhaseRecord* p = find_phase(*found->suite, "Encrypt");
  const auto size = found->suite->sizes.find("plaintext");
  if (p == nullptr || size == found->suite->sizes.end() || size->second == 0) {
    return fail(
        "AES-256-GCM of track bulk has no phase Encrypt with a plaintext size: measure it "
        "with 'pqcost run bulk'");
  }
  return figure_of(*found->record, *found->suite, "bulk",
                   std::format("Encrypt.mean_us / {}", size->second),
                   p->figures.mean_us / static_cast<double>(size->second));
}

Result<Figures::Flight> Figures::flight(std::string_view chain, std::string_view transport,
                                        std::string_view group, bool client_certificate) const {
  const std::string wanted =
      plain_name(chain) + (client_certificate ? plain_name(", client certificate") : "");
  std::set<std::string> there;
  for (const Record& record : records_) {
    for (const ChainRecord& c : record.chains) {
      if (c.client_certificate == client_certificate) there.insert(in_quotes(c.name));
      if (plain_name(c.name) != wanted) continue;
      for (const FlightRecord& f : record.flights) {
        if (f.chain != c.name || f.transport != transport ||
            plain_name(f.group) != plain_name(group)) {
          continue;
        }
        return Flight{&c, &f,
                      std::format("flights of {} over {} with {} in {}", f.chain, f.transport,
                                  f.group, run_of(record))};
      }
    }
  }
  return fail(
      "no record has a first flight of chain {}{} over {} with {} ({}): measure it with "
      "'pqcost run chains'",
      in_quotes(chain), client_certificate ? " with client certificates" : "", transport, group,
      listed(there));
}

Result<Figures::Token> Figures::token(std::string_view name) const {
  std::set<std::string> there;
  for (const Record& record : records_) {
    for (const TokenRecord& t : record.tokens) {
      there.insert(in_quotes(t.algorithm));
      if (plain_name(t.algorithm) == plain_name(name)) {
        return Token{&t, std::format("tokens.{} in {}", t.algorithm, run_of(record))};
      }
    }
  }
  return fail("no record has a token signed with {} ({}): measure it with 'pqcost run tokens'",
              in_quotes(name), listed(there));
}

}  // namespace pqedge::measure
