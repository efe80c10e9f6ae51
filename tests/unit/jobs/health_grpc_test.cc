// Messages of grpc.health.v1, byte by byte as its .proto has them.
#include <gtest/gtest.h>

#include <string>

#include "jobs/health_check.h"

namespace pqedge::jobs {
namespace {

using namespace std::string_literals;

TEST(GrpcHealth, AsksForTheServerOrAService) {
  EXPECT_EQ(grpc_health_request(""), "\0\0\0\0\0"s);
  EXPECT_EQ(grpc_health_request("echo"), "\0\0\0\0\x06\x0a\x04"s + "echo");
  const std::string name(200, 'x');
  EXPECT_EQ(grpc_health_request(name), "\0\0\0\0\xcb\x0a\xc8\x01"s + name);
}

TEST(GrpcHealth, OnlyServingIsWell) {
  EXPECT_TRUE(*read_grpc_health("\0\0\0\0\x02\x08\x01"s));
  EXPECT_FALSE(*read_grpc_health("\0\0\0\0\x02\x08\x02"s));
  EXPECT_FALSE(*read_grpc_health("\0\0\0\0\0"s));  // UNKNOWN is the default
  // Fields of later versions are skipped.
  EXPECT_TRUE(*read_grpc_health("\0\0\0\0\x06\x12\x02\x61\x62\x08\x01"s));
}

TEST(GrpcHealth, OtherBytesAreRefused) {
  for (const std::string& bad :
       {""s, "\0\0\0\0"s, "\1\0\0\0\0"s, "\0\0\0\0\x01"s, "\0\0\0\0\x01\x08"s,
        "\0\0\0\0\x02\x08\x80"s, "\0\0\0\0\x02\x12\x05"s, "\0\0\0\0\x02\x0b\x01"s,
        "\0\0\0\0\x01\x09"s, "\0\0\0\0\x02\x00\x01"s, "\0\0\0\0\x02\x08\x01\x00"s,
        "\0\xff\xff\xff\xff\x08\x01"s}) {
    EXPECT_FALSE(read_grpc_health(bad));
  }
}

}  // namespace
}  // namespace pqedge::jobs
