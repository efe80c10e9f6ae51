#include "measure/record/algorithm_facts.h"

#include <algorithm>
#include <iterator>

namespace pqedge::measure {
namespace {

constexpr std::string_view kKem = "kem";
constexpr std::string_view kSignature = "signature";
constexpr std::string_view kAgree = "key-agree";
constexpr std::string_view kAe = "ae";

// Categories: FIPS 203 table 2, FIPS 204 table 1, FIPS 205 table 2, Falcon's submission. Object
// identifiers: NIST's register of algorithms, RFC 8410, RFC 5758, RFC 4055, RFC 8103.
constexpr AlgorithmFacts kFacts[] = {
    {"ML-KEM-512", kKem, "512", "", "2.16.840.1.101.3.4.4.1", {}, 1},
    {"ML-KEM-768", kKem, "768", "", "2.16.840.1.101.3.4.4.2", {}, 3},
    {"ML-KEM-1024", kKem, "1024", "", "2.16.840.1.101.3.4.4.3", {}, 5},
    {"sntrup761", kKem, "761", "", "", {}, {}},
    {"X25519", kAgree, "", "Curve25519", "1.3.101.110", 128, 0},
    {"P-256", kAgree, "256", "secp256r1", "1.2.840.10045.3.1.7", 128, 0},
    {"P-384", kAgree, "384", "secp384r1", "1.3.132.0.34", 192, 0},
    {"MODP-2048", kAgree, "2048", "", "", 112, 0},
    {"MODP-3072", kAgree, "3072", "", "", 128, 0},
    {"ffdhe2048", kAgree, "2048", "", "", 112, 0},
    {"ffdhe3072", kAgree, "3072", "", "", 128, 0},
    {"ML-DSA-44", kSignature, "44", "", "2.16.840.1.101.3.4.3.17", {}, 2},
    {"ML-DSA-65", kSignature, "65", "", "2.16.840.1.101.3.4.3.18", {}, 3},
    {"ML-DSA-87", kSignature, "87", "", "2.16.840.1.101.3.4.3.19", {}, 5},
    {"SLH-DSA-SHA2-128s", kSignature, "SHA2-128s", "", "2.16.840.1.101.3.4.3.20", {}, 1},
    {"SLH-DSA-SHA2-128f", kSignature, "SHA2-128f", "", "2.16.840.1.101.3.4.3.21", {}, 1},
    {"SLH-DSA-SHA2-192s", kSignature, "SHA2-192s", "", "2.16.840.1.101.3.4.3.22", {}, 3},
    {"SLH-DSA-SHA2-192f", kSignature, "SHA2-192f", "", "2.16.840.1.101.3.4.3.23", {}, 3},
    {"SLH-DSA-SHA2-256s", kSignature, "SHA2-256s", "", "2.16.840.1.101.3.4.3.24", {}, 5},
    {"SLH-DSA-SHA2-256f", kSignature, "SHA2-256f", "", "2.16.840.1.101.3.4.3.25", {}, 5},
    {"SLH-DSA-SHAKE-128s", kSignature, "SHAKE-128s", "", "2.16.840.1.101.3.4.3.26", {}, 1},
    {"SLH-DSA-SHAKE-128f", kSignature, "SHAKE-128f", "", "2.16.840.1.101.3.4.3.27", {}, 1},
    {"SLH-DSA-SHAKE-192s", kSignature, "SHAKE-192s", "", "2.16.840.1.101.3.4.3.28", {}, 3},
    {"SLH-DSA-SHAKE-192f", kSignature, "SHAKE-192f", "", "2.16.840.1.101.3.4.3.29", {}, 3},
    {"SLH-DSA-SHAKE-256s", kSignature, "SHAKE-256s", "", "2.16.840.1.101.3.4.3.30", {}, 5},
    {"SLH-DSA-SHAKE-256f", kSignature, "SHAKE-256f", "", "2.16.840.1.101.3.4.3.31", {}, 5},
    {"Falcon-512 (round 3)", kSignature, "512", "", "", {}, 1},
    {"Falcon-1024 (round 3)", kSignature, "1024", "", "", {}, 5},
    {"Falcon-512 padded (round 3)", kSignature, "512", "", "", {}, 1},
    {"Falcon-1024 padded (round 3)", kSignature, "1024", "", "", {}, 5},
    {"LMS-SHA256-M32-H10", kSignature, "SHA256-M32-H10", "", "1.2.840.113549.1.9.16.3.17", {}, {}},
    {"XMSS-SHA2_10_256", kSignature, "SHA2_10_256", "", "", {}, {}},
    {"RSA-2048-PSS", kSignature, "2048", "", "1.2.840.113549.1.1.10", 112, 0},
    {"RSA-3072-PSS", kSignature, "3072", "", "1.2.840.113549.1.1.10", 128, 0},
    {"ECDSA-P256", kSignature, "256", "secp256r1", "1.2.840.10045.4.3.2", 128, 0},
    {"ECDSA-P384", kSignature, "384", "secp384r1", "1.2.840.10045.4.3.3", 192, 0},
    {"Ed25519", kSignature, "", "Ed25519", "1.3.101.112", 128, 0},
    {"AES-256-GCM", kAe, "256", "", "2.16.840.1.101.3.4.1.46", 256, 5},
    {"ChaCha20-Poly1305", kAe, "256", "", "1.2.840.113549.1.9.16.3.18", 256, {}},
};

}  // namespace

const AlgorithmFacts* algorithm_facts(std::string_view name) {
  const auto it = std::ranges::find(kFacts, name, &AlgorithmFacts::name);
  return it == std::end(kFacts) ? nullptr : it;
}

}  // namespace pqedge::measure
