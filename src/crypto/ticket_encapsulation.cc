#include "crypto/ticket_encapsulation.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace pqedge::crypto {
namespace {

constexpr size_t kPlace = 2;
constexpr size_t kKeySize = 32;

// Wipes what it held.
class Wiped {
 public:
  explicit Wiped(size_t size) : bytes_(size) {}
  ~Wiped() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }
  Wiped(const Wiped&) = delete;
  Wiped& operator=(const Wiped&) = delete;
  uint8_t* data() { return bytes_.data(); }
  Bytes bytes() const { return bytes_; }
  MutableBytes room() { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

}  // namespace

const std::array<uint8_t, kKemCiphertextSize>& ticket_placeholder() {
  static constexpr std::array<uint8_t, kKemCiphertextSize> placeholder = [] {
    std::array<uint8_t, kKemCiphertextSize> bytes{};
    std::ranges::copy(std::string_view("pqedge: here the ciphertext"), bytes.begin());
    return bytes;
  }();
  return placeholder;
}

TicketEncapsulation::TicketEncapsulation(EVP_PKEY* kem, const uint8_t base[32],
                                         const uint8_t nonce[12]) {
  EVP_PKEY_up_ref(kem);
  kem_.reset(kem);
  std::copy_n(base, base_.size(), base_.begin());
  std::copy_n(nonce, nonce_.size(), nonce_.begin());
}

TicketEncapsulation::~TicketEncapsulation() { OPENSSL_cleanse(base_.data(), base_.size()); }

bool TicketEncapsulation::derive(const KemSecret& secret, MutableBytes key) const {
  return derive_key(secret, base_, "pqedge ticket 1", key);
}

bool TicketEncapsulation::seal(Bytes text, MutableBytes out, size_t& written) {
  const auto& placeholder = ticket_placeholder();
  const auto found = std::ranges::search(text, placeholder);
  if (done_ || found.empty() || text.size() > UINT16_MAX || out.size() < text.size() + kPlace) {
    return false;
  }
  const auto place = static_cast<size_t>(found.begin() - text.begin());
  Wiped inner(kPlace + text.size() - placeholder.size());
  store_be16(inner.data(), static_cast<uint16_t>(place));
  std::copy_n(text.begin(), place, inner.data() + kPlace);
  std::copy(found.end(), text.end(), inner.data() + kPlace + place);
  const size_t size = inner.bytes().size();
  KemSecret secret{};
  Wiped key(kKeySize);
  std::vector<uint8_t> sealed(size + tag_.size());
  const Bytes ciphertext = Bytes(out).first(kKemCiphertextSize);
  done_ = kem_encapsulate(kem_.get(), out.data(), secret) && derive(secret, key.room()) &&
          gcm_seal(key.data(), nonce_.data(), ciphertext, inner.bytes(), sealed.data());
  OPENSSL_cleanse(secret.data(), secret.size());
  if (!done_) return false;
  std::copy_n(sealed.begin(), size, out.begin() + kKemCiphertextSize);
  std::copy_n(sealed.data() + size, tag_.size(), tag_.begin());
  written = kKemCiphertextSize + size;
  return true;
}

bool TicketEncapsulation::take_tag(MutableBytes out) const {
  if (!done_ || out.size() < tag_.size()) return false;
  std::ranges::copy(tag_, out.begin());
  return true;
}

bool TicketEncapsulation::open(Bytes sealed, MutableBytes out, size_t& written) {
  if (done_ || sealed.size() < kKemCiphertextSize + kPlace + kGcmTagSize ||
      out.size() < sealed.size()) {
    return false;
  }
  const Bytes ciphertext = sealed.first(kKemCiphertextSize);
  const Bytes rest = sealed.subspan(kKemCiphertextSize);
  KemSecret secret{};
  Wiped key(kKeySize);
  Wiped inner(rest.size() - kGcmTagSize);
  const bool good = kem_decapsulate(kem_.get(), ciphertext.data(), secret) &&
                    derive(secret, key.room()) &&
                    gcm_open(key.data(), nonce_.data(), ciphertext, rest, inner.data());
  OPENSSL_cleanse(secret.data(), secret.size());
  if (!good) return false;
  const Bytes text = inner.bytes().subspan(kPlace);
  const size_t place = load_be16(inner.data());
  if (place > text.size()) return false;
  const auto& placeholder = ticket_placeholder();
  uint8_t* p = std::ranges::copy(text.first(place), out.data()).out;
  p = std::ranges::copy(placeholder, p).out;
  p = std::ranges::copy(text.subspan(place), p).out;
  written = static_cast<size_t>(p - out.data());
  done_ = true;
  return true;
}

}  // namespace pqedge::crypto
