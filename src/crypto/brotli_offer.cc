// Brotli certificates with an OpenSSL that was built without brotli (Debian's).
//
// Such a libssl has all of RFC 8879, but leaves out an algorithm for which libcrypto has no filter:
// it asks BIO_f_brotli(), a public function, which says null. Nothing more than that answer is
// needed to send a certificate that was compressed elsewhere (SSL_set1_compressed_cert). So the
// program has that function itself, which the dynamic linker takes before libcrypto's, and answers
// with a filter that is never used: on one thread, and only for as long as a server context is set
// up or a ClientHello is read. At every other time the answer is libcrypto's, null: a client
// context offers what the library can unpack, and no more.
//
// Where the linker does otherwise, library_sends(brotli) is false and the setting is refused.
#include <openssl/bio.h>
#include <openssl/comp.h>

#include "crypto/certificate_compression.h"

namespace pqedge::crypto {
namespace {

thread_local bool brotli_known = false;

}  // namespace

BrotliKnown::BrotliKnown() { set(true); }
BrotliKnown::~BrotliKnown() { set(false); }
void BrotliKnown::set(bool known) { brotli_known = known; }

}  // namespace pqedge::crypto

#ifdef OPENSSL_NO_BROTLI
extern "C" __attribute__((visibility("default"))) const BIO_METHOD* BIO_f_brotli(void) {
  return pqedge::crypto::brotli_known ? BIO_s_null() : nullptr;
}
#endif
