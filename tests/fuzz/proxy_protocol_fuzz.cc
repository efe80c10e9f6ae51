// The PROXY protocol: any bytes, whole and in their first halves. What is read and written again is
// read as the same.
#include <cstdint>
#include <cstdlib>

#include "wire/proxy_protocol/header.h"

using pqedge::Bytes;
namespace pp = pqedge::proxy_protocol;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes bytes(data, size);
  const auto parsed = pp::parse(bytes);
  // More bytes never turn an error into a header.
  const auto half = pp::parse(bytes.first(size / 2));
  if (!half && parsed) std::abort();
  if (!parsed || !*parsed) return 0;
  const pp::Parsed& p = **parsed;
  if (p.size == 0 || p.size > size) std::abort();
  if (!pp::may_be_header(bytes)) std::abort();
  const std::string again = pp::write_version2(p.header);
  const auto second = pp::parse(pqedge::as_bytes(again));
  if (again.size() > pp::kMaxVersion2) return 0;
  if (!second || !*second || (*second)->size != again.size()) std::abort();
  if (!((*second)->header.source == p.header.source) && p.header.destination.is_ip()) std::abort();
  return 0;
}
