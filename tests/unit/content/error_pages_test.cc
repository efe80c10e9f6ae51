#include "content/error_pages.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace pqedge::content {
namespace {

std::string text_of(const ErrorPages& pages, std::string_view route, uint16_t status,
                    bool from_backend = false) {
  const ErrorPage* page = pages.find(route, status, from_backend);
  Arena arena;
  return page == nullptr ? "none" : std::string(page->fill({status, "Reason", "id-1"}, arena));
}

TEST(ErrorPages, TheMostSpecificOneIsTaken) {
  const auto pages = ErrorPages::load({
      {.statuses = {{500, 599}}, .body = "any 5xx"},
      {.statuses = {{503, 503}}, .body = "any 503"},
      {.statuses = {{400, 499}, {500, 599}}, .routes = {"shop", "api"}, .body = "shop"},
      {.statuses = {{404, 404}}, .routes = {"shop"}, .body = "shop 404"},
      {.statuses = {{404, 404}}, .routes = {"shop"}, .body = "later"},
  });
  ASSERT_TRUE(pages.has_value());
  EXPECT_EQ(text_of(*pages, "shop", 404), "shop 404");
  EXPECT_EQ(text_of(*pages, "api", 404), "shop");
  EXPECT_EQ(text_of(*pages, "api", 503), "shop") << "the route goes before the status";
  EXPECT_EQ(text_of(*pages, "other", 503), "any 503");
  EXPECT_EQ(text_of(*pages, "other", 502), "any 5xx");
  EXPECT_EQ(text_of(*pages, "other", 404), "none");
}

TEST(ErrorPages, BackendsAnswersAreReplacedOnlyWhereItSaysSo) {
  const auto pages =
      ErrorPages::load({{.statuses = {{500, 599}}, .body = "own"},
                        {.statuses = {{503, 503}}, .body = "both", .backend_errors = true}});
  ASSERT_TRUE(pages.has_value());
  EXPECT_TRUE(pages->replaces_backend_errors());
  EXPECT_EQ(text_of(*pages, "r", 500, true), "none");
  EXPECT_EQ(text_of(*pages, "r", 503, true), "both");
  EXPECT_EQ(text_of(*pages, "r", 503), "both");
}

TEST(ErrorPages, VariablesAreFilledInAndScriptsAreLeftAlone) {
  const auto pages =
      ErrorPages::load({{.statuses = {{404, 404}},
                         .body = "${status} ${reason} ${request_id} ${name} $status ${status}"}});
  ASSERT_TRUE(pages.has_value());
  EXPECT_EQ(text_of(*pages, "r", 404), "404 Reason id-1 ${name} $status 404");
}

TEST(ErrorPages, ARequestIdIsNoHtml) {
  const ErrorPage page("<p>${request_id}", "text/html; charset=utf-8");
  Arena arena;
  EXPECT_EQ(page.fill({502, "Bad Gateway", "a'&<b>\""}, arena), "<p>a&#39;&amp;&lt;b&gt;&quot;");
  const ErrorPage plain("${request_id}", "text/plain");
  EXPECT_EQ(plain.fill({502, "Bad Gateway", "a'&"}, arena), "a'&");
}

TEST(ErrorPages, FilesAreReadWhole) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("pqedge-page-" + std::to_string(::getpid()) + ".html");
  std::ofstream(path) << "<h1>${status}</h1>";
  const auto pages = ErrorPages::load({{.statuses = {{404, 404}}, .file = path.string()}});
  ASSERT_TRUE(pages.has_value()) << pages.error().message;
  EXPECT_EQ(text_of(*pages, "r", 404), "<h1>404</h1>");
  EXPECT_EQ(pages->find("r", 404, false)->content_type(), "text/html; charset=utf-8");
  std::ofstream(path) << std::string(kMaxPageFile + 1, 'x');
  EXPECT_NE(read_page_file(path.string()).error().message.find("larger than 256KiB"),
            std::string::npos);
  std::filesystem::remove(path);
  EXPECT_NE(read_page_file(path.string()).error().message.find("cannot read"), std::string::npos);
  EXPECT_NE(read_page_file("/tmp").error().message.find("is not a file"), std::string::npos);
}

TEST(ErrorPages, WhatMakesNoSenseIsRefused) {
  const Problems p = validate({{.statuses = {}, .body = "x"},
                               {.statuses = {{302, 302}}, .body = "x"},
                               {.statuses = {{404, 404}}},
                               {.statuses = {{404, 404}}, .file = "a", .body = "b"},
                               {.statuses = {{404, 404}}, .body = "b", .content_type = "html"}});
  std::vector<std::string> keys;
  for (const Problem& one : p) keys.push_back(one.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"error_page[0].status", "error_page[1].status[0]",
                                            "error_page[2]", "error_page[3]",
                                            "error_page[4].content_type"}));
}

}  // namespace
}  // namespace pqedge::content
