// What is told of a client's certificate: whatever stands in it, the texts can stand in a field.
#include <cstdlib>
#include <string_view>

#include "crypto/client_authority.h"
#include "http/names.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check_text(std::string_view text) {
  require(text.empty() || pqedge::http::is_field_value(text));
  for (const char c : text) require(c >= 0x20 && c < 0x7f);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const uint8_t* at = data;
  const pqedge::crypto::X509Ptr certificate(d2i_X509(nullptr, &at, static_cast<long>(size)));
  if (certificate == nullptr) {
    ERR_clear_error();
    return 0;
  }
  const auto seen = pqedge::crypto::describe_certificate(certificate.get());
  for (const std::string* text : {&seen->subject, &seen->issuer, &seen->serial, &seen->fingerprint,
                                  &seen->sans, &seen->der}) {
    check_text(*text);
  }
  require(seen->sans.empty() == seen->names.empty());
  require(ERR_peek_error() == 0);
  return 0;
}
