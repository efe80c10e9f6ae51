#include "measure/track/catalog.h"

#include <algorithm>

#include "base/text.h"
#include "measure/provider/primitive.h"
#include "measure/wire/ike_message.h"
#include "measure/wire/tls_share.h"

namespace pqedge::measure {

namespace {

// Code points: IANA's TLS Supported Groups; the hybrids are RFC 10024's.
constexpr KexSuite kTls[] = {
    {.name = "X25519", .classical = "X25519", .code = kTlsX25519, .baseline = true},
    {.name = "MLKEM768",
     .kem = "ML-KEM-768",
     .code = kTlsMlKem768,
     .note = "post-quantum alone: no classical part to fall back on (draft-ietf-tls-mlkem)"},
    {.name = "SecP256r1MLKEM768",
     .classical = "P-256",
     .kem = "ML-KEM-768",
     .code = kTlsSecP256r1MlKem768},
    {.name = "X25519MLKEM768",
     .classical = "X25519",
     .kem = "ML-KEM-768",
     .code = kTlsX25519MlKem768},
    {.name = "SecP384r1MLKEM1024",
     .classical = "P-384",
     .kem = "ML-KEM-1024",
     .code = kTlsSecP384r1MlKem1024},
    {.name = "X25519MLKEM768 + X25519 share",
     .classical = "X25519",
     .kem = "ML-KEM-768",
     .code = kTlsX25519MlKem768,
     .second_share = true,
     .note = "the client also sends an X25519 share with a key of its own; the server takes the "
             "hybrid"},
};

constexpr KexSuite kSsh[] = {
    {.name = "curve25519-sha256", .classical = "X25519", .baseline = true},
    {.name = "mlkem768x25519-sha256", .classical = "X25519", .kem = "ML-KEM-768"},
    {.name = "mlkem768nistp256-sha256", .classical = "P-256", .kem = "ML-KEM-768"},
    {.name = "sntrup761x25519-sha512", .classical = "X25519", .kem = "sntrup761"},
};

// Additional exchanges go by IKE_INTERMEDIATE (RFC 9370), where IKE itself can cut them.
constexpr KexSuite kIpsec[] = {
    {.name = "curve25519", .classical = "X25519", .code = kIkeCurve25519, .baseline = true},
    {.name = "ecp256", .classical = "P-256", .code = kIkeEcp256},
    {.name = "mlkem768",
     .kem = "ML-KEM-768",
     .code = kIkeMlKem768,
     .note = "discouraged alone over UDP: IKE_SA_INIT cannot be cut by IKE, so IP cuts it where "
             "the path is narrow (draft-ietf-ipsecme-ikev2-mlkem)"},
    {.name = "curve25519+mlkem768",
     .classical = "X25519",
     .kem = "ML-KEM-768",
     .code = kIkeCurve25519,
     .additional = kIkeMlKem768,
     .note = "ML-KEM-768 (36) as additional key exchange, by IKE_INTERMEDIATE (RFC 9370)"},
    {.name = "ecp256+mlkem768",
     .classical = "P-256",
     .kem = "ML-KEM-768",
     .code = kIkeEcp256,
     .additional = kIkeMlKem768,
     .note = "ML-KEM-768 (36) as additional key exchange, by IKE_INTERMEDIATE (RFC 9370)"},
    {.name = "MODP-2048",
     .classical = "MODP-2048",
     .code = kIkeModp2048,
     .note = "group 14 of RFC 3526, as the library names it"},
    {.name = "MODP-3072",
     .classical = "MODP-3072",
     .code = kIkeModp3072,
     .note = "group 15 of RFC 3526, as the library names it"},
};

constexpr std::string_view kRound3 = "the third round's Falcon: FIPS 206 will change it";
constexpr std::string_view kStateful =
    "stateful: each key signs a limited number of times, and must never sign twice from one state "
    "(NIST SP 800-208)";

constexpr PrimitiveSuite kSignatures[] = {
    {"ECDSA-P256", true, ""},
    {"ECDSA-P384", false, ""},
    {"Ed25519", false, ""},
    {"RSA-2048-PSS", false, ""},
    {"RSA-3072-PSS", false, ""},
    {"ML-DSA-44", false, ""},
    {"ML-DSA-65", false, ""},
    {"ML-DSA-87", false, ""},
    {"Falcon-512 (round 3)", false, kRound3},
    {"Falcon-1024 (round 3)", false, kRound3},
    {"Falcon-512 padded (round 3)", false, kRound3},
    {"Falcon-1024 padded (round 3)", false, kRound3},
    {"SLH-DSA-SHA2-128s", false, ""},
    {"SLH-DSA-SHA2-128f", false, ""},
    {"SLH-DSA-SHA2-192s", false, ""},
    {"SLH-DSA-SHA2-192f", false, ""},
    {"SLH-DSA-SHA2-256s", false, ""},
    {"SLH-DSA-SHA2-256f", false, ""},
    {"SLH-DSA-SHAKE-128s", false, ""},
    {"SLH-DSA-SHAKE-128f", false, ""},
    {"SLH-DSA-SHAKE-192s", false, ""},
    {"SLH-DSA-SHAKE-192f", false, ""},
    {"SLH-DSA-SHAKE-256s", false, ""},
    {"SLH-DSA-SHAKE-256f", false, ""},
    {"LMS-SHA256-M32-H10", false, kStateful},
    {"XMSS-SHA2_10_256", false, kStateful},
};

constexpr PrimitiveSuite kBulk[] = {
    {"AES-256-GCM", true, ""},
    {"ChaCha20-Poly1305", false, ""},
};

}  // namespace

std::string_view track_name(Track track) {
  switch (track) {
    case Track::tls: return "tls";
    case Track::ssh: return "ssh";
    case Track::ipsec: return "ipsec";
    case Track::signatures: return "signatures";
    case Track::bulk: return "bulk";
  }
  return "";
}

std::string_view track_title(Track track) {
  switch (track) {
    case Track::tls: return "TLS 1.3 key exchange";
    case Track::ssh: return "SSH key exchange";
    case Track::ipsec: return "IKEv2 key exchange";
    case Track::signatures: return "Signatures";
    case Track::bulk: return "Records of 16,384 bytes";
  }
  return "";
}

std::optional<Track> track_of(std::string_view name) {
  for (const Track track : kTracks) {
    if (track_name(track) == name) return track;
  }
  return std::nullopt;
}

std::string_view side_name(Side side) {
  switch (side) {
    case Side::client: return "client";
    case Side::server: return "server";
    case Side::both: return "both";
  }
  return "";
}

std::span<const KexSuite> kex_suites(Track track) {
  switch (track) {
    case Track::tls: return kTls;
    case Track::ssh: return kSsh;
    case Track::ipsec: return kIpsec;
    default: return {};
  }
}

std::vector<PhasePlan> phases_of(const KexSuite& suite) {
  std::vector<PhasePlan> phases;
  const auto add = [&](std::span<const PhasePlan> more) {
    phases.insert(phases.end(), more.begin(), more.end());
  };
  if (!suite.kem.empty()) add(kKemPhases);
  if (!suite.classical.empty()) add(kClassicalPhases);
  if (suite.second_share) add(kSecondSharePhases);
  return phases;
}

std::string_view family_of(const KexSuite& suite) {
  if (suite.kem.empty()) return family_name(Family::classical);
  return family_name(suite.classical.empty() ? Family::lattice : Family::hybrid);
}

std::span<const PrimitiveSuite> signature_suites() { return kSignatures; }
std::span<const PrimitiveSuite> bulk_suites() { return kBulk; }

bool selected(std::span<const std::string> selection, std::string_view suite, bool baseline) {
  return baseline || selection.empty() ||
         std::ranges::any_of(selection, [&](const auto& s) { return iequals(s, suite); });
}

bool uses(Track track, std::span<const std::string> selection, const Algorithm& algorithm) {
  const auto named = [&](std::span<const PrimitiveSuite> suites) {
    return std::ranges::any_of(suites, [&](const PrimitiveSuite& s) {
      return s.name == algorithm.name && selected(selection, s.name, s.baseline);
    });
  };
  if (track == Track::bulk) return named(kBulk);
  if (track == Track::signatures) return named(kSignatures);
  return std::ranges::any_of(kex_suites(track), [&](const KexSuite& s) {
    return (s.kem == algorithm.name || s.classical == algorithm.name) &&
           selected(selection, s.name, s.baseline);
  });
}

std::vector<std::string_view> suite_names(Track track) {
  std::vector<std::string_view> names;
  for (const KexSuite& suite : kex_suites(track)) names.push_back(suite.name);
  if (track == Track::signatures) {
    for (const PrimitiveSuite& suite : kSignatures) names.push_back(suite.name);
  }
  if (track == Track::bulk) {
    for (const PrimitiveSuite& suite : kBulk) names.push_back(suite.name);
  }
  return names;
}

}  // namespace pqedge::measure
