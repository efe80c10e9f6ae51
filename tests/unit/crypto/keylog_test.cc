// Secrets are written for one client address only.
#include "crypto/keylog.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "unit/crypto/tls_pair.h"

namespace pqedge::crypto::testing {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class KeyLogTest : public ::testing::Test {
 protected:
  std::string log_of_client_at(const char* address) {
    const std::string file = files.path("keys");
    auto log = KeyLog::open("192.0.2.7", file);
    EXPECT_TRUE(log);
    auto contexts = ServerContexts::create({}, store_of(test_identity()),
                                           TicketKeyRing::create(3600 * kSecond), *log);
    EXPECT_TRUE(contexts);
    Pair pair(*contexts);
    pair.server->facts.peer = *net::Address::from_ip(address, 4711);
    EXPECT_TRUE(pair.handshake());
    return contents(file);
  }
  TemporaryDirectory files;
};

TEST_F(KeyLogTest, TheOneClientIsWritten) {
  const std::string text = log_of_client_at("192.0.2.7");
  EXPECT_NE(text.find("CLIENT_HANDSHAKE_TRAFFIC_SECRET "), text.npos);
  EXPECT_NE(text.find("\nSERVER_TRAFFIC_SECRET_0 "), text.npos);
  EXPECT_EQ(text.back(), '\n');
  struct stat st{};
  ASSERT_EQ(stat(files.path("keys").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
}

TEST_F(KeyLogTest, OthersAreNot) { EXPECT_EQ(log_of_client_at("192.0.2.8"), ""); }

TEST_F(KeyLogTest, WrongSettings) {
  EXPECT_FALSE(KeyLog::open("not-an-address", files.path("keys")));
  EXPECT_FALSE(KeyLog::open("192.0.2.7", files.path("none/keys")));
}

}  // namespace
}  // namespace pqedge::crypto::testing
