// In place of ech.cc where OpenSSL has no Encrypted Client Hello: the setting is refused.
#include "crypto/ech.h"

#if !PQEDGE_HAS_ECH

#include <format>

namespace pqedge::crypto {

Problems validate(const EchSettings& settings) {
  if (settings.key_files.empty() && settings.public_name.empty()) return {};
  return {{.key = "tls.ech",
           .what = std::format("cannot be served: this pqedge is built with {}, and Encrypted "
                               "Client Hello came with OpenSSL 4.0",
                               OpenSSL_version(OPENSSL_VERSION_STRING)),
           .hint = "make openssl4 && make build OPENSSL_PREFIX=build/openssl4 builds one that "
                   "has it"}};
}

Problems check_files(const EchSettings&, bool) { return {}; }

Result<void> install_ech(SSL_CTX*, const EchSettings& settings, bool) {
  for (const Problem& problem : validate(settings)) return fail("{} {}", problem.key, problem.what);
  return {};
}

net::EchUse ech_use(SSL*) { return net::EchUse::none; }

std::vector<uint8_t> current_hello(SSL*) { return {}; }

}  // namespace pqedge::crypto

#endif
