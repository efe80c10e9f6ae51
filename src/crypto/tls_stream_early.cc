// Early data on a stream: from the first of it to the client's Finished.
//
// All that comes is taken out of the records at once, whether the handler reads or not: the
// Finished lies behind it, and until it has come some requests wait (RFC 8470 3). What OpenSSL
// hands out is bounded by the size that the ticket allowed.
#include <algorithm>
#include <cstring>

#include "crypto/early_data.h"
#include "crypto/scratch_record.h"
#include "crypto/tls_stream.h"

namespace pqedge::crypto {
// Says what SSL_do_handshake() says, and takes early data out on the way.
int TlsStream::step_handshake() {
  while (reading_early_) {
    uint8_t* const record = scratch_record();
    size_t n = 0;
    switch (SSL_read_early_data(ssl_.get(), record, kMaxPlaintext, &n)) {
      case SSL_READ_EARLY_DATA_SUCCESS:
        early_data_.insert(early_data_.end(), record, record + n);
        break;
      case SSL_READ_EARLY_DATA_FINISH:  // it is over, or there is none
        reading_early_ = false;
        break;
      default: return 0;
    }
  }
  return SSL_do_handshake(ssl_.get());
}

// The server's flight is made, and leaves with what the turn answers.
void TlsStream::open_early() {
  phase_ = Phase::early;
  SSL_set_msg_callback(ssl_.get(), nullptr);
  read_facts(ssl_.get(), facts_);
  facts_.early_data = true;
  facts_.handshake_pending = true;
  socket_.keep_gathered();
  loop_.defer(turn_end_);
  exhausted_ = false;
  const Watch watch(*this);
  handshake_handler_.on_handshake_done();
  if (!watch.gone()) call_readable();
}

void TlsStream::advance_early() {
  clear_errors();
  const int result = step_handshake();
  if (result == 1) return confirm();
  const bool waits = SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ;
  const bool closed = waits && (socket_.ended() || socket_.read_error() != 0);
  if (!waits || closed) {
    fail_and_tell(handshake_failure(session_, closed));
    if (!closed) socket_.send_gathered();  // the alert
    return;
  }
  if (socket_.gathered() > 0) {
    socket_.keep_gathered();
    loop_.defer(turn_end_);
  }
  if (early_data_.empty()) return;
  exhausted_ = false;
  call_readable();
}

void TlsStream::confirm() {
  phase_ = Phase::open;
  facts_.handshake_pending = false;
  note_completed();
  socket_.keep_gathered();
  loop_.defer(turn_end_);
  exhausted_ = !may_have_input();
  const Watch watch(*this);
  handshake_handler_.on_handshake_confirmed();
  if (!watch.gone()) call_readable();
}

size_t TlsStream::take_early(MutableBytes into) {
  const size_t n = std::min(into.size(), early_data_.size() - early_taken_);
  if (n == 0) return 0;
  std::memcpy(into.data(), early_data_.data() + early_taken_, n);
  early_taken_ += n;
  if (early_taken_ == early_data_.size()) {
    early_data_ = {};
    early_taken_ = 0;
  }
  return n;
}

}  // namespace pqedge::crypto
