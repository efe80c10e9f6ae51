#include "measure/provider/catalogue.h"

#include <algorithm>

namespace pqedge::measure {

namespace {

constexpr size_t kNone = 0;

using enum Kind;
using enum Family;

// Public key, private key, output, secret, SPKI. Sources: FIPS 203 table 3, FIPS 204 table 2, FIPS
// 205 table 2, RFC 7748, SEC 1 2.3.3 (uncompressed points), RFC 3526, RFC 7919, RFC 10024
// (hybrids), the submissions of HQC (April 2023), Falcon (round 3) and Streamlined NTRU Prime.
// SPKI: RFC 5480, 8410, 9881, 9909, 9935, 3279.
const CatalogueEntry kCatalogue[] = {
    {"ML-KEM-512", kem, lattice, {800, 1632, 768, 32, 822}},
    {"ML-KEM-768", kem, lattice, {1184, 2400, 1088, 32, 1206}},
    {"ML-KEM-1024", kem, lattice, {1568, 3168, 1568, 32, 1590}},
    {"sntrup761", kem, lattice, {1158, 1763, 1039, 32, {}}},
    {"HQC-128 (round 4)", kem, code_based, {2249, 2305, 4433, 64, {}}},
    {"HQC-192 (round 4)", kem, code_based, {4522, 4586, 8978, 64, {}}},
    {"HQC-256 (round 4)", kem, code_based, {7245, 7317, 14421, 64, {}}},
    {"X25519MLKEM768", kem, hybrid, {1216, 2432, 1120, 64, {}}},
    {"SecP256r1MLKEM768", kem, hybrid, {1249, 2432, 1153, 64, {}}},
    {"SecP384r1MLKEM1024", kem, hybrid, {1665, 3216, 1665, 80, {}}},

    {"X25519", key_agreement, classical, {32, 32, kNone, 32, 44}},
    {"X448", key_agreement, classical, {56, 56, kNone, 56, 68}},
    {"P-256", key_agreement, classical, {65, 32, kNone, 32, 91}},
    {"P-384", key_agreement, classical, {97, 48, kNone, 48, 120}},
    {"P-521", key_agreement, classical, {133, 66, kNone, 66, 158}},
    {"MODP-2048", key_agreement, classical, {256, 256, kNone, 256, {}}},
    {"MODP-3072", key_agreement, classical, {384, 384, kNone, 384, {}}},
    {"ffdhe2048", key_agreement, classical, {256, 256, kNone, 256, {}}},
    {"ffdhe3072", key_agreement, classical, {384, 384, kNone, 384, {}}},

    {"ML-DSA-44", signature, lattice, {1312, 2560, 2420, kNone, 1334}},
    {"ML-DSA-65", signature, lattice, {1952, 4032, 3309, kNone, 1974}},
    {"ML-DSA-87", signature, lattice, {2592, 4896, 4627, kNone, 2614}},
    {"Falcon-512 (round 3)", signature, lattice, {897, 1281, 752, kNone, {}}, true},
    {"Falcon-1024 (round 3)", signature, lattice, {1793, 2305, 1462, kNone, {}}, true},
    {"Falcon-512 padded (round 3)", signature, lattice, {897, 1281, 666, kNone, {}}},
    {"Falcon-1024 padded (round 3)", signature, lattice, {1793, 2305, 1280, kNone, {}}},
    {"SLH-DSA-SHA2-128s", signature, hash_based, {32, 64, 7856, kNone, 50}},
    {"SLH-DSA-SHA2-128f", signature, hash_based, {32, 64, 17088, kNone, 50}},
    {"SLH-DSA-SHA2-192s", signature, hash_based, {48, 96, 16224, kNone, 66}},
    {"SLH-DSA-SHA2-192f", signature, hash_based, {48, 96, 35664, kNone, 66}},
    {"SLH-DSA-SHA2-256s", signature, hash_based, {64, 128, 29792, kNone, 82}},
    {"SLH-DSA-SHA2-256f", signature, hash_based, {64, 128, 49856, kNone, 82}},
    {"SLH-DSA-SHAKE-128s", signature, hash_based, {32, 64, 7856, kNone, 50}},
    {"SLH-DSA-SHAKE-128f", signature, hash_based, {32, 64, 17088, kNone, 50}},
    {"SLH-DSA-SHAKE-192s", signature, hash_based, {48, 96, 16224, kNone, 66}},
    {"SLH-DSA-SHAKE-192f", signature, hash_based, {48, 96, 35664, kNone, 66}},
    {"SLH-DSA-SHAKE-256s", signature, hash_based, {64, 128, 29792, kNone, 82}},
    {"SLH-DSA-SHAKE-256f", signature, hash_based, {64, 128, 49856, kNone, 82}},
    // Public exponent 65537; the public key is RSAPublicKey of RFC 8017 A.1.1.
    {"RSA-2048-PSS", signature, classical, {270, kNone, 256, kNone, 294}},
    {"RSA-3072-PSS", signature, classical, {398, kNone, 384, kNone, 422}},
    {"RSA-4096-PSS", signature, classical, {526, kNone, 512, kNone, 550}},
    {"ECDSA-P256", signature, classical, {65, 32, 72, kNone, 91}, true},
    {"ECDSA-P384", signature, classical, {97, 48, 104, kNone, 120}, true},
    {"Ed25519", signature, classical, {32, 32, 64, kNone, 44}},
    // One level of HSS over LM-OTS with w = 4 (RFC 8554 6): 60 and 2,512 bytes.
    {"LMS-SHA256-M32-H10", signature, stateful_hash, {60, kNone, 2512, kNone, {}}},
    {"XMSS-SHA2_10_256", signature, stateful_hash, {68, kNone, 2500, kNone, {}}},

    {"AES-128-GCM", aead, symmetric, {kNone, 16, 16, kNone, {}}},
    {"AES-256-GCM", aead, symmetric, {kNone, 32, 16, kNone, {}}},
    {"ChaCha20-Poly1305", aead, symmetric, {kNone, 32, 16, kNone, {}}},
};

}  // namespace

std::span<const CatalogueEntry> catalogue() { return kCatalogue; }

const CatalogueEntry* find_algorithm(std::string_view name) {
  const auto* found = std::ranges::find(kCatalogue, name, &CatalogueEntry::name);
  return found == std::end(kCatalogue) ? nullptr : found;
}

Algorithm algorithm_of(std::string_view name) {
  const auto& entry = *find_algorithm(name);
  return {std::string(entry.name), entry.kind, entry.family};
}

Sizes sizes_of(std::string_view name) { return find_algorithm(name)->sizes; }

std::string_view family_name(Family family) {
  switch (family) {
    case classical: return "classical";
    case lattice: return "lattice";
    case hybrid: return "hybrid";
    case hash_based: return "hash-based";
    case stateful_hash: return "stateful hash-based";
    case code_based: return "code-based";
    case symmetric: return "symmetric";
  }
  return "unknown";
}

}  // namespace pqedge::measure
