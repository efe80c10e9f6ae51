#include "upstream/server_list.h"

#include <gtest/gtest.h>

#include <format>
#include <string>

namespace pqedge::upstream {
namespace {

TEST(ServerList, ReadsAddressesAndObjects) {
  const auto list = parse_server_list(
      R"({"servers": ["127.0.0.1:80", {"address": "[::1]:81", "weight": 3, "priority": 2, "id": "b"},
          {"address": "unix:/run/app.sock"}]})");
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->size(), 3U);
  EXPECT_EQ((*list)[0].name, "127.0.0.1:80");
  EXPECT_EQ((*list)[0].weight, 1U);
  EXPECT_EQ((*list)[1].address.port(), 81);
  EXPECT_EQ((*list)[1].weight, 3U);
  EXPECT_EQ((*list)[1].priority, 2U);
  EXPECT_EQ((*list)[1].id, "b");
  EXPECT_TRUE((*list)[2].address.is_unix());
  EXPECT_EQ(parse_server_list("[]")->size(), 0U);
}

TEST(ServerList, SaysWhichEntryIsWrong) {
  for (const char* text : {"",
                           "{",
                           "[",
                           "1",
                           "null",
                           "{\"servers\":1}",
                           "{\"x\":[]}",
                           "{\"servers\":[],\"x\":1}",
                           "[1]",
                           "[\"a.test:80\"]",
                           "[\"127.0.0.1\"]",
                           "[\"127.0.0.1:0\"]",
                           "[\"0.0.0.0:80\"]",
                           "[\"127.0.0.1:80\",\"127.0.0.1:80\"]",
                           "[{}]",
                           "[{\"address\":1}]",
                           "[{\"address\":\"127.0.0.1:1\",\"weight\":-1}]",
                           "[{\"address\":\"127.0.0.1:1\",\"weight\":1001}]",
                           "[{\"address\":\"127.0.0.1:1\",\"weight\":1.5}]",
                           "[{\"address\":\"127.0.0.1:1\",\"wieght\":1}]",
                           "[{\"address\":\"127.0.0.1:1\",\"id\":\"a b\"}]",
                           "[{\"address\":\"127.0.0.1:1\",\"id\":\"a\"},{\"address\":\"127.0.0.1:"
                           "2\",\"id\":\"a\"}]"}) {
    const auto list = parse_server_list(text);
    ASSERT_FALSE(list) << text;
    EXPECT_FALSE(list.error().message.empty()) << text;
  }
  EXPECT_NE(parse_server_list("[\"127.0.0.1:1\", 5]").error().message.find("server 2"),
            std::string::npos);
}

TEST(ServerList, IsBounded) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += '[';
  EXPECT_FALSE(parse_server_list(deep));
  std::string many = "[";
  for (size_t i = 0; i <= kMaxServers; ++i) {
    many += std::format("{}\"127.{}.{}.1:80\"", i == 0 ? "" : ",", i / 256, i % 256);
  }
  EXPECT_FALSE(parse_server_list(many + "]"));
  EXPECT_FALSE(parse_server_list(std::string(kMaxServerListBytes + 1, ' ')));
}

}  // namespace
}  // namespace pqedge::upstream
