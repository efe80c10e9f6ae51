#include "crypto/policy.h"

#include <algorithm>

#include "crypto/client_authority.h"
#include "crypto/ech.h"
#include "crypto/groups.h"
#include "crypto/handles.h"
#include "crypto/providers.h"
#include "crypto/stapling_validate.h"

namespace pqedge::crypto {
namespace {

constexpr std::string_view kSuites[] = {
    "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256",
    "TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_8_SHA256",
};

// SignatureScheme names of RFC 8446 4.2.3 and of the post-quantum drafts, as OpenSSL spells them.
constexpr std::string_view kSchemes[] = {
    "mldsa44",
    "mldsa65",
    "mldsa87",
    "ecdsa_secp256r1_sha256",
    "ecdsa_secp384r1_sha384",
    "ecdsa_secp521r1_sha512",
    "ed25519",
    "ed448",
    "rsa_pss_rsae_sha256",
    "rsa_pss_rsae_sha384",
    "rsa_pss_rsae_sha512",
    "rsa_pss_pss_sha256",
    "rsa_pss_pss_sha384",
    "rsa_pss_pss_sha512",
    "rsa_pkcs1_sha256",
    "rsa_pkcs1_sha384",
    "rsa_pkcs1_sha512",
};

constexpr Nanos kMinTicketLifetime = 60 * kSecond;
constexpr Nanos kMaxTicketLifetime = 7 * 86400 * kSecond;  // RFC 8446 4.6.1
constexpr Nanos kMinHandshakeTimeout = kSecond;
constexpr Nanos kMaxHandshakeTimeout = 300 * kSecond;

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += ':';
    text += part;
  }
  return text;
}

template <typename Names>
void check_names(Problems& problems, std::string_view key, const std::vector<std::string>& given,
                 const Names& known, std::string_view kind) {
  for (size_t i = 0; i < given.size(); ++i) {
    if (!std::ranges::contains(known, std::string_view(given[i]))) {
      problems.push_back({.key = entry_key(key, i),
                          .what = std::format("{} is not a {}", in_quotes(given[i]), kind),
                          .hint = did_you_mean(given[i], known)});
    } else if (std::find(given.begin(), given.begin() + static_cast<ptrdiff_t>(i), given[i]) !=
               given.begin() + static_cast<ptrdiff_t>(i)) {
      problems.push_back({.key = entry_key(key, i),
                          .what = std::format("{} is listed twice", in_quotes(given[i]))});
    }
  }
}

// Known here, but perhaps not to the library that is loaded.
bool library_takes(int (*set)(SSL_CTX*, const char*), const std::string& list) {
  const SslCtxPtr probe(SSL_CTX_new(TLS_server_method()));
  const bool taken = probe != nullptr && set(probe.get(), list.c_str()) == 1;
  take_openssl_error();
  return taken;
}

int set_schemes(SSL_CTX* context, const char* list) {
  return static_cast<int>(SSL_CTX_set1_sigalgs_list(context, list));
}

void check_groups(Problems& problems, const TlsSettings& settings) {
  const auto groups = resolve_groups(settings.groups);
  if (!groups) {
    problems.push_back({.key = "tls.groups", .what = groups.error().message});
    return;
  }
  for (const Group* group : *groups) {
    if (is_available(*group)) continue;
    if (fips_in_use()) {
      problems.push_back(
          {.key = "tls.groups",
           .what = std::format("\"{}\" is not in the FIPS provider, which crypto.fips "
                               "= true asks for",
                               group->name),
           .hint = "it has P-256, P-384, P-521, ML-KEM and its hybrids",
           .related = "crypto.fips"});
      continue;
    }
    problems.push_back(
        {.key = "tls.groups",
         .what = std::format("\"{}\" is not in the TLS library in use ({})", group->name,
                             OpenSSL_version(OPENSSL_VERSION_STRING)),
         .hint = group->name == "curveSM2MLKEM768" ? "it came with OpenSSL 4.0" : ""});
  }
  const auto fits_tls12 = [](const Group* g) { return g->tls12; };
  if (settings.min_version == "1.2" && std::ranges::none_of(*groups, fits_tls12)) {
    problems.push_back(
        {.key = "tls.groups",
         .what = "no group in it can be used by TLS 1.2, which tls.min_version allows",
         .hint = "set tls.min_version to \"1.3\", or add X25519 or P-256",
         .related = "tls.min_version"});
  }
}

void check_fips_ciphers(Problems& problems, const std::vector<std::string>& ciphers) {
  for (size_t i = 0; i < ciphers.size(); ++i) {
    if (!ciphers[i].contains("CHACHA20")) continue;
    problems.push_back({.key = entry_key("tls.ciphers", i),
                        .what = std::format("{} is not in the FIPS provider, which crypto.fips = "
                                            "true asks for",
                                            in_quotes(ciphers[i])),
                        .hint = "take it out",
                        .related = "crypto.fips"});
  }
}

bool is_cnsa2(const TlsSettings& settings) {
  return settings.groups.size() == 1 && settings.groups[0] == "cnsa2";
}

// A setting for classical handshakes where there can be none, or where there can be no other.
void check_classical(Problems& problems, const TlsSettings& settings) {
  const auto groups = resolve_groups(settings.groups);
  if (!groups) return;  // said already
  const bool some_classical =
      std::ranges::any_of(*groups, [](const Group* g) { return !g->post_quantum; });
  const bool some_post_quantum = std::ranges::any_of(*groups, &Group::post_quantum);
  const auto check = [&](const char* key, ClassicalAction action) {
    if (action == ClassicalAction::allow || action == ClassicalAction::log) return;
    if (!some_classical) {
      problems.push_back({.key = key,
                          .what = "has no effect: tls.groups has no classical group",
                          .hint = "leave it out; such clients fail in the handshake already",
                          .related = "tls.groups"});
    } else if (!some_post_quantum) {
      problems.push_back({.key = key,
                          .what = "turns every client away: tls.groups has no group with ML-KEM",
                          .hint = "put X25519MLKEM768 first in tls.groups",
                          .related = "tls.groups"});
    }
  };
  check("tls.downgraded_clients", settings.downgraded_clients);
  check("tls.classical_clients", settings.classical_clients);
}

}  // namespace

Problems validate_policy(const TlsSettings& settings) {
  Problems problems;
  if (settings.min_version != "1.3" && settings.min_version != "1.2") {
    problems.push_back({.key = "tls.min_version",
                        .what = std::format("{} is not a version that can be served",
                                            in_quotes(settings.min_version)),
                        .hint = "\"1.3\", or \"1.2\" for old clients"});
  }
  check_groups(problems, settings);
  check_classical(problems, settings);
  check_names(problems, "tls.ciphers", settings.ciphers, kSuites, "TLS 1.3 cipher suite");
  if (fips_in_use()) check_fips_ciphers(problems, settings.ciphers);
  check_names(problems, "tls.signature_algorithms", settings.signature_algorithms, kSchemes,
              "signature algorithm of TLS 1.3");
  if (problems.empty() && !settings.ciphers.empty() &&
      !library_takes(SSL_CTX_set_ciphersuites, join(settings.ciphers))) {
    problems.push_back({.key = "tls.ciphers", .what = "the TLS library in use refuses the list"});
  }
  if (problems.empty() && !settings.signature_algorithms.empty() &&
      !library_takes(set_schemes, join(settings.signature_algorithms))) {
    problems.push_back(
        {.key = "tls.signature_algorithms", .what = "the TLS library in use refuses the list"});
  }
  const Problems more = validate_client_auth(settings.client_auth);
  problems.insert(problems.end(), more.begin(), more.end());
  return problems;
}

Problems validate(const TlsSettings& settings) {
  Problems problems = validate_policy(settings);
  const Problems ech = validate(settings.ech);
  problems.insert(problems.end(), ech.begin(), ech.end());
  check_duration(problems, "tls.ticket_lifetime", settings.ticket_lifetime, kMinTicketLifetime,
                 kMaxTicketLifetime);
  check_duration(problems, "tls.handshake_timeout", settings.handshake_timeout,
                 kMinHandshakeTimeout, kMaxHandshakeTimeout);
  validate_stapling(settings, problems);
  check_tickets(problems, settings);
  return problems;
}

// CNSA 2.0 knows one signature for TLS, ML-DSA-87; those of CNSA 1.0 (RFC 9151 4, 5) are allowed
// beside it until certificates have moved.
std::vector<std::string> signature_algorithms_of(const TlsSettings& settings) {
  if (!settings.signature_algorithms.empty() || !is_cnsa2(settings)) {
    return settings.signature_algorithms;
  }
  return {"mldsa87", "ecdsa_secp384r1_sha384", "rsa_pss_rsae_sha384", "rsa_pss_pss_sha384",
          "rsa_pkcs1_sha384"};
}

PolicyLists policy_lists(const TlsSettings& settings) {
  PolicyLists lists;
  lists.min_version = settings.min_version == "1.2" ? TLS1_2_VERSION : TLS1_3_VERSION;
  if (const auto groups = resolve_groups(settings.groups))
    lists.groups = openssl_group_list(*groups);
  lists.ciphers = join(settings.ciphers);
  if (lists.ciphers.empty() && is_cnsa2(settings)) lists.ciphers = "TLS_AES_256_GCM_SHA384";
  lists.signature_algorithms = join(signature_algorithms_of(settings));
  return lists;
}

ClassicalAction classical_action(const TlsSettings& settings, bool offered_post_quantum) {
  return offered_post_quantum ? settings.downgraded_clients : settings.classical_clients;
}

std::string to_text(const Problem& problem) {
  std::string text = problem.key + ": " + problem.what;
  if (!problem.hint.empty()) text += "; " + problem.hint;
  return text;
}

}  // namespace pqedge::crypto
