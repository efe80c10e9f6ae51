#include "admin/orders.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "admin/token.h"

namespace pqedge::admin {
namespace {

using edge::PoolOrder;
using http::Method;

int refusal(Method method, std::string_view path, std::string_view body) {
  const auto order = read_order(method, path, body);
  return order ? 0 : order.error().code;
}

TEST(Orders, AreReadWhole) {
  const auto weight =
      read_order(Method::post, "/backends/app/weight", R"({"server":"127.0.0.1:80","weight":7})");
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->kind, PoolOrder::Kind::weight);
  EXPECT_EQ(weight->pool, "app");
  EXPECT_EQ(weight->server, "127.0.0.1:80");
  EXPECT_EQ(weight->weight, 7U);
  const auto add = read_order(Method::post, "/backends/app/add", R"("127.0.0.1:81")");
  ASSERT_TRUE(add);
  EXPECT_EQ(add->servers.size(), 1U);
  const auto list = read_order(Method::put, "/backends/app/servers", R"(["127.0.0.1:81"])");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->kind, PoolOrder::Kind::replace);
}

TEST(Orders, OthersAreRefused) {
  EXPECT_EQ(refusal(Method::post, "/backends/app/servers", "[]"), 405);
  EXPECT_EQ(refusal(Method::get, "/backends/app/drain", ""), 405);
  EXPECT_EQ(refusal(Method::post, "/backends/app/explode", "{}"), 404);
  EXPECT_EQ(refusal(Method::post, "/backends/app", "{}"), 404);
  for (const char* body : {"", "{}", "[]", "{\"server\":1}", "{\"server\":\"a\",\"x\":1}",
                           "{\"server\":{\"a\":{}}}", "{\"server\":\"a\",\"weight\":1}"}) {
    EXPECT_EQ(refusal(Method::post, "/backends/app/drain", body), 400) << body;
  }
  for (const char* body :
       {"{\"server\":\"a\"}", "{\"server\":\"a\",\"weight\":-1}",
        "{\"server\":\"a\",\"weight\":1001}", "{\"server\":\"a\",\"weight\":\"1\"}"}) {
    EXPECT_EQ(refusal(Method::post, "/backends/app/weight", body), 400) << body;
  }
  EXPECT_EQ(refusal(Method::post, "/backends/app/add", "\"a.test:80\""), 400);
}

class TokenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "token-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  Result<Token> load(const std::string& text, mode_t mode = 0600) {
    const std::string path = directory_ + "/token";
    std::ofstream(path, std::ios::trunc) << text;
    ::chmod(path.c_str(), mode);
    return Token::load(path);
  }
  std::string directory_;
};

TEST_F(TokenTest, LetsInWhoHasIt) {
  const auto token = load("0123456789abcdef\n");
  ASSERT_TRUE(token) << token.error().message;
  EXPECT_TRUE(token->matches("Bearer 0123456789abcdef"));
  EXPECT_TRUE(token->matches("bearer 0123456789abcdef"));
  for (const char* other : {"", "Bearer", "Bearer ", "Bearer 0123456789abcde", "0123456789abcdef",
                            "Basic 0123456789abcdef", "Bearer 0123456789abcdefg"}) {
    EXPECT_FALSE(token->matches(other)) << other;
  }
}

TEST_F(TokenTest, AFileOthersCanReadOrThatHoldsNoneIsRefused) {
  EXPECT_FALSE(load("0123456789abcdef\n", 0640));
  EXPECT_FALSE(load("0123456789abcdef\n", 0604));
  EXPECT_FALSE(load("short\n"));
  EXPECT_FALSE(load(""));
  EXPECT_FALSE(load("0123456789 abcdef\n"));
  EXPECT_FALSE(load("0123456789abcdef\nanother line of it\n"));
  EXPECT_FALSE(load(std::string(5000, 'a')));
  EXPECT_FALSE(Token::load(directory_ + "/absent"));
}

}  // namespace
}  // namespace pqedge::admin
