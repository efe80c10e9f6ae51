#include "measure/load/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "measure/load/request_plan.h"

namespace pqedge::measure::load {
namespace {

Options with_url(std::string_view url) {
  Options options;
  const auto set = set_url(options, url);
  EXPECT_TRUE(set) << url;
  return options;
}

TEST(LoadOptions, ReadsAUrl) {
  Options options = with_url("https://example.com:8443/a/b?c#d");
  EXPECT_TRUE(options.tls);
  EXPECT_EQ(options.host, "example.com");
  EXPECT_EQ(options.port, 8443);
  EXPECT_EQ(options.path, "/a/b?c");
  options = with_url("http://[::1]?q");
  EXPECT_FALSE(options.tls);
  EXPECT_EQ(options.host, "[::1]");
  EXPECT_EQ(options.port, 80);
  EXPECT_EQ(options.path, "/?q");
  EXPECT_EQ(with_url("https://[::1]:444").port, 444);
}

TEST(LoadOptions, RefusesWhatIsNoUrl) {
  Options options;
  for (const std::string_view url : {"", "example.com", "ftp://x/", "https://", "https://:1/",
                                     "https://x:0/", "https://x:65536/", "https://x:y/"}) {
    EXPECT_FALSE(set_url(options, url)) << url;
  }
}

TEST(LoadOptions, RefusesWhatCannotWorkTogether) {
  Options options = with_url("https://x/");
  options.streams = 10;
  EXPECT_FALSE(validate(options));
  options.protocol = Protocol::kHttp3;
  EXPECT_TRUE(validate(options));
  options.handshake_each = true;
  EXPECT_FALSE(validate(options));
  options = with_url("http://x/");
  EXPECT_TRUE(validate(options));
  options.protocol = Protocol::kHttp2;
  EXPECT_FALSE(validate(options));
}

TEST(LoadRequestPlan, JudgesStatusSizeAndDigest) {
  Options options = with_url("https://x/");
  options.expect_size = 3;
  // SHA-256 of "abc", FIPS 180-2 appendix B.1.
  const auto digest = from_hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  std::ranges::copy(*digest, options.expect_sha256.emplace().begin());
  const RequestPlan plan(options);
  const auto judge = [&](std::string_view body, int status) {
    Exchange exchange;
    plan.begin(exchange);
    exchange.status = status;
    // In two pieces.
    const auto* bytes = reinterpret_cast<const uint8_t*>(body.data());
    plan.take_body(exchange, {bytes, 1});
    plan.take_body(exchange, {bytes + 1, body.size() - 1});
    return plan.judge(exchange);
  };
  EXPECT_FALSE(judge("abc", 200));
  EXPECT_EQ(judge("abc", 404)->failure, Failure::kStatus);
  EXPECT_EQ(judge("abcd", 200)->failure, Failure::kBody);
  EXPECT_EQ(judge("abd", 200)->failure, Failure::kBody);
}

TEST(LoadRequestPlan, UploadsRepeatThePatternWithoutASeam) {
  Options options = with_url("https://x/");
  options.upload_size = 200'000;
  const RequestPlan plan(options);
  std::vector<uint8_t> whole;
  while (whole.size() < options.upload_size) {
    const auto piece = plan.upload_bytes(whole.size(), 70'001);
    ASSERT_FALSE(piece.empty());
    whole.insert(whole.end(), piece.begin(), piece.end());
  }
  ASSERT_EQ(whole.size(), options.upload_size);
  // The same bytes in other pieces.
  for (size_t at = 0; at < whole.size();) {
    const auto piece = plan.upload_bytes(at, 997);
    ASSERT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + static_cast<ssize_t>(at)));
    at += piece.size();
  }
}

TEST(LoadOptions, SharesAndClientCertificatesAreChecked) {
  Options options = with_url("https://localhost/");
  options.handshake_each = options.resume = true;
  options.resumption = 0.46;
  EXPECT_TRUE(validate(options));
  options.resumption = 1.5;
  EXPECT_FALSE(validate(options));
  options.resumption = 1;
  options.certificate_file = "client.pem";
  EXPECT_FALSE(validate(options));
  options.key_file = "client.key";
  EXPECT_TRUE(validate(options));
}

}  // namespace
}  // namespace pqedge::measure::load
