// Schemes that are known by NIST's response format only: the SHA-256 of the first record of
// PQCsignKAT or PQCkemKAT, as PQClean publishes it. Published values; each names its source.
#include "measure/provider/vectors.h"

namespace pqedge::measure {

const std::string_view kNistKatVectors = R"(
[ML-KEM-512] nist_kat | PQClean crypto_kem/ml-kem-512/META.yml, nistkat-sha256
response_sha256 = c70041a761e01cd6426fa60e9fd6a4412c2be817386c8d0f3334898082512782
[ML-KEM-768] nist_kat | PQClean crypto_kem/ml-kem-768/META.yml, nistkat-sha256
response_sha256 = 5352539586b6c3df58be6158a6250aeff402bd73060b0a3de68850ac074c17c3
[ML-KEM-1024] nist_kat | PQClean crypto_kem/ml-kem-1024/META.yml, nistkat-sha256
response_sha256 = f580d851e5fb27e6876e5e203fa18be4cdbfd49e05d48fec3d3992c8f43a13e6
[HQC-128 (round 4)] nist_kat | PQClean crypto_kem/hqc-128/META.yml, nistkat-sha256
response_sha256 = 74290ad7a789c01aa92cd7f72f1b5ba5fa30a58294cdf2df52b9c76c3aafba3b
[HQC-192 (round 4)] nist_kat | PQClean crypto_kem/hqc-192/META.yml, nistkat-sha256
response_sha256 = 771c5e421c4eea951850d5883e2329c40783a3c0f363d8dc8e1be7c4026d1ab7
[HQC-256 (round 4)] nist_kat | PQClean crypto_kem/hqc-256/META.yml, nistkat-sha256
response_sha256 = e89c520e1ac615ecf6923f211569177c536a89bf94bebf85bb263528282092c4
[ML-DSA-65] nist_kat | PQClean crypto_sign/ml-dsa-65/META.yml, nistkat-sha256
response_sha256 = 7cb96242eac9907a55b5c84c202f0ebd552419c50b2e986dc2e28f07ecebf072
[Falcon-1024 (round 3)] nist_kat | PQClean crypto_sign/falcon-1024/META.yml, nistkat-sha256
response_sha256 = e699d88eb214fef30597385f40814baeb84ac505d5f05f5c257b0726fc4530b8
[Falcon-1024 padded (round 3)] nist_kat | PQClean crypto_sign/falcon-padded-1024/META.yml, nistkat-sha256
response_sha256 = ddcc5683293388249e6fe85e992ea19d0986d34e060a44f82bc3db524a8c8390
[ML-DSA-44] nist_kat | PQClean crypto_sign/ml-dsa-44/META.yml, nistkat-sha256
response_sha256 = 9a196e7fb32fbc93757dc2d8dc1924460eab66303c0c08aeb8b798fb8d8f8cf3
[ML-DSA-87] nist_kat | PQClean crypto_sign/ml-dsa-87/META.yml, nistkat-sha256
response_sha256 = 4537905d2aabcf302fab2f242baed293459ecda7c230e6a67063b02c7e2840ed
[Falcon-512 (round 3)] nist_kat | PQClean crypto_sign/falcon-512/META.yml, nistkat-sha256
response_sha256 = da27fe8a462de7307ddf1f9b00072a457d9c5b14e838c148fbe2662094b9a2ca
[Falcon-512 padded (round 3)] nist_kat | PQClean crypto_sign/falcon-padded-512/META.yml, nistkat-sha256
response_sha256 = 91842d41138e7cfaf6e2e8f12a03c3b3411302255121e4d07d02f91a003c0395
)";

}  // namespace pqedge::measure
