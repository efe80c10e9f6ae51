// TLS toward the servers of a [[pool]].
#include "config/section_readers.h"

namespace pqedge::config {

void read_backend_tls(Table& t, upstream::PoolSettings& s) {
  crypto::BackendTlsSettings& tls = s.tls_settings;
  t.read("tls", s.tls);
  t.read("tls_verify", tls.verify);
  t.path("tls_ca", tls.ca_file);
  t.read("tls_server_name", tls.server_name);
  t.read("tls_verify_name", tls.verify_name);
  t.path("tls_certificate", tls.chain_file);
  t.path("tls_key", tls.key_file);
  t.choice<std::string>("tls_min_version", tls.min_version, {{"1.3", "1.3"}, {"1.2", "1.2"}});
  t.strings("tls_groups", tls.groups);
  t.strings("tls_key_shares", tls.key_shares);
  t.read("tls_resumption", tls.session_resumption);
  t.duration("tls_handshake_timeout", tls.handshake_timeout);
  if (s.tls) return;
  for (const char* key : {"tls_verify", "tls_ca", "tls_server_name", "tls_verify_name",
                          "tls_certificate", "tls_key", "tls_min_version", "tls_groups",
                          "tls_key_shares", "tls_resumption", "tls_handshake_timeout"}) {
    if (t.has(key)) t.problem(t.key_path(key), "has no effect without tls = true");
  }
}

}  // namespace pqedge::config
