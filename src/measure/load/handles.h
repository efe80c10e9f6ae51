// Owners of OpenSSL's handles.
#pragma once

#include <openssl/evp.h>
#include <openssl/ssl.h>

#include <memory>

namespace pqedge::measure::load {

struct OpensslFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
  void operator()(EVP_MD_CTX* digest) const { EVP_MD_CTX_free(digest); }
};

using SslCtxPtr = std::unique_ptr<SSL_CTX, OpensslFree>;
using SslPtr = std::unique_ptr<SSL, OpensslFree>;
using SessionPtr = std::unique_ptr<SSL_SESSION, OpensslFree>;
using DigestPtr = std::unique_ptr<EVP_MD_CTX, OpensslFree>;

}  // namespace pqedge::measure::load
