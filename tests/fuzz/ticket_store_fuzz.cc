// A store of ticket keys: any bytes, under a key that is always the same. What opens is sealed
// again and opens as the same.
#include <cstdint>
#include <cstdlib>

#include "crypto/ticket_store.h"

using namespace pqedge;

namespace {

EVP_PKEY* private_key() {
  static const crypto::KemKey key = [] {
    crypto::KemSeed seed{};
    for (size_t i = 0; i < seed.size(); ++i) seed[i] = static_cast<uint8_t>(i);
    return crypto::kem_from_seed(seed);
  }();
  return key.get();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (private_key() == nullptr) std::abort();
  const auto opened = crypto::open_ticket_store({data, size}, private_key());
  if (!opened) {
    if (opened.error().message.empty()) std::abort();
    return 0;
  }
  if (opened->keys.empty() || opened->keys.size() > crypto::kMaxStoredKeys) std::abort();
  if (opened->recipients.empty() || opened->recipients.size() > crypto::kMaxRecipients)
    std::abort();
  const auto sealed = crypto::seal_ticket_store(*opened);
  if (!sealed) return 0;  // a recipient's public key is none (FIPS 203 7.2)
  const auto again = crypto::open_ticket_store(*sealed, private_key());
  if (!again || again->keys.size() != opened->keys.size()) std::abort();
  return 0;
}
