// The opening handshake of WebSocket (RFC 6455).
#include <gtest/gtest.h>

#include "base/base64.h"
#include "wire/websocket/handshake.h"

namespace pqedge::websocket {
namespace {

TEST(WebSocket, AcceptOfRfc6455) {  // 1.3
  EXPECT_EQ(accept_of("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocket, Keys) {  // 4.1: 16 bytes, chosen anew each time
  Arena arena;
  const auto one = new_key(arena);
  const auto other = new_key(arena);
  EXPECT_NE(one, other);
  ASSERT_TRUE(from_base64(one).has_value());
  EXPECT_EQ(from_base64(one)->size(), 16u);
}

}  // namespace
}  // namespace pqedge::websocket
