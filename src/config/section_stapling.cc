// [tls]: what goes with certificates.
#include "config/section_readers.h"

namespace pqedge::config {

void read_stapling(Table& t, crypto::TlsSettings& s) {
  t.read("ocsp_stapling", s.ocsp.stapling);
  t.path("ocsp_cache_dir", s.ocsp.cache_dir);
  t.read("ocsp_local_responders", s.ocsp.local_responders);
  t.duration("ocsp_timeout", s.ocsp.timeout);
  t.duration("ocsp_retry", s.ocsp.retry);
  t.path("ct_log_list", s.transparency.log_list);
  t.strings("ct_submit", s.transparency.submit);
  t.path("ct_cache_dir", s.transparency.cache_dir);
  t.strings("certificate_compression", s.certificate_compression);
  if (s.ocsp.stapling) return;
  for (const char* key : {"ocsp_cache_dir", "ocsp_timeout"}) {
    if (t.has(key)) t.problem(t.key_path(key), "has no effect with ocsp_stapling = false");
  }
}

}  // namespace pqedge::config
