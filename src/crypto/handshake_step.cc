#include "crypto/handshake_step.h"

#include <openssl/err.h>

#include "crypto/callbacks.h"
#include "crypto/early_data.h"

namespace pqedge::crypto {
namespace {

constexpr size_t kMostErrors = 16;

}  // namespace

HandshakeStep::HandshakeStep(SslPtr ssl, const SessionState& session,
                             std::shared_ptr<ServerContexts> contexts)
    : contexts_(std::move(contexts)),
      facts_(*session.facts),
      alpn_(*session.alpn),
      session_(session),
      ssl_(std::move(ssl)) {
  session_.facts = &facts_;
  session_.alpn = &alpn_;
  session_.pause = nullptr;
  session_.place = nullptr;
  session_.signing = Signing::granted;
  attach_session(ssl_.get(), &session_);
}

void HandshakeStep::run() {
  ERR_clear_error();
  const int result = do_handshake(ssl_.get());
  error_ = SSL_get_error(ssl_.get(), result);
  // A thread's errors are its own: they are carried over.
  while (const unsigned long code = ERR_get_error()) {
    if (errors_.size() < kMostErrors) errors_.push_back(code);
  }
}

SslPtr HandshakeStep::take(SessionState& session, bool ran) {
  session_.facts = session.facts;
  session_.alpn = session.alpn;
  session_.pause = session.pause;
  session_.signing = ran ? Signing::here : Signing::refused;
  session = session_;
  attach_session(ssl_.get(), &session);
  ERR_clear_error();
  for (const unsigned long code : errors_) {
    ERR_new();
    ERR_set_error(ERR_GET_LIB(code), ERR_GET_REASON(code), nullptr);
  }
  return std::move(ssl_);
}

void submit_step(const SSL* ssl, SlowSigner::Task task) {
  policy_of(ssl)->services.signer->submit(std::move(task));
}

}  // namespace pqedge::crypto
