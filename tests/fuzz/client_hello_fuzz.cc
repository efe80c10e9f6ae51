// The ClientHello reader: whatever comes, all views stay within the message, and walking them ends.
#include <cstdlib>
#include <string>

#include "crypto/client_hello.h"
#include "crypto/server_name.h"
#include "crypto/signature_schemes.h"

namespace {

using pqedge::Bytes;

void require(bool condition) {
  if (!condition) std::abort();
}

// Reads every byte of `part`, which must lie in `whole`.
uint64_t touch(Bytes whole, Bytes part) {
  if (part.empty()) return 0;
  require(part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
  uint64_t sum = 0;
  for (const uint8_t b : part) sum += b;
  return sum;
}

uint64_t walk(Bytes message, const pqedge::crypto::ClientHello& hello) {
  uint64_t sum = touch(message, hello.random) + touch(message, hello.session_id) +
                 touch(message, hello.compression_methods) +
                 touch(message, hello.ec_point_formats) +
                 touch(message, pqedge::as_bytes(hello.server_name));
  size_t extensions = 0;
  for (const auto& e : hello.extensions) {
    sum += e.type + touch(message, e.body);
    ++extensions;
  }
  require(extensions == hello.extension_count && extensions <= pqedge::crypto::kMaxExtensions);
  for (const auto& protocol : hello.alpn) {
    require(!protocol.name.empty());
    sum += touch(message, pqedge::as_bytes(protocol.name));
  }
  for (const auto& share : hello.key_shares) {
    require(!share.key.empty());
    sum += share.group + touch(message, share.key);
  }
  for (const auto* list : {&hello.cipher_suites, &hello.supported_versions, &hello.supported_groups,
                           &hello.signature_algorithms, &hello.signature_algorithms_cert}) {
    for (size_t i = 0; i < list->size(); ++i) sum += (*list)[i];
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes message(data, size);
  const auto hello = pqedge::crypto::parse_client_hello(message);
  if (!hello) {
    require(!pqedge::crypto::name(hello.error()).empty());
    return 0;
  }
  volatile uint64_t sum = walk(message, *hello);
  sum = sum + pqedge::crypto::client_signatures(*hello).leaf;
  (void)sum;
  std::string lower;
  const auto verdict = pqedge::crypto::judge_server_name(hello->server_name, lower);
  require(lower.empty() == (verdict != pqedge::crypto::NameVerdict::host));
  require(lower.size() <= 253);
  for (const char c : lower) {
    require((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_');
  }
  return 0;
}
