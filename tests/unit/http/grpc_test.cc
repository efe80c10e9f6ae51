// What a proxy has to know of gRPC and gRPC-Web. Values: PROTOCOL-HTTP2.md, PROTOCOL-WEB.md,
// http-grpc-status-mapping.md of grpc/grpc; RFC 4648 10.
#include "http/grpc.h"

#include <gtest/gtest.h>

#include "http/grpc_web.h"

namespace pqedge::http {
namespace {

TEST(Grpc, Kinds) {
  for (const auto type : {"application/grpc", "application/grpc+proto", "application/grpc;x=y",
                          "Application/GRPC+json"}) {
    EXPECT_EQ(grpc_kind(type), GrpcKind::grpc) << type;
  }
  for (const auto type : {"application/grpc-web", "application/grpc-web+proto"}) {
    EXPECT_EQ(grpc_kind(type), GrpcKind::web) << type;
  }
  for (const auto type : {"application/grpc-web-text", "application/grpc-web-text+proto"}) {
    EXPECT_EQ(grpc_kind(type), GrpcKind::web_text) << type;
  }
  for (const auto type : {"", "application/json", "application/grpcx", "application/grpc-webx",
                          "text/plain; application/grpc"}) {
    EXPECT_EQ(grpc_kind(type), GrpcKind::none) << type;
  }
}

TEST(Grpc, KindOfARequest) {
  Arena arena;
  Request r(arena);
  r.method = Method::post;
  r.version = Version::http2;
  r.fields.add(Name::content_type, "application/grpc");
  EXPECT_EQ(grpc_kind(r), GrpcKind::grpc);
  r.version = Version::http11;  // without trailers there is no gRPC
  EXPECT_EQ(grpc_kind(r), GrpcKind::none);
  r.fields.set(Name::content_type, "application/grpc-web");
  EXPECT_EQ(grpc_kind(r), GrpcKind::web);
  r.method = Method::get;
  EXPECT_EQ(grpc_kind(r), GrpcKind::none);
}

TEST(Grpc, Statuses) {
  const std::pair<uint16_t, int> expected[] = {{400, 13}, {401, 16}, {403, 7},  {404, 12},
                                               {429, 14}, {502, 14}, {503, 14}, {504, 14},
                                               {413, 8},  {431, 8},  {500, 2},  {405, 2}};
  for (const auto& [http, grpc] : expected) {
    EXPECT_EQ(static_cast<int>(grpc_status_of(http)), grpc) << http;
    EXPECT_EQ(text(grpc_status_of(http)), std::to_string(grpc)) << http;
  }
}

TEST(Grpc, Timeouts) {
  EXPECT_EQ(parse_grpc_timeout("1H"), 3600 * kSecond);
  EXPECT_EQ(parse_grpc_timeout("2M"), 120 * kSecond);
  EXPECT_EQ(parse_grpc_timeout("3S"), 3 * kSecond);
  EXPECT_EQ(parse_grpc_timeout("100m"), 100 * kMillisecond);
  EXPECT_EQ(parse_grpc_timeout("5u"), Nanos{5000});
  EXPECT_EQ(parse_grpc_timeout("99999999n"), Nanos{99999999});
  EXPECT_EQ(parse_grpc_timeout("99999999H"), kLongestTimeout);
  for (const auto wrong : {"", "1", "S", "1s", "-1S", "123456789S", "1.5S", " 1S", "1 S"}) {
    EXPECT_EQ(parse_grpc_timeout(wrong), std::nullopt) << wrong;
  }
}

TEST(Grpc, Messages) {
  Arena arena;
  EXPECT_EQ(grpc_message("no server is free", arena), "no server is free");
  EXPECT_EQ(grpc_message("100% \n\xc3\xa4", arena), "100%25 %0A%C3%A4");
}

TEST(GrpcWeb, Types) {
  EXPECT_EQ(to_grpc_type("application/grpc-web+proto"), "application/grpc+proto");
  EXPECT_EQ(to_grpc_type("application/grpc-web-text"), "application/grpc");
  EXPECT_EQ(to_grpc_type("application/grpc-web-text+json"), "application/grpc+json");
  EXPECT_EQ(to_grpc_web_type("application/grpc+proto", false), "application/grpc-web+proto");
  EXPECT_EQ(to_grpc_web_type("application/grpc", true), "application/grpc-web-text");
}

TEST(GrpcWeb, TrailerFrame) {
  Arena arena;
  Fields trailers(arena);
  EXPECT_EQ(grpc_web_trailers(trailers), "");  // K58: never an empty one
  trailers.add("grpc-status", "10");
  trailers.add("X-Detail", "a b");
  const std::string section = "grpc-status: 10\r\nx-detail: a b\r\n";
  std::string frame("\x80\0\0\0", 4);
  frame += static_cast<char>(section.size());
  EXPECT_EQ(grpc_web_trailers(trailers), frame + section);
}

TEST(GrpcWeb, Base64AsItComes) {
  // RFC 4648 10, whole and character by character.
  const std::pair<std::string_view, std::string_view> vectors[] = {{"", ""},
                                                                   {"Zg==", "f"},
                                                                   {"Zm8=", "fo"},
                                                                   {"Zm9v", "foo"},
                                                                   {"Zm9vYg==", "foob"},
                                                                   {"Zm9vYmE=", "fooba"},
                                                                   {"Zm9vYmFy", "foobar"}};
  for (const auto& [text, plain] : vectors) {
    Base64Stream once;
    EXPECT_EQ(once.decode(text), plain);
    Base64Stream pieces;
    std::string got;
    for (const char c : text) got += *pieces.decode({&c, 1});
    EXPECT_EQ(got, plain);
    EXPECT_EQ(pieces.begun(), 0u);
  }
  Base64Stream parts;  // each piece with padding of its own
  EXPECT_EQ(parts.decode("Zg==Zm8=Zm9v"), "ffofoo");
  Base64Stream open;
  EXPECT_EQ(open.decode("Zm9vYg"), "foo");
  EXPECT_EQ(open.begun(), 2u);
  for (const auto wrong : {"Zm9*", "=m9v", "Z=9v", "Zg=v", "Zm 9", "===="}) {
    Base64Stream s;
    EXPECT_EQ(s.decode(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace pqedge::http
