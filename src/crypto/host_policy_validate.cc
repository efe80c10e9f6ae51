// Whether the policies of hosts make sense, each and together.
#include <map>

#include "crypto/policy.h"
#include "crypto/server_name.h"

namespace pqedge::crypto {
namespace {

// Where a word begins so: not in the name of a file.
void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
    if (at > 0 && text[at - 1] != ' ') {
      at += from.size() - to.size();  // goes on after what was found
      continue;
    }
    text.replace(at, from.size(), to);
  }
}

void check_host(const std::string& host, const std::string& key, Problems& out) {
  const bool wildcard = host.starts_with("*.");
  std::string lower;
  switch (judge_server_name(wildcard ? std::string_view(host).substr(2) : host, lower)) {
    case NameVerdict::host:
      if (host.ends_with('.')) {
        out.push_back({key, in_quotes(host) + " ends with a dot", "write it without"});
      }
      return;
    case NameVerdict::ip_literal:
      out.push_back({key, in_quotes(host) + " is an address, which no client names in its hello",
                     "write the host names, or set the policy in [tls]"});
      return;
    case NameVerdict::malformed:
      out.push_back({key, in_quotes(host) + " is not a host",
                     "write \"a.test\", or \"*.a.test\" for all names below it"});
      return;
  }
}

}  // namespace

Problems moved_to(Problems problems, size_t policy) {
  const std::string prefix = entry_key("tls_policy", policy) + ".";
  for (Problem& p : problems) {
    for (std::string* text : {&p.key, &p.what, &p.hint, &p.related}) {
      replace_all(*text, "tls.", prefix);
    }
  }
  return problems;
}

Problems validate(const std::vector<HostPolicySettings>& policies) {
  Problems out;
  std::map<std::string, std::string> hosts;  // -> the key that named it first
  std::map<std::string_view, size_t> names;
  for (size_t i = 0; i < policies.size(); ++i) {
    const HostPolicySettings& policy = policies[i];
    check_label(out, entry_key("tls_policy", i, "name"), policy.name);
    const auto [name, new_name] = names.try_emplace(policy.name, i);
    if (!new_name) {
      out.push_back({entry_key("tls_policy", i, "name"),
                     in_quotes(policy.name) + " is the name of another policy", "",
                     entry_key("tls_policy", name->second)});
    }
    const std::string list = entry_key("tls_policy", i, "hosts");
    if (policy.hosts.empty()) {
      out.push_back({list, "is missing: no host would have the policy",
                     "write hosts = [\"a.test\"]; what holds for all stands in [tls]"});
    }
    for (size_t h = 0; h < policy.hosts.size(); ++h) {
      const std::string key = entry_key(list, h);
      check_host(policy.hosts[h], key, out);
      const auto [first, added] = hosts.try_emplace(to_lower(policy.hosts[h]), key);
      if (!added) {
        out.push_back(
            {key, in_quotes(policy.hosts[h]) + " has a policy already", "", first->second});
      }
    }
    const Problems own = moved_to(validate_policy(policy.tls), i);
    out.insert(out.end(), own.begin(), own.end());
  }
  return out;
}

}  // namespace pqedge::crypto
