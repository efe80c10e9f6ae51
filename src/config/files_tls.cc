// The files of TLS policies and of TLS toward backends.
#include "config/files_tls.h"

#include "crypto/backend_tls.h"
#include "crypto/client_authority.h"
#include "crypto/policy.h"

namespace pqedge::config {
namespace {

void append(Problems from, Problems& to) {
  for (Problem& p : from) to.push_back(std::move(p));
}

}  // namespace

Problems check_tls_files(const edge::Settings& settings) {
  Problems out = crypto::check_client_auth_files(settings.tls.client_auth);
  for (size_t i = 0; i < settings.tls_policies.size(); ++i) {
    append(crypto::moved_to(
               crypto::check_client_auth_files(settings.tls_policies[i].tls.client_auth), i),
           out);
  }
  for (size_t i = 0; i < settings.pools.size(); ++i) {
    if (!settings.pools[i].tls) continue;
    Problems found = crypto::check_backend_tls_files(settings.pools[i].tls_settings);
    for (Problem& p : found) p.key = entry_key("pool", i, p.key);
    append(std::move(found), out);
  }
  return out;
}

}  // namespace pqedge::config
