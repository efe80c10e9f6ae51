#include "measure/wire/ike_message.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <memory>

#include "measure/wire/writer.h"

namespace pqedge::measure {

namespace {

enum PayloadType : uint8_t {
  kNone = 0,
  kSa = 33,
  kKe = 34,
  kNonce = 40,
  kNotify = 41,
  kSk = 46,
  kSkf = 53,
};

constexpr uint8_t kIkeSaInit = 34;
constexpr uint8_t kIkeIntermediate = 43;

constexpr uint16_t kSignatureHashAlgorithms = 16431;  // RFC 7427
constexpr uint16_t kNatDetectionSource = 16388;
constexpr uint16_t kNatDetectionDestination = 16389;
constexpr uint16_t kFragmentationSupported = 16430;  // RFC 7383
constexpr uint16_t kIntermediateSupported = 16438;   // RFC 9242

constexpr size_t kGenericHeader = 4;
constexpr size_t kExplicitIv = 8;  // RFC 5282 3.1
constexpr size_t kIcv = 16;
constexpr size_t kPadLength = 1;  // the field; no padding is needed

std::vector<uint8_t> random_bytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  RAND_bytes(bytes.data(), static_cast<int>(count));
  return bytes;
}

// The header of a payload, and what `body` writes, with the length of both (RFC 7296 3.2).
template <typename Body>
void put_payload(Writer& writer, uint8_t next, Body&& body) {
  writer.u8(next);
  writer.u8(0);
  writer.counted(2, std::forward<Body>(body), kGenericHeader);
}

// A whole message (RFC 7296 3.1): `body` writes the payloads.
template <typename Body>
std::vector<uint8_t> message(const IkeSession& session, uint8_t first, uint8_t exchange,
                             bool response, uint32_t id, Body&& body) {
  constexpr size_t kBeforeLength = 24;
  constexpr size_t kLengthField = 4;
  Writer writer;
  const bool knows_responder = response || exchange != kIkeSaInit;
  writer.number(session.initiator_spi, 8);
  writer.number(knows_responder ? session.responder_spi : 0, 8);
  writer.u8(first);
  writer.u8(0x20);  // version 2.0
  writer.u8(exchange);
  writer.u8(response ? 0x20 : 0x08);
  writer.u32(id);
  writer.counted(kLengthField, [&] { body(writer); }, kBeforeLength + kLengthField);
  return std::move(writer).take();
}

void put_transform(Writer& writer, bool last, uint8_t type, uint16_t id, unsigned key_bits = 0) {
  writer.u8(last ? 0 : 3);
  writer.u8(0);
  writer.counted(
      2,
      [&] {
        writer.u8(type);
        writer.u8(0);
        writer.u16(id);
        if (key_bits != 0) {  // the Key Length attribute, in its short form
          writer.u16(0x800e);
          writer.u16(key_bits);
        }
      },
      kGenericHeader);
}

// One proposal (RFC 7296 3.3): encryption, PRF, key exchange and, when there is one, ADDKE1.
void put_sa(Writer& writer, const IkeSession& session, uint8_t next) {
  put_payload(writer, next, [&] {
    writer.u8(0);  // the last proposal
    writer.u8(0);
    writer.counted(
        2,
        [&] {
          writer.u8(1);  // its number
          writer.u8(1);  // IKE
          writer.u8(0);  // no SPI
          writer.u8(session.additional != 0 ? 4 : 3);
          put_transform(writer, false, 1, 20, 256);  // ENCR_AES_GCM_16
          put_transform(writer, false, 2, 5);        // PRF_HMAC_SHA2_256
          put_transform(writer, session.additional == 0, 4, session.method);
          if (session.additional != 0) put_transform(writer, true, 6, session.additional);
        },
        kGenericHeader);
  });
}

void put_notify(Writer& writer, uint8_t next, uint16_t type, Bytes data = {}) {
  put_payload(writer, next, [&] {
    writer.u8(0);  // no protocol, no SPI
    writer.u8(0);
    writer.u16(type);
    writer.put(data);
  });
}

// SHA-1 over SPIs, address and port (RFC 7296 2.23), of addresses for documentation.
std::vector<uint8_t> nat_detection(const IkeSession& session, bool response, uint8_t host) {
  Writer writer;
  writer.number(session.initiator_spi, 8);
  writer.number(response ? session.responder_spi : 0, 8);
  const std::array<uint8_t, 4> address{192, 0, 2, host};
  writer.put(address);
  writer.u16(500);
  std::vector<uint8_t> digest(20);
  size_t size = digest.size();
  EVP_Q_digest(nullptr, "SHA1", nullptr, writer.view().data(), writer.size(), digest.data(), &size);
  return digest;
}

struct CipherFree {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

// IV, ciphertext and ICV after what the message holds already, which is authenticated too.
// The lengths must be final: they are authenticated as they stand.
Result<void> put_sealed(Writer& writer, Bytes plaintext, Bytes authenticated) {
  const auto key = random_bytes(32);
  auto nonce = random_bytes(4 + kExplicitIv);  // salt and IV
  const std::unique_ptr<EVP_CIPHER_CTX, CipherFree> context(EVP_CIPHER_CTX_new());
  std::vector<uint8_t> out(plaintext.size() + kPadLength);
  std::array<uint8_t, kIcv> icv{};
  std::vector<uint8_t> padded(plaintext.begin(), plaintext.end());
  padded.push_back(0);  // pad length
  int written = 0;
  const bool done = context &&
                    EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.data(),
                                       nonce.data()) == 1 &&
                    EVP_EncryptUpdate(context.get(), nullptr, &written, authenticated.data(),
                                      static_cast<int>(authenticated.size())) == 1 &&
                    EVP_EncryptUpdate(context.get(), out.data(), &written, padded.data(),
                                      static_cast<int>(padded.size())) == 1 &&
                    EVP_EncryptFinal_ex(context.get(), out.data() + written, &written) == 1 &&
                    EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(kIcv),
                                        icv.data()) == 1;
  if (!done) return fail("OpenSSL did not seal an IKE message with AES-256-GCM");
  writer.put(Bytes(nonce).subspan(4));
  writer.put(out);
  writer.put(icv);
  return {};
}

constexpr size_t kSealing = kExplicitIv + kPadLength + kIcv;
constexpr size_t kHeader = 28;

// One IKE_INTERMEDIATE message with part `number` of `total` of the inner payloads; SK when whole.
Result<std::vector<uint8_t>> sealed_message(const IkeSession& session, bool response, Bytes part,
                                            unsigned number, unsigned total) {
  const bool whole = total == 1;
  const size_t numbers = whole ? 0 : 4;
  Writer payload;
  // The inner payloads' first type stands in the first fragment alone (RFC 7383 2.5).
  payload.u8(number == 1 ? kKe : kNone);
  payload.u8(0);
  payload.u16(kGenericHeader + numbers + part.size() + kSealing);
  if (!whole) {
    payload.u16(number);
    payload.u16(total);
  }
  const auto open =
      message(session, whole ? kSk : kSkf, kIkeIntermediate, response, 1, [&](Writer& writer) {
        writer.put(payload.view());
        writer.zeros(part.size() + kSealing);
      });
  Writer sealed;
  sealed.put(Bytes(open).first(kHeader + payload.size()));
  const std::vector<uint8_t> authenticated(sealed.view().begin(), sealed.view().end());
  if (auto done = put_sealed(sealed, part, authenticated); !done) {
    return std::unexpected(done.error());
  }
  return std::move(sealed).take();
}

}  // namespace

Bytes ike_key_exchange_data(Bytes public_key, uint16_t method) {
  return method == kIkeEcp256 && !public_key.empty() ? public_key.subspan(1) : public_key;
}

std::vector<uint8_t> ike_ke_payload(uint16_t method, Bytes data, uint8_t next) {
  Writer writer;
  put_payload(writer, next, [&] {
    writer.u16(method);
    writer.u16(0);
    writer.put(data);
  });
  return std::move(writer).take();
}

std::vector<uint8_t> ike_sa_init(const IkeSession& session, Bytes data, bool response) {
  const bool intermediate = session.additional != 0;
  // SHA2-256, SHA2-384, SHA2-512 and Identity (RFC 7427 7, RFC 8420).
  constexpr std::array<uint8_t, 8> kHashes{0, 2, 0, 3, 0, 4, 0, 5};
  return message(session, kSa, kIkeSaInit, response, 0, [&](Writer& writer) {
    put_sa(writer, session, kKe);
    writer.put(ike_ke_payload(session.method, data, kNonce));
    put_payload(writer, kNotify, [&] { writer.put(random_bytes(32)); });
    put_notify(writer, kNotify, kNatDetectionSource,
               nat_detection(session, response, response ? 2 : 1));
    put_notify(writer, kNotify, kNatDetectionDestination,
               nat_detection(session, response, response ? 1 : 2));
    put_notify(writer, kNotify, kFragmentationSupported);
    put_notify(writer, intermediate ? kNotify : kNone, kSignatureHashAlgorithms, kHashes);
    if (intermediate) put_notify(writer, kNone, kIntermediateSupported);
  });
}

Result<std::vector<uint8_t>> ike_intermediate(const IkeSession& session, Bytes data,
                                              bool response) {
  return sealed_message(session, response, ike_ke_payload(session.additional, data, kNone), 1, 1);
}

Result<std::vector<std::vector<uint8_t>>> ike_intermediate_within(const IkeSession& session,
                                                                  Bytes data, bool response,
                                                                  size_t largest) {
  const auto inner = ike_ke_payload(session.additional, data, kNone);
  const size_t whole = kHeader + kGenericHeader + inner.size() + kSealing;
  const size_t overhead = kHeader + kGenericHeader + 4 + kSealing;
  if (largest <= overhead) return fail("no IKE fragment fits in {} bytes", largest);
  const size_t room = whole <= largest ? inner.size() : largest - overhead;
  const size_t total = (inner.size() + room - 1) / room;
  std::vector<std::vector<uint8_t>> messages;
  for (size_t i = 0; i < total; ++i) {
    const Bytes part = Bytes(inner).subspan(i * room, std::min(room, inner.size() - i * room));
    auto one = sealed_message(session, response, part, static_cast<unsigned>(i + 1),
                              static_cast<unsigned>(total));
    if (!one) return std::unexpected(one.error());
    messages.push_back(std::move(*one));
  }
  return messages;
}

}  // namespace pqedge::measure
