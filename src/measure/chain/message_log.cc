#include <algorithm>
#include <format>

#include "measure/chain/flight.h"

namespace pqedge::measure {
namespace {

// RFC 8446 4, RFC 8879 7.2
std::string message_name(uint8_t type) {
  switch (type) {
    case 1: return "ClientHello";
    case 2: return "ServerHello";
    case 4: return "NewSessionTicket";
    case 8: return "EncryptedExtensions";
    case 11: return "Certificate";
    case 13: return "CertificateRequest";
    case 15: return "CertificateVerify";
    case 20: return "Finished";
    case 25: return "CompressedCertificate";
    default: return std::format("message {}", type);
  }
}

}  // namespace

void MessageLog::attach(SSL* ssl) {
  SSL_set_msg_callback(ssl, &MessageLog::on_message);
  SSL_set_msg_callback_arg(ssl, this);
}

void MessageLog::on_message(int sent, int, int type, const void* bytes, size_t size, SSL*,
                            void* self) {
  if (sent == 0 || type != SSL3_RT_HANDSHAKE || size == 0) return;
  static_cast<MessageLog*>(self)->sent_[message_name(*static_cast<const uint8_t*>(bytes))] += size;
}

size_t MessageLog::total() const {
  size_t sum = 0;
  for (const auto& [name, size] : sent_) sum += size;
  return sum;
}

}  // namespace pqedge::measure
