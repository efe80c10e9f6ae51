// What a DNS server may answer to an update: any bytes are refused with a reason, unless they are
// an answer; without the secret there is none that passes as signed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "jobs/acme/dns_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pqedge::acme::dns;
  static const Key key{"key.example", "a secret that no input knows of"};
  static const Message request =
      encode_update({"example.com", "_acme-challenge.example.com", "value", true, 0x1234, 1000},
                    key)
          .value();
  const pqedge::Bytes answer(data, size);
  if (check_answer(answer, request, 0x1234, key, 1000)) std::abort();
  const auto plain = check_answer(answer, request, 0x1234, {}, 1000);
  if (plain && size < 12) std::abort();
  if (!plain && plain.error().message.empty()) std::abort();
  return 0;
}
