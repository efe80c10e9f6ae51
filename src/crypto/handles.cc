#include "crypto/handles.h"

#include <openssl/err.h>

namespace pqedge::crypto {

std::string take_openssl_error() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  std::string text = reason != nullptr ? reason : "unknown error";
  ERR_clear_error();
  return text;
}

}  // namespace pqedge::crypto
