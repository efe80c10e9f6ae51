// The messages of a handshake, one by one.
#include "crypto/handshake_messages.h"
#include "probe/session.h"

namespace pqedge::probe {
namespace {

constexpr uint16_t kEch = 0xfe0d;  // encrypted_client_hello (RFC 9849 11.1)
constexpr size_t kHeader = 4;

}  // namespace

void Seen::on_message(int written, int, int type, const void* bytes, size_t size, SSL*,
                      void* self) {
  if (written != 0 || type != SSL3_RT_HANDSHAKE || size < kHeader) return;
  static_cast<Seen*>(self)->take({static_cast<const uint8_t*>(bytes), size});
}

void Seen::take_server_hello(Bytes message) {
  const auto hello = crypto::parse_server_hello(message);
  if (!hello) return;
  if (hello->retry) {
    retry = true;
    return;
  }
  server_hello = true;
  version = hello->version;
  cipher = hello->cipher;
  group = hello->group.value_or(0);
}

void Seen::take(Bytes message) {
  switch (message[0]) {
    case crypto::kServerHello: take_server_hello(message); break;
    case crypto::kEncryptedExtensions:
      if (const auto ech = find_encrypted_extension(message, kEch)) {
        ech_answered = true;
        ech_configs.assign(ech->begin(), ech->end());
      }
      break;
    case crypto::kCertificate:
      // A compressed one is shown expanded too: what was on the wire counts.
      if (certificate == 0) certificate = message.size();
      if (const auto facts = crypto::read_certificate(message)) certificates_der = facts->der;
      if (const auto found = read_certificate_extras(message)) extras = *found;
      break;
    case crypto::kCompressedCertificate:
      certificate = message.size();
      if (message.size() >= kHeader + 5) {  // RFC 8879 4: algorithm, uncompressed_length
        compression = {.algorithm = load_be16(&message[kHeader]),
                       .compressed = message.size(),
                       .uncompressed = load_be24(&message[kHeader + 2]) + kHeader};
      }
      break;
    case crypto::kCertificateVerify:
      if (message.size() >= kHeader + 4) {
        signature = load_be16(&message[kHeader]);
        signature_bytes = message.size() - kHeader - 4;
      }
      break;
    case crypto::kNewSessionTicket: ++tickets; break;
    default: break;
  }
}

}  // namespace pqedge::probe
