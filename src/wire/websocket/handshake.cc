#include "wire/websocket/handshake.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>

#include "base/base64.h"
#include "base/bytes.h"

namespace pqedge::websocket {

std::string_view new_key(Arena& arena) {
  std::array<uint8_t, 16> bytes{};
  // It proves nothing but that both sides speak of one handshake: without randomness a fixed key
  // does that too.
  static_cast<void>(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())));
  return arena.copy(base64(Bytes{bytes.data(), bytes.size()}));
}

std::string accept_of(std::string_view key) {
  std::string text(key);
  text += "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) {
    return {};
  }
  return base64(Bytes{digest.data(), size});
}

}  // namespace pqedge::websocket
