#include "measure/chain/sct.h"

#include <openssl/rand.h>

namespace pqedge::measure {
namespace {

constexpr size_t kLogId = 32;
constexpr size_t kTimestamp = 8;

void append_be16(std::vector<uint8_t>& out, size_t value) {
  out.push_back(static_cast<uint8_t>(value >> 8));
  out.push_back(static_cast<uint8_t>(value));
}

bool append_random(std::vector<uint8_t>& out, size_t count) {
  const size_t at = out.size();
  out.resize(at + count);
  return RAND_bytes(out.data() + at, static_cast<int>(count)) == 1;
}

}  // namespace

Result<std::vector<uint8_t>> make_sct_list(unsigned count, const ChainAlgorithm& log_algorithm) {
  if (log_algorithm.scheme == 0) {
    return fail("a log cannot sign with {}: it has no code point", log_algorithm.name);
  }
  std::vector<uint8_t> scts;
  bool random = true;
  for (unsigned i = 0; i < count; ++i) {
    const size_t length = 1 + kLogId + kTimestamp + 2 + 2 + 2 + log_algorithm.signature;
    append_be16(scts, length);
    scts.push_back(0);  // v1
    random = random && append_random(scts, kLogId + kTimestamp);
    append_be16(scts, 0);  // no extensions
    append_be16(scts, log_algorithm.scheme);
    append_be16(scts, log_algorithm.signature);
    random = random && append_random(scts, log_algorithm.signature);
  }
  if (!random) return fail("no random bytes: {}", crypto::take_openssl_error());
  if (scts.size() > 0xffff) return fail("{} SCTs are more than a list holds", count);
  std::vector<uint8_t> list;
  append_be16(list, scts.size());
  list.insert(list.end(), scts.begin(), scts.end());
  return list;
}

}  // namespace pqedge::measure
