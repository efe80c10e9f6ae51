// Owners of OpenSSL's objects, and the text of its last error.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace pqedge::crypto {

template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* p) const {
    Free(p);
  }
};

inline void free_x509_stack(STACK_OF(X509) * stack) { sk_X509_pop_free(stack, X509_free); }

using BioPtr = std::unique_ptr<BIO, FreeWith<BIO_free>>;
using BioMethodPtr = std::unique_ptr<BIO_METHOD, FreeWith<BIO_meth_free>>;
using CipherPtr = std::unique_ptr<EVP_CIPHER, FreeWith<EVP_CIPHER_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using SslCtxPtr = std::unique_ptr<SSL_CTX, FreeWith<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, FreeWith<SSL_free>>;
using X509Ptr = std::unique_ptr<X509, FreeWith<X509_free>>;
using X509StackPtr = std::unique_ptr<STACK_OF(X509), FreeWith<free_x509_stack>>;

// Before each call whose failure is to be understood: an error that another left in the thread's
// queue would be taken for its own. Emptying an empty queue costs OpenSSL some 900 instructions,
// looking into it 50.
inline void clear_errors() {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

// The reason of the newest error in this thread's queue, which is emptied ("unknown error" if
// none).
std::string take_openssl_error();

}  // namespace pqedge::crypto
