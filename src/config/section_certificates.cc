// [[certificate]] from files, and [signing].
#include "config/section_readers.h"

namespace pqedge::config {

void read_certificate(Table& t, crypto::CertificateSettings& s) {
  t.path("directory", s.directory);
  const bool all = t.has("directory");
  if (!all) {
    t.require("chain", "name a PEM file: the certificate, then its intermediates");
    t.require("key", "name a PEM file with the private key");
  }
  t.path("chain", s.chain_file);
  t.path("key", s.key_file);
  t.path("sct_file", s.sct_file);
  t.read("default", s.is_default);
  for (const char* key : {"chain", "key", "sct_file", "default"}) {
    if (all && t.has(key)) {
      t.problem(t.key_path(key), "cannot be given beside directory",
                "give that certificate a [[certificate]] of its own");
    }
  }
}

void read_signing(Table& t, crypto::SigningSettings& s) {
  t.count("threads", s.threads);
  t.count("queue", s.queue);
  t.count("share", s.share);
  t.duration("deadline", s.deadline);
  for (const char* key : {"queue", "share", "deadline"}) {
    if (t.has(key) && s.threads == 0) {
      t.problem(t.key_path(key), "has no effect with threads = 0");
    }
  }
}

}  // namespace pqedge::config
