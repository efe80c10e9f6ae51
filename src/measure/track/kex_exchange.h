// A whole key exchange, both sides in this process.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "measure/provider/primitive.h"
#include "measure/record/record.h"
#include "measure/track/catalog.h"
#include "measure/wire/exchange_keys.h"

namespace pqedge::measure {

// What a suite is made of, by one provider; null where it has no such part.
struct KexPrimitives {
  std::unique_ptr<Kem> kem;
  std::unique_ptr<KeyAgreement> agreement;
};
Result<KexPrimitives> kex_primitives(const KexSuite& suite, Provider& provider);

class KexExchange {
 public:
  static Result<std::shared_ptr<KexExchange>> make(const KexSuite& suite, Provider& provider);

  // From the client's keys to the client's secret.
  Result<void> run();
  // Not timed: the two sides of the run before must have come to the same secrets; and freeing keys
  // is not counted, as it is not in the phases.
  Result<void> check_and_clear();

  // Makes one exchange and says in the record what it sent.
  Result<void> describe(Track track, const KexSuite& suite, SuiteRecord& record);

 private:
  Result<void> client_hello();
  Result<void> server_answer();
  Result<void> client_finish();
  Result<WireFigures> wire(Track track, const KexSuite& suite) const;

  KexPrimitives with_;
  bool second_share_ = false;
  std::unique_ptr<KemKeyPair> kem_pair_;
  std::unique_ptr<KemPublicKey> kem_peer_;
  std::unique_ptr<AgreementKeyPair> client_, server_, second_;
  ExchangeKeys keys_;
  std::vector<uint8_t> second_public_;
  std::vector<uint8_t> kem_client_, kem_server_, agreed_client_, agreed_server_;
};

}  // namespace pqedge::measure
