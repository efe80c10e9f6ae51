#include "crypto/host_policy.h"

#include <openssl/evp.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/text.h"
#include "crypto/callbacks.h"
#include "crypto/groups.h"

namespace pqedge::crypto {
namespace {

// All that a client is held to, in one text.
std::string canonical_text(const HostPolicy& policy) {
  const TlsSettings& s = policy.settings;
  const ClientAuthority* clients = policy.authority.get();
  return std::format(
      "version {}\ngroups {}\nciphers {}\nsignatures {}\nclassical {} {}\nclients {}\n",
      policy.lists.min_version, policy.lists.groups, policy.lists.ciphers,
      policy.lists.signature_algorithms, static_cast<int>(s.downgraded_clients),
      static_cast<int>(s.classical_clients),
      clients == nullptr ? "off" : to_hex(as_bytes(clients->digest())));
}

bool set_fingerprint(HostPolicy& policy) {
  const std::string text = canonical_text(policy);
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    return false;
  }
  policy.fingerprint = std::max<uint64_t>(1, load_be64(digest.data()));
  constexpr std::string_view kContext = "pqedge-2";
  std::ranges::copy(kContext, policy.session_context.begin());
  std::copy_n(digest.begin() + 8, policy.session_context.size() - kContext.size(),
              policy.session_context.begin() + kContext.size());
  return true;
}

Result<std::shared_ptr<const HostPolicy>> make_policy(std::string name,
                                                      const TlsSettings& settings) {
  auto policy = std::make_shared<HostPolicy>();
  policy->name = std::move(name);
  policy->settings = settings;
  policy->lists = policy_lists(settings);
  const auto groups = resolve_groups(settings.groups);
  if (!groups) return std::unexpected(groups.error());
  for (const Group* group : *groups) {
    if (group->post_quantum) policy->post_quantum_groups.push_back(group->id);
  }
  policy->signature_schemes = scheme_set(signature_algorithms_of(settings));
  auto authority = ClientAuthority::load(settings.client_auth);
  if (!authority) return std::unexpected(authority.error());
  policy->authority = std::move(*authority);
  if (!set_fingerprint(*policy)) return fail("SHA-256 is not to be had: {}", take_openssl_error());
  return policy;
}

bool allows_group(const HostPolicy& policy, std::string_view group) {
  const auto groups = resolve_groups(policy.settings.groups);
  return groups && std::ranges::any_of(*groups, [&](const Group* g) { return g->name == group; });
}

bool allows_negotiated(const HostPolicy& policy, const net::ConnectionFacts& facts) {
  const bool version = facts.tls_version == "TLSv1.3" || policy.lists.min_version < TLS1_3_VERSION;
  const bool refused =
      !facts.post_quantum &&
      classical_action(policy.settings, facts.offered_post_quantum) == ClassicalAction::refuse;
  return version && !refused && allows_group(policy, facts.group);
}

int least_version(const HostPolicy& policy, bool quic) {
  return quic ? TLS1_3_VERSION : policy.lists.min_version;  // RFC 9001 4.2
}

const char* suites(const PolicyLists& lists) {
  return lists.ciphers.empty() ? OSSL_default_ciphersuites() : lists.ciphers.c_str();
}

// A client that showed a certificate is asked for it again with each handshake, and its chain,
// dates and revocation are looked at anew: under such a policy nothing is resumed.
bool set_tickets(SSL* ssl, const HostPolicy& policy) {
  if (policy.tickets()) {
    SSL_clear_options(ssl, SSL_OP_NO_TICKET);
  } else {
    SSL_set_options(ssl, SSL_OP_NO_TICKET);
  }
  return SSL_set_num_tickets(ssl, policy.tickets() ? kTickets : 0) == 1;
}

}  // namespace

Result<std::shared_ptr<const PolicySet>> PolicySet::load(
    const TlsSettings& base, const std::vector<HostPolicySettings>& by_host) {
  std::shared_ptr<PolicySet> set(new PolicySet);
  auto first = make_policy("default", base);
  if (!first) return fail("tls: {}", first.error().message);
  set->policies_.push_back(std::move(*first));
  for (const HostPolicySettings& settings : by_host) {
    auto made = make_policy(settings.name, settings.tls);
    if (!made) return fail("tls_policy '{}': {}", settings.name, made.error().message);
    for (const std::string& host : settings.hosts) {
      std::string key = to_lower(host.starts_with("*.") ? std::string_view(host).substr(1) : host);
      if (key.starts_with('.')) {
        set->longest_wildcard_ = std::max(set->longest_wildcard_, key.size());
      }
      if (!set->by_host_.emplace(std::move(key), made->get()).second) {
        return fail("tls_policy '{}': {} has a policy already", settings.name, in_quotes(host));
      }
    }
    set->policies_.push_back(std::move(*made));
  }
  return set;
}

const HostPolicy& PolicySet::find(std::string_view host) const {
  if (by_host_.empty() || host.empty() || host.front() == '.') return base();
  if (const auto it = by_host_.find(host); it != by_host_.end()) return *it->second;
  // The star stands for at least one byte; a suffix longer than every wildcard's cannot match.
  size_t dot = host.size() > longest_wildcard_ ? host.size() - longest_wildcard_ : 1;
  while (longest_wildcard_ > 0 && (dot = host.find('.', dot)) != host.npos) {
    if (const auto it = by_host_.find(host.substr(dot)); it != by_host_.end()) return *it->second;
    ++dot;
  }
  return base();
}

bool PolicySet::knows(uint64_t fingerprint) const {
  return std::ranges::any_of(
      policies_, [&](const auto& policy) { return policy->fingerprint == fingerprint; });
}

bool PolicySet::serves(const net::ConnectionFacts& facts, std::string_view host) const {
  const HostPolicy& wanted = find(host);
  // However the handshake came to its end: without the certificate there is no request.
  const bool required =
      wanted.authority != nullptr && wanted.authority->mode() == ClientAuth::required;
  if (required && (facts.client == nullptr || !facts.client->verified)) return false;
  if (facts.policy == wanted.fingerprint) return true;
  if (knows(facts.policy) || wanted.authority != nullptr || facts.client_asked) return false;
  return find(facts.sni).fingerprint == wanted.fingerprint && allows_negotiated(wanted, facts);
}

bool apply_policy(SSL* ssl, const HostPolicy& policy, bool quic) {
  clear_errors();
  const PolicyLists& lists = policy.lists;
  const bool ok =
      SSL_set_min_proto_version(ssl, least_version(policy, quic)) == 1 &&
      SSL_set1_groups_list(ssl, lists.groups.c_str()) == 1 &&
      SSL_set_ciphersuites(ssl, suites(lists)) == 1 &&
      (lists.signature_algorithms.empty() ||
       SSL_set1_sigalgs_list(ssl, lists.signature_algorithms.c_str()) == 1) &&
      SSL_set_session_id_context(ssl, policy.session_context.data(),
                                 static_cast<unsigned>(policy.session_context.size())) == 1 &&
      set_tickets(ssl, policy);
  if (!ok) return false;
  if (policy.authority != nullptr) return policy.authority->apply(ssl);
  SSL_set_verify(ssl, SSL_VERIFY_NONE, nullptr);
  return true;
}

bool apply_policy(SSL_CTX* context, const HostPolicy& policy, bool quic) {
  const PolicyLists& lists = policy.lists;
  const bool ok =
      SSL_CTX_set_min_proto_version(context, least_version(policy, quic)) == 1 &&
      SSL_CTX_set1_groups_list(context, lists.groups.c_str()) == 1 &&
      SSL_CTX_set_ciphersuites(context, suites(lists)) == 1 &&
      (lists.signature_algorithms.empty() ||
       SSL_CTX_set1_sigalgs_list(context, lists.signature_algorithms.c_str()) == 1) &&
      SSL_CTX_set_session_id_context(context, policy.session_context.data(),
                                     static_cast<unsigned>(policy.session_context.size())) == 1 &&
      SSL_CTX_set_num_tickets(context, policy.tickets() ? kTickets : 0) == 1;
  if (!ok) return false;
  if (!policy.tickets()) SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  return policy.authority == nullptr || policy.authority->apply(context);
}

const HostPolicy* host_policy_of(const SSL* ssl) {
  const SessionState* state = session_of(ssl);
  if (state != nullptr && state->policy != nullptr) return state->policy;
  const Policy* policy = policy_of(ssl);
  return policy == nullptr ? nullptr : &policy->policies->base();
}

}  // namespace pqedge::crypto
