// Record protection as libssl does it: a keyed context, a new nonce for each record.
#include "measure/provider/openssl.h"
#include "measure/provider/record_nonce.h"

namespace pqedge::measure::openssl {

namespace {

class OpensslAead final : public Aead {
 public:
  OpensslAead(CipherContext sealer, CipherContext opener, Bytes iv)
      : sealer_(std::move(sealer)), opener_(std::move(opener)), nonce_(iv) {}

  Result<void> seal(Bytes plaintext, Bytes associated, std::vector<uint8_t>& out) override {
    out.resize(plaintext.size() + kTagLength);
    int length = 0;
    auto* context = sealer_.get();
    if (EVP_EncryptInit_ex2(context, nullptr, nullptr, nonce_.next().data(), nullptr) != 1 ||
        EVP_EncryptUpdate(context, nullptr, &length, associated.data(), size(associated)) != 1 ||
        EVP_EncryptUpdate(context, out.data(), &length, plaintext.data(), size(plaintext)) != 1 ||
        EVP_EncryptFinal_ex(context, out.data() + length, &length) != 1 ||
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kTagLength,
                            out.data() + plaintext.size()) != 1) {
      return failed("encryption");
    }
    return {};
  }

  Result<void> open(Bytes sealed, Bytes associated, std::vector<uint8_t>& out) override {
    if (sealed.size() < kTagLength) return fail("a sealed text has at least {} bytes", kTagLength);
    auto ciphertext = sealed.first(sealed.size() - kTagLength);
    auto tag = sealed.last(kTagLength);
    out.resize(ciphertext.size());
    int length = 0;
    auto* context = opener_.get();
    if (EVP_DecryptInit_ex2(context, nullptr, nullptr, nonce_.current().data(), nullptr) != 1 ||
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, kTagLength,
                            const_cast<uint8_t*>(tag.data())) != 1 ||
        EVP_DecryptUpdate(context, nullptr, &length, associated.data(), size(associated)) != 1 ||
        EVP_DecryptUpdate(context, out.data(), &length, ciphertext.data(), size(ciphertext)) != 1 ||
        EVP_DecryptFinal_ex(context, out.data() + length, &length) != 1) {
      return failed("decryption");
    }
    return {};
  }

 private:
  static int size(Bytes bytes) { return static_cast<int>(bytes.size()); }

  CipherContext sealer_;
  CipherContext opener_;
  RecordNonce nonce_;
};

const char* cipher_name(std::string_view algorithm) {
  if (algorithm == "AES-128-GCM") return "AES-128-GCM";
  if (algorithm == "AES-256-GCM") return "AES-256-GCM";
  if (algorithm == "ChaCha20-Poly1305") return "ChaCha20-Poly1305";
  return nullptr;
}

}  // namespace

std::unique_ptr<Aead> make_aead(std::string_view algorithm, Bytes key, Bytes iv) {
  const char* name = cipher_name(algorithm);
  crypto::CipherPtr cipher(name ? EVP_CIPHER_fetch(nullptr, name, nullptr) : nullptr);
  CipherContext sealer(EVP_CIPHER_CTX_new());
  CipherContext opener(EVP_CIPHER_CTX_new());
  if (!cipher || !sealer || !opener ||
      key.size() != static_cast<size_t>(EVP_CIPHER_get_key_length(cipher.get())) ||
      iv.size() != kNonceLength ||
      EVP_EncryptInit_ex2(sealer.get(), cipher.get(), key.data(), iv.data(), nullptr) != 1 ||
      EVP_DecryptInit_ex2(opener.get(), cipher.get(), key.data(), iv.data(), nullptr) != 1) {
    return nullptr;
  }
  return std::make_unique<OpensslAead>(std::move(sealer), std::move(opener), iv);
}

}  // namespace pqedge::measure::openssl
