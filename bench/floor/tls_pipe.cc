#include "tls_pipe.h"

#include <openssl/bio.h>
#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace pqedge::bench {

struct PipeBio {
  static TlsPipe* pipe_of(BIO* bio) { return static_cast<TlsPipe*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* to, int size) {
    BIO_clear_retry_flags(bio);
    std::span<const char>& in = pipe_of(bio)->in_;
    if (in.empty()) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const size_t count = std::min(in.size(), static_cast<size_t>(size));
    std::memcpy(to, in.data(), count);
    in = in.subspan(count);
    return static_cast<int>(count);
  }

  static int write(BIO* bio, const char* from, int size) {
    BIO_clear_retry_flags(bio);
    pipe_of(bio)->out.append(from, static_cast<size_t>(size));
    return size;
  }

  static long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }

  static BIO_METHOD* method() {
    static BIO_METHOD* const made_once = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "floor pipe");
      BIO_meth_set_read(made, &PipeBio::read);
      BIO_meth_set_write(made, &PipeBio::write);
      BIO_meth_set_ctrl(made, &PipeBio::control);
      return made;
    }();
    return made_once;
  }
};

namespace {

int select_http1(SSL* /*ssl*/, const unsigned char** out, unsigned char* out_length,
                 const unsigned char* in, unsigned int in_length, void* /*argument*/) {
  static constexpr unsigned char kHttp1[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_length, kHttp1, sizeof(kHttp1) - 1, in, in_length) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

SslCtxPtr make_server_context(const std::string& certificate, const std::string& key,
                              const std::string& groups) {
  SslCtxPtr context(SSL_CTX_new(TLS_server_method()));
  if (!context) return nullptr;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(context.get(), select_http1, nullptr);
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_set1_groups_list(context.get(), groups.c_str()) != 1) {
    return nullptr;
  }
  return context;
}

TlsPipe::TlsPipe(SSL_CTX* context) : ssl_(SSL_new(context)) {
  BIO* bio = BIO_new(PipeBio::method());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_accept_state(ssl_.get());
}

bool TlsPipe::read(std::span<const char> network, std::string& plain) {
  std::array<char, 16384> buffer;
  in_ = network;
  for (;;) {
    ERR_clear_error();
    const int count = SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (count > 0) {
      plain.append(buffer.data(), static_cast<size_t>(count));
      continue;
    }
    return SSL_get_error(ssl_.get(), count) == SSL_ERROR_WANT_READ;
  }
}

bool TlsPipe::write(std::span<const char> plain) {
  while (!plain.empty()) {
    ERR_clear_error();
    const int count = SSL_write(ssl_.get(), plain.data(), static_cast<int>(plain.size()));
    if (count <= 0) return false;
    plain = plain.subspan(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace pqedge::bench
