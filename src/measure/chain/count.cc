#include "measure/chain/count.h"

#include <format>

namespace pqedge::measure {
namespace {

// A landmark-relative Merkle Tree certificate (draft-davidben-tls-merkle-tree-certs, "Size
// Estimates" and MTCProof): two 64-bit numbers, an inclusion proof of 23 SHA-256 hashes for a
// subtree of about 4,400,000 certificates, no signature; two lengths of two bytes.
constexpr size_t kMerkleHashes = 23;
constexpr size_t kMerkleProof = 8 + 8 + 2 + kMerkleHashes * 32 + 2;
constexpr size_t kAlgorithmIdentifier =
    12;  // a SEQUENCE of one object identifier, as id-alg-mtcProof
constexpr size_t kBitStringAndSequence = 4 + 1 + 4;  // lengths of three bytes, unused bits

size_t spki_bytes(const X509* certificate) {
  return static_cast<size_t>(i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), nullptr));
}

size_t signature_bytes(const X509* certificate) {
  const ASN1_BIT_STRING* signature = nullptr;
  X509_get0_signature(&signature, nullptr, certificate);
  return static_cast<size_t>(ASN1_STRING_length(signature));
}

// An entry of the Certificate message: length, DER, and the length of no extensions.
size_t entry_bytes(size_t der) { return 3 + der + 2; }

}  // namespace

CertificateParts sent_parts(const ChainSpec& spec, const MintedChain& chain) {
  CertificateParts parts;
  parts.certificates = {to_der(chain.leaf.get()), to_der(chain.intermediate.get())};
  if (spec.sct_delivery == SctDelivery::tls_extension) parts.sct_list = chain.sct_list;
  parts.staple = chain.staple;
  return parts;
}

Result<size_t> ChainCounter::baseline(const ChainSpec& spec) {
  ChainSpec classical = spec;
  classical.root = classical.intermediate = classical.leaf = "ECDSA-P256";
  classical.sct_algorithm.clear();
  classical.staple = false;
  classical.client_certificate = false;
  classical.compression.clear();
  const std::string name = chain_name(classical);
  if (const auto known = baselines_.find(name); known != baselines_.end()) return known->second;
  const auto chain = minter_.mint(classical);
  if (!chain) return std::unexpected(chain.error());
  return baselines_[name] =
             to_der(chain->leaf.get()).size() + to_der(chain->intermediate.get()).size();
}

// The handshake's Certificate message if a Merkle Tree certificate took the chain's place: its
// TBSCertificate has no SCTs (the tree is the log), and no intermediate is sent.
Result<size_t> ChainCounter::merkle_message(const ChainSpec& spec, const MintedChain& chain) {
  const X509* leaf = chain.leaf.get();
  crypto::X509Ptr bare;
  if (spec.sct_delivery == SctDelivery::embedded) {
    ChainSpec without = spec;
    without.sct_delivery = SctDelivery::none;
    without.staple = without.client_certificate = false;
    auto minted = minter_.mint(without);
    if (!minted) return std::unexpected(minted.error());
    bare = std::move(minted->leaf);
    leaf = bare.get();
  }
  unsigned char* der = nullptr;
  const int tbs = i2d_re_X509_tbs(const_cast<X509*>(leaf), &der);
  OPENSSL_free(der);
  if (tbs <= 0) return fail("a certificate cannot be encoded: {}", crypto::take_openssl_error());
  const size_t certificate =
      static_cast<size_t>(tbs) + kAlgorithmIdentifier + kBitStringAndSequence + kMerkleProof;
  return kHandshakeHeader + 1 + 3 + entry_bytes(certificate);
}

Result<ChainRecord> ChainCounter::count(const ChainSpec& spec, const MintedChain& chain) {
  ChainRecord record;
  record.name = chain_name(spec);
  record.leaf_algorithm = spec.leaf;
  record.intermediate_algorithm = spec.intermediate;
  record.root_algorithm = spec.root;
  record.scts = spec.sct_delivery == SctDelivery::none ? 0 : spec.scts;
  record.staple = spec.staple;
  record.client_certificate = spec.client_certificate;
  record.profile = describe_profile(spec.profile);

  const CertificateParts parts = sent_parts(spec, chain);
  record.leaf_der = parts.certificates[0].size();
  record.intermediate_der = parts.certificates[1].size();
  const std::vector<uint8_t> message = encode_certificate_message(parts);
  record.certificate_message = message.size();
  for (const CertificateCompression algorithm : kCertificateCompressions) {
    const auto packed = compress_certificate_message(message, algorithm);
    if (!packed) return std::unexpected(packed.error());
    record.compressed[std::string(compression_name(algorithm))] = packed->size();
  }
  if (!spec.compression.empty()) {
    record.compression = spec.compression;
    record.compressed_message = record.compressed.at(spec.compression);
  }

  record.parts["leaf public key (SPKI)"] = spki_bytes(chain.leaf.get());
  record.parts["leaf's signature by the intermediate"] = signature_bytes(chain.leaf.get());
  record.parts["intermediate public key (SPKI)"] = spki_bytes(chain.intermediate.get());
  record.parts["intermediate's signature by the root"] = signature_bytes(chain.intermediate.get());
  record.parts["root (not sent)"] = to_der(chain.root.get()).size();
  if (!chain.sct_list.empty()) record.parts["SCT list"] = chain.sct_list.size();
  if (!chain.staple.empty()) record.parts["OCSP response"] = chain.staple.size();
  if (chain.client != nullptr) record.parts["client's leaf"] = to_der(chain.client.get()).size();

  const auto base = baseline(spec);
  if (!base) return std::unexpected(base.error());
  record.multiple_of_p256 =
      static_cast<double>(record.leaf_der + record.intermediate_der) / static_cast<double>(*base);
  record.savings["intermediate left out"] = entry_bytes(record.intermediate_der);
  const auto merkle = merkle_message(spec, chain);
  if (!merkle) return std::unexpected(merkle.error());
  if (*merkle < record.certificate_message) {
    record.savings["Merkle Tree certificate in place of the chain (arithmetic)"] =
        record.certificate_message - *merkle;
  }
  return record;
}

}  // namespace pqedge::measure
