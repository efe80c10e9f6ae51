// The seal of a ticket that carries an ML-KEM-1024 encapsulation of its own key (T6):
// docs/internals/ticket-keys.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "crypto/handles.h"
#include "crypto/kem.h"

namespace pqedge::crypto {

// What the ciphertext takes the place of in the text.
const std::array<uint8_t, kKemCiphertextSize>& ticket_placeholder();

// For one text, in one piece.
class TicketEncapsulation {
 public:
  // Keeps a reference to `kem`: whoever gave it may forget it meanwhile.
  TicketEncapsulation(EVP_PKEY* kem, const uint8_t base[32], const uint8_t nonce[12]);
  ~TicketEncapsulation();
  TicketEncapsulation(const TicketEncapsulation&) = delete;
  TicketEncapsulation& operator=(const TicketEncapsulation&) = delete;

  // `out` has room for two bytes more than the text; the tag is kept for take_tag(). False without
  // a placeholder in the text.
  bool seal(Bytes text, MutableBytes out, size_t& written);
  bool take_tag(MutableBytes out) const;
  // The tag is at the end of `sealed`. False: it was changed, or made for another key.
  bool open(Bytes sealed, MutableBytes out, size_t& written);
  bool done() const { return done_; }

 private:
  bool derive(const KemSecret& secret, MutableBytes key) const;

  KeyPtr kem_;
  std::array<uint8_t, 32> base_;
  std::array<uint8_t, 12> nonce_;
  std::array<uint8_t, kGcmTagSize> tag_{};
  bool done_ = false;
};

}  // namespace pqedge::crypto
