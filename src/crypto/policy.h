// Checks of a TLS policy, and its lists in OpenSSL's syntax.
#pragma once

#include <string>
#include <vector>

#include "base/problem.h"
#include "base/result.h"
#include "crypto/settings.h"

namespace pqedge::crypto {

// Everything but the certificates' files, which CertificateStore::load reads. Keys are "tls...".
Problems validate(const TlsSettings& settings);
Problems validate(const SigningSettings& settings);  // keys are "signing..."
// The part of it that a host can have of its own: versions, groups, suites, signatures, client
// certificates.
Problems validate_policy(const TlsSettings& settings);
// Policies by host, and their hosts together. Keys are "tls_policy[N]...".
Problems validate(const std::vector<HostPolicySettings>& policies);
// "tls.groups" -> "tls_policy[2].groups", in keys and texts.
Problems moved_to(Problems problems, size_t policy);

// Of validate(): resumption and 0-RTT.
void check_tickets(Problems& problems, const TlsSettings& settings);

// What OpenSSL is told. validate() found nothing wrong.
struct PolicyLists {
  int min_version = 0;               // TLS1_3_VERSION or TLS1_2_VERSION
  std::string groups;                // in tuples
  std::string ciphers;               // TLS 1.3 suites; empty: the library's defaults
  std::string signature_algorithms;  // empty: the library's defaults
};
PolicyLists policy_lists(const TlsSettings& settings);
// As configured, or what the preset "cnsa2" implies; empty: the library's defaults.
std::vector<std::string> signature_algorithms_of(const TlsSettings& settings);

// What the policy says of a client that ends on a classical group.
ClassicalAction classical_action(const TlsSettings& settings, bool offered_post_quantum);

// A problem on one line: key, what, hint.
std::string to_text(const Problem& problem);

}  // namespace pqedge::crypto
