// The libraries, each behind a function that makes its provider. Those that this build was made
// without, or that cannot be opened, give the reason instead.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "measure/provider/primitive.h"

namespace pqedge::measure {

std::unique_ptr<Provider> make_openssl();
Result<std::unique_ptr<Provider>> make_botan();
Result<std::unique_ptr<Provider>> make_wolfssl();
Result<std::unique_ptr<Provider>> make_libgcrypt();
Result<std::unique_ptr<Provider>> make_pqclean();
Result<std::unique_ptr<Provider>> make_libntruprime();
// Opened at run time. An empty path: the system's own liboqs.so.
Result<std::unique_ptr<Provider>> open_liboqs(const std::string& path);
// A libcrypto of AWS-LC. It shares symbol names with OpenSSL, so it is opened with its symbols to
// itself; there is no default path.
Result<std::unique_ptr<Provider>> open_awslc(const std::string& path);

}  // namespace pqedge::measure
