// One step of a handshake, taken by a signing thread: from the certificate callback, past the slow
// signature, to the end of the server's flight.
//
// TLS 1.3 signs the transcript up to and with the certificate (RFC 8446 4.4.3), which is complete
// only within that step, and OpenSSL's signature cannot be left and taken up again. So the SSL
// itself goes to the thread and comes back, by message; the worker does not touch it meanwhile.
// With it goes all that its callbacks reach: a copy of the SessionState and of the facts.
#pragma once

#include <memory>
#include <vector>

#include "crypto/handles.h"
#include "crypto/tls.h"

namespace pqedge::crypto {

class HandshakeStep {
 public:
  // `contexts`: what the SSL was made from. The SSL has been given I/O that reaches nothing of the
  // worker's (memory BIOs, a recorder of QUIC's calls).
  HandshakeStep(SslPtr ssl, const SessionState& session, std::shared_ptr<ServerContexts> contexts);
  HandshakeStep(const HandshakeStep&) = delete;
  HandshakeStep& operator=(const HandshakeStep&) = delete;

  // On the signing thread.
  void run();

  // On the worker again. `session` is the driver's own: what the callbacks left in the copy comes
  // into it, and the SSL is tied to it. Errors of the step are put into this thread's queue. `ran`:
  // run() was called, and error() tells how it ended; else no slow certificate is to be chosen now.
  SslPtr take(SessionState& session, bool ran);
  int error() const { return error_; }  // of SSL_get_error(); SSL_ERROR_WANT_READ when all is well

 private:
  std::shared_ptr<ServerContexts> contexts_;  // outlives the SSL
  net::ConnectionFacts facts_;
  AlpnList alpn_;
  SessionState session_;
  SslPtr ssl_;
  int error_ = SSL_ERROR_NONE;
  std::vector<unsigned long> errors_;
};

// Hands a task to the signer that the policy of `ssl` names.
void submit_step(const SSL* ssl, SlowSigner::Task task);

}  // namespace pqedge::crypto
