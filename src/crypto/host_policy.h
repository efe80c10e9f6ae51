// TLS policies by host name: what a handshake is held to, found by SNI, and what a request is held
// to, found by its authority.
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "crypto/client_authority.h"
#include "crypto/policy.h"
#include "crypto/settings.h"
#include "crypto/signature_schemes.h"
#include "net/facts.h"

namespace pqedge::crypto {

// Session tickets after a full handshake, where there are any. One: a client of HTTP/2 or 3 opens
// one connection and gets a new ticket with each resumption; a second would cost every full
// handshake another sealing and 250 bytes.
inline constexpr size_t kTickets = 1;

// One policy made ready. Immutable.
struct HostPolicy {
  std::string name;  // of [[tls_policy]]; "default"
  TlsSettings settings;
  PolicyLists lists;
  std::vector<uint16_t> post_quantum_groups;         // of the settings, as code points
  SchemeSet signature_schemes = ~SchemeSet{0};       // what handshakes may be signed with
  std::shared_ptr<const ClientAuthority> authority;  // null: clients are not asked

  // Of all that a client is held to, files' contents included, not of the name or the hosts: two
  // policies that ask for the same are the same, also over a reload. Never 0.
  uint64_t fingerprint = 0;
  // What tickets are bound to: sealed under one policy, they are honoured under no other.
  std::array<uint8_t, 24> session_context{};

  bool tickets() const { return settings.session_tickets && authority == nullptr; }
};

// All policies of a configuration. Immutable, shared by all workers.
class PolicySet {
 public:
  // Reads the files of authorities and revocation lists. Errors name the setting and the file.
  static Result<std::shared_ptr<const PolicySet>> load(
      const TlsSettings& base, const std::vector<HostPolicySettings>& by_host);

  // `host` in lower case without a trailing dot, or empty. An exact name, else the longest
  // wildcard, else the default policy.
  const HostPolicy& find(std::string_view host) const;
  const HostPolicy& base() const { return *policies_.front(); }
  const std::vector<std::shared_ptr<const HostPolicy>>& all() const { return policies_; }

  // Whether a request for `host` may be served on a TLS connection: it was held to the same policy.
  // One that was made under another configuration may go on where its host's policy is still the
  // same as that of the name it asked for, asks no client for a certificate, and allows what was
  // negotiated.
  bool serves(const net::ConnectionFacts& facts, std::string_view host) const;

 private:
  PolicySet() = default;
  bool knows(uint64_t fingerprint) const;

  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  std::vector<std::shared_ptr<const HostPolicy>> policies_;  // the default first
  // "a.test" of an exact host, ".a.test" of the wildcard "*.a.test".
  std::unordered_map<std::string, const HostPolicy*, TextHash, std::equal_to<>> by_host_;
  size_t longest_wildcard_ = 0;
};

// Puts the policy on an SSL in its ClientHello callback, whatever policy its context holds.
bool apply_policy(SSL* ssl, const HostPolicy& policy, bool quic);
// And on a context, as the policy of whoever has no other.
bool apply_policy(SSL_CTX* context, const HostPolicy& policy, bool quic);

// The policy that holds for `ssl`: that of its hello's host, or its context's. Null for a foreign
// SSL.
const HostPolicy* host_policy_of(const SSL* ssl);

}  // namespace pqedge::crypto
