// Groups and the rest of a policy: lists, presets, and what is said of wrong ones.
#include "crypto/groups.h"

#include <gtest/gtest.h>

#include "crypto/handles.h"
#include "crypto/policy.h"

namespace pqedge::crypto {
namespace {

std::string list(const std::vector<std::string>& setting) {
  const auto groups = resolve_groups(setting);
  return groups ? openssl_group_list(*groups) : "error: " + groups.error().message;
}

TEST(Groups, PresetsInTuples) {
  EXPECT_EQ(list({"compatible"}),
            "X25519MLKEM768:SecP256r1MLKEM768:SecP384r1MLKEM1024/X25519:P-256:P-384");
  EXPECT_EQ(list({"hybrid-required"}), "X25519MLKEM768:SecP256r1MLKEM768:SecP384r1MLKEM1024");
  EXPECT_EQ(list({"cnsa2"}), "MLKEM1024:SecP384r1MLKEM1024");
}

TEST(Groups, ListsInTheirOrder) {
  EXPECT_EQ(list({"MLKEM768", "x25519mlkem768", "secp256r1", "X25519"}),
            "MLKEM768:X25519MLKEM768/P-256:X25519");
  EXPECT_EQ(list({"X25519"}), "X25519");
}

TEST(Groups, WrongListsAreExplained) {
  EXPECT_EQ(list({"X25519MLKEM786"}),
            "error: \"X25519MLKEM786\" is not a group or preset that is known here; did you mean "
            "\"X25519MLKEM768\"?");
  EXPECT_EQ(list({"compatable"}),
            "error: \"compatable\" is not a group or preset that is known here; did you mean "
            "\"compatible\"?");
  EXPECT_EQ(list({"kyber"}), "error: \"kyber\" is not a group or preset that is known here");
  EXPECT_EQ(list({"P-256", "secp256r1"}), "error: \"P-256\" is listed twice");
  EXPECT_EQ(list({"compatible", "X448"}),
            "error: the preset \"compatible\" stands alone, not in a list with groups");
  EXPECT_EQ(
      list({"X25519", "X25519MLKEM768"}),
      "error: \"X25519MLKEM768\" is listed after the classical group \"X25519\"; post-quantum "
      "groups are always chosen first: list them first");
  EXPECT_TRUE(list({}).starts_with("error: the list of groups is empty"));
}

// Names and code points as the library has them: it is the judge of the table.
TEST(Groups, TheLibraryKnowsThem) {
  for (const Group& group : known_groups()) {
    if (group.name == "curveSM2MLKEM768") continue;  // OpenSSL 4.0
    EXPECT_TRUE(is_available(group)) << group.name;
    const SslCtxPtr context(SSL_CTX_new(TLS_client_method()));
    const SslPtr ssl(SSL_new(context.get()));
    const char* library_name = SSL_group_to_name(ssl.get(), TLSEXT_nid_unknown | group.id);
    ASSERT_NE(library_name, nullptr) << group.name;
    EXPECT_EQ(find_group(std::string_view(library_name)), &group) << library_name;
  }
}

TEST(Groups, PostQuantum) {
  EXPECT_TRUE(is_post_quantum("X25519MLKEM768"));
  EXPECT_TRUE(is_post_quantum("mlkem1024"));
  EXPECT_FALSE(is_post_quantum("X25519"));
  EXPECT_FALSE(is_post_quantum("P-384"));
  EXPECT_FALSE(is_post_quantum(""));
  EXPECT_FALSE(is_post_quantum("none"));
}

// ---- the rest of a policy ----------------------------------------------------------------------

std::vector<std::string> problems(const TlsSettings& settings) {
  std::vector<std::string> texts;
  for (const Problem& p : validate(settings)) texts.push_back(to_text(p));
  return texts;
}
using Texts = std::vector<std::string>;

TEST(Policy, TheDefaultIsRight) { EXPECT_EQ(problems({}), Texts{}); }

TEST(Policy, GoodListsPass) {
  EXPECT_EQ(problems({.min_version = "1.2",
                      .ciphers = {"TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"},
                      .signature_algorithms = {"mldsa65", "ecdsa_secp256r1_sha256"}}),
            Texts{});
}

TEST(Policy, WrongSettingsAreNamed) {
  EXPECT_EQ(problems({.min_version = "TLSv1.3"}),
            Texts{"tls.min_version: \"TLSv1.3\" is not a version that can be served; \"1.3\", or "
                  "\"1.2\" for old clients"});
  EXPECT_EQ(problems({.ciphers = {"TLS_AES_256_GCM_SHA348"}}),
            Texts{"tls.ciphers[0]: \"TLS_AES_256_GCM_SHA348\" is not a TLS 1.3 cipher suite; did "
                  "you mean \"TLS_AES_256_GCM_SHA384\"?"});
  EXPECT_EQ(problems({.signature_algorithms = {"mldsa65", "mldsa66", "mldsa65"}}),
            (Texts{"tls.signature_algorithms[1]: \"mldsa66\" is not a signature algorithm of TLS "
                   "1.3; did you mean \"mldsa65\"?",
                   "tls.signature_algorithms[2]: \"mldsa65\" is listed twice"}));
  EXPECT_EQ(
      problems({.min_version = "1.2", .groups = {"hybrid-required"}}),
      Texts{"tls.groups: no group in it can be used by TLS 1.2, which tls.min_version allows; "
            "set tls.min_version to \"1.3\", or add X25519 or P-256"});
  EXPECT_EQ(problems({.ticket_lifetime = 8 * 86400 * kSecond}).size(), 1u);
  EXPECT_EQ(problems({.handshake_timeout = 0}).size(), 1u);
}

TEST(Policy, Cnsa2RestrictsSignatures) {
  const std::string schemes = policy_lists({.groups = {"cnsa2"}}).signature_algorithms;
  EXPECT_TRUE(schemes.starts_with("mldsa87:ecdsa_secp384r1_sha384:")) << schemes;
  for (const char* weak : {"sha256", "ed25519", "mldsa44", "mldsa65", "secp256r1"}) {
    EXPECT_EQ(schemes.find(weak), std::string::npos) << weak;
  }
  EXPECT_EQ(
      policy_lists({.groups = {"cnsa2"}, .signature_algorithms = {"mldsa87"}}).signature_algorithms,
      "mldsa87");
  EXPECT_EQ(policy_lists({.groups = {"hybrid-required"}}).signature_algorithms, "");
}

TEST(Policy, Cnsa2ImpliesItsCipher) {
  EXPECT_EQ(policy_lists({.groups = {"cnsa2"}}).ciphers, "TLS_AES_256_GCM_SHA384");
  EXPECT_EQ(policy_lists({.groups = {"cnsa2"}, .ciphers = {"TLS_AES_128_GCM_SHA256"}}).ciphers,
            "TLS_AES_128_GCM_SHA256");
  EXPECT_EQ(policy_lists({}).ciphers, "");
}

}  // namespace
}  // namespace pqedge::crypto
