// Root, intermediate and leaf, made in memory by OpenSSL (RFC 5280; RFC 9881 for ML-DSA, RFC 9909
// for SLH-DSA).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "crypto/handles.h"
#include "measure/chain/algorithm.h"
#include "measure/chain/chain.h"

namespace pqedge::measure {

struct MintedChain {
  crypto::X509Ptr root;
  crypto::X509Ptr intermediate;
  crypto::X509Ptr leaf;
  crypto::KeyPtr leaf_key;
  std::vector<uint8_t> sct_list;  // embedded or for the TLS extension, as the spec says; or empty
  std::vector<uint8_t> staple;    // a DER OCSPResponse, or empty
  crypto::X509Ptr client;         // the client's leaf, below the same intermediate; or null
  crypto::KeyPtr client_key;
};

// Keeps what authorities it has made: a chain costs a leaf's key and signature.
class Minter {
 public:
  Result<MintedChain> mint(const ChainSpec& spec);

 private:
  struct Authority {
    crypto::KeyPtr key;
    crypto::X509Ptr certificate;
    const ChainAlgorithm* algorithm = nullptr;
  };
  Result<const Authority*> root(const ChainSpec& spec);
  Result<const Authority*> intermediate(const ChainSpec& spec);

  std::map<std::string, Authority> authorities_;
};

// Names and extensions in words, for the record.
std::string describe_profile(ChainProfile profile);
// The name that leaves are made for.
const char* server_name_of(ChainProfile profile);

std::vector<uint8_t> to_der(const X509* certificate);

}  // namespace pqedge::measure
