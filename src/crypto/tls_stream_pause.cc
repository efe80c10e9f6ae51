// A handshake that pauses: for a certificate that is fetched, or for a signature made elsewhere.
#include <openssl/err.h>

#include <algorithm>

#include "crypto/handshake_step.h"
#include "crypto/tls_stream.h"

namespace pqedge::crypto {

// What is with the signing thread. `stream` is for the worker's thread alone; null: it is gone.
struct TlsStream::Away {
  TlsStream* stream;
  std::shared_ptr<std::atomic<bool>> dropped;
  BioPtr written;  // the server's flight
  HandshakeStep step;
};

TlsStream::~TlsStream() {
  for (Watch* w = watch_; w != nullptr; w = w->outer_) w->gone_ = true;
  if (away_ != nullptr) {
    away_->stream = nullptr;
    away_->dropped->store(true, std::memory_order_relaxed);
  }
  if (socket_.fd() >= 0) loop_.remove(socket_.fd(), *this);
}

void TlsStream::pause_handshake() {
  if (session_.signing != Signing::wanted) return;     // resume_handshake() comes
  if (socket_.hung_up()) return fail_handshake(true);  // nobody waits for it
  SSL* ssl = ssl_.get();
  // All that the client has sent is in OpenSSL's buffer, or stays in the socket: there is nothing
  // for it to say before it has the server's flight.
  BioPtr input(BIO_new(BIO_s_mem()));
  BioPtr output(BIO_new(BIO_s_mem()));
  if (input == nullptr || output == nullptr) return fail_handshake(false);
  BIO_up_ref(output.get());
  BIO* written = output.get();
  SSL_set_bio(ssl, input.release(), output.release());
  SSL_set_app_data(ssl, nullptr);
  SlowSigner::Task task;
  task.loop = &loop_;
  task.place = std::move(session_.place);
  task.dropped = std::make_shared<std::atomic<bool>>(false);
  away_.reset(
      new Away{this, task.dropped, BioPtr(written), {std::move(ssl_), session_, contexts_}});
  task.run = [away = away_] { away->step.run(); };
  task.finished = [away = away_](bool ran) {
    if (away->stream != nullptr) away->stream->take_back(ran);
  };
  submit_step(ssl, std::move(task));
}

void TlsStream::take_back(bool ran) {
  const std::shared_ptr<Away> away = std::move(away_);
  away_ = nullptr;
  ssl_ = away->step.take(session_, ran);
  SSL_set_app_data(ssl_.get(), this);
  BIO* bio = socket_.make_bio();
  if (bio == nullptr) return fail_handshake(false);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(away->written.get(), &bytes);
  for (long at = 0; at < size;) {
    const int n = static_cast<int>(std::min<long>(size - at, RecordSocket::kMaxRecord));
    if (BIO_write(bio, bytes + at, n) != n) break;  // advance_handshake() sees why
    at += n;
  }
  SSL_set_bio(ssl_.get(), bio, bio);
  if (ran && away->step.error() != SSL_ERROR_WANT_READ) return fail_handshake(false);
  advance_handshake();
}

void TlsStream::resume_handshake() {
  session_.requested = 2;
  if (phase_ == Phase::handshaking && away_ == nullptr) advance_handshake();
}

}  // namespace pqedge::crypto
