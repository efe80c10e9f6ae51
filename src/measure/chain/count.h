// A minted chain as a line of the record.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "measure/chain/certificate_message.h"
#include "measure/chain/mint.h"
#include "measure/record/record.h"

namespace pqedge::measure {

// Counts chains against the same chain of ECDSA P-256, which it mints when first asked for.
class ChainCounter {
 public:
  explicit ChainCounter(Minter& minter) : minter_(minter) {}
  Result<ChainRecord> count(const ChainSpec& spec, const MintedChain& chain);

 private:
  Result<size_t> baseline(const ChainSpec& spec);
  Result<size_t> merkle_message(const ChainSpec& spec, const MintedChain& chain);

  Minter& minter_;
  std::map<std::string, size_t> baselines_;
};

CertificateParts sent_parts(const ChainSpec& spec, const MintedChain& chain);

}  // namespace pqedge::measure
