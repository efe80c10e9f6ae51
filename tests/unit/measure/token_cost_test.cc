#include <gtest/gtest.h>

#include <algorithm>

#include "http/limits.h"
#include "measure/token/documented_limits.h"
#include "measure/token/field_cost.h"
#include "measure/token/request_forms.h"
#include "measure/token/token.h"

namespace pqedge::measure {
namespace {

std::string bearer(size_t token) { return "Bearer " + std::string(token, 'a'); }

// RFC 7541 4.1: name + value + 32 in a table of 4,096; so a token of 4,044 is the last to fit.
TEST(FieldCost, AnIndexedTokenCostsOneByteIfItFitsTheTable) {
  const auto fits = hpack_cost_if_indexed(bearer(4044));
  ASSERT_TRUE(fits.has_value()) << fits.error().message;
  EXPECT_EQ(fits->following, 1u);
  const auto too_large = hpack_cost_if_indexed(bearer(4045));
  ASSERT_TRUE(too_large.has_value());
  EXPECT_GT(too_large->following, 2000u);
  EXPECT_EQ(too_large->first, too_large->following);
}

// RFC 7541 C.4 and its Huffman code: 'a' takes 5 bits. Two bytes of name, three of length.
TEST(FieldCost, LiteralsAreHuffmanCoded) {
  const auto cost = hpack_cost("authorization", bearer(800));
  ASSERT_TRUE(cost.has_value());
  const size_t huffman = (6 + 5 + 5 + 6 + 5 + 6 + 6 + 800 * 5 + 7) / 8;  // "Bearer " at most 7 bits
  EXPECT_NEAR(static_cast<double>(cost->first), static_cast<double>(huffman + 5), 2);
}

TEST(FieldCost, Nghttp2NeverIndexesAuthorizationButCookies) {
  const auto authorization = hpack_cost("authorization", bearer(400));
  EXPECT_EQ(authorization->first, authorization->following);
  const auto cookie = hpack_cost("cookie", "token=" + std::string(400, 'a'));
  EXPECT_GT(cookie->first, 200u);
  EXPECT_LE(cookie->following, 2u);
}

TEST(FieldCost, QpackHasNoTableUntilThePeerGrantsOne) {
  const auto none = qpack_cost("cookie", "token=" + std::string(400, 'a'), 0);
  ASSERT_TRUE(none.has_value()) << none.error().message;
  EXPECT_EQ(none->first, none->following);
  EXPECT_GT(none->first, 200u);
  const auto granted = qpack_cost("cookie", "token=" + std::string(400, 'a'), 4096);
  ASSERT_TRUE(granted.has_value()) << granted.error().message;
  EXPECT_GE(granted->first, none->first - 4);
  EXPECT_LE(granted->following, 4u);
}

TEST(Forms, AreTheLengthsOfTheText) {
  const std::string token(123, 't');
  const std::string host(kRequestHost), path(kRequestPath), agent(kRequestAgent),
      accept(kRequestAccept);
  const RequestForms forms(token.size());
  const std::string line = "Authorization: Bearer " + token + "\r\n";
  EXPECT_EQ(forms.authorization_line(), line.size());
  EXPECT_EQ(forms.cookie_line(), ("Cookie: token=" + token + "\r\n").size());
  EXPECT_EQ(forms.request_line(),
            ("GET " + path + "?access_token=" + token + " HTTP/1.1\r\n").size());
  EXPECT_EQ(forms.whole_head(), ("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: " +
                                 agent + "\r\nAccept: " + accept + "\r\n" + line + "\r\n")
                                    .size());
}

// The lines of an ML-DSA-87 and an SLH-DSA-128s token: 6,518 and 10,833 bytes.
TEST(Limits, DecideAsTheirMakersCount) {
  EXPECT_EQ(bytes_against(Counted::field_line, 6494), 6518u);
  EXPECT_EQ(bytes_against(Counted::field_line, 10'809), 10'833u);
  EXPECT_EQ(bytes_against(Counted::cookie_pair, 3551), 3556u);
  EXPECT_EQ(bytes_against(Counted::value, 3551), 3551u);
}

TEST(Limits, OursAreOurOwnDefaults) {
  const auto limits = documented_limits();
  const auto ours = std::ranges::find(limits, "pqedge, field list", &DocumentedLimit::name);
  ASSERT_NE(ours, limits.end());
  EXPECT_EQ(ours->bytes, http::Limits{}.max_head);
  for (const DocumentedLimit& limit : limits) EXPECT_FALSE(limit.source.empty()) << limit.name;
}

class Tokens : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    record_ = new Record;
    ASSERT_TRUE(run_tokens({}, *record_).has_value());
  }
  static void TearDownTestSuite() { delete record_; }
  static const TokenRecord& token(std::string_view name) {
    return *std::ranges::find(record_->tokens, name, &TokenRecord::algorithm);
  }
  static bool fits(std::string_view algorithm, std::string_view limit) {
    const TokenRecord& made = token(algorithm);
    const bool in = std::ranges::find(made.fits_in, limit) != made.fits_in.end();
    const bool out = std::ranges::find(made.too_large_for, limit) != made.too_large_for.end();
    EXPECT_NE(in, out) << algorithm << ", " << limit;
    return in;
  }
  static Record* record_;
};
Record* Tokens::record_ = nullptr;

// 404 with the reference claims, and from the signatures' lengths (RFC 7518 3.4, FIPS 204, FIPS
// 205).
TEST_F(Tokens, HaveTheSizesThatFollowFromTheirSignatures) {
  EXPECT_EQ(record_->token_claims.size(), 210u);
  const std::pair<const char*, size_t> expected[] = {
      {"ES256", 404},      {"PS256, RSA-2048", 660},     {"PS256, RSA-3072", 830},
      {"Ed25519", 407},    {"ML-DSA-44", 3551},          {"ML-DSA-65", 4736},
      {"ML-DSA-87", 6494}, {"SLH-DSA-SHA2-128s", 10'809}};
  for (const auto& [name, size] : expected) {
    EXPECT_EQ(token(name).total, size) << name;
    EXPECT_EQ(token(name).header + token(name).payload + token(name).signature + 2, size);
  }
  EXPECT_NEAR(token("ML-DSA-44").multiple_of_es256, 8.79, 0.005);
  EXPECT_NEAR(token("ML-DSA-65").multiple_of_es256, 11.72, 0.005);
  EXPECT_NEAR(token("ML-DSA-87").multiple_of_es256, 16.07, 0.005);
}

TEST_F(Tokens, AreMarkedWhenTheirNamesAreOfDrafts) {
  EXPECT_TRUE(token("ML-DSA-65").registered);
  EXPECT_FALSE(token("SLH-DSA-SHA2-128s").registered);
  EXPECT_NE(token("SLH-DSA-SHA2-128s").note.find("draft"), std::string::npos);
}

TEST_F(Tokens, FalconIsAbsentWithoutALibrary) {
  const auto absent =
      std::ranges::find(record_->absent, "token FN-DSA-512", &AbsentRecord::algorithm);
  EXPECT_NE(absent, record_->absent.end());
}

TEST_F(Tokens, FitLimitsOrNot) {
  EXPECT_TRUE(fits("ML-DSA-44", "cookie in a browser"));
  EXPECT_FALSE(fits("ML-DSA-65", "cookie in a browser"));
  EXPECT_TRUE(fits("ML-DSA-87", "nginx, one field"));
  EXPECT_FALSE(fits("SLH-DSA-SHA2-128s", "nginx, one field"));
  EXPECT_FALSE(fits("SLH-DSA-SHA2-128s", "gRPC, metadata"));
  EXPECT_TRUE(fits("SLH-DSA-SHA2-128s", "HAProxy, whole head"));
  EXPECT_TRUE(fits("SLH-DSA-SHA2-128s", "Node, whole head"));
  EXPECT_FALSE(fits("SLH-DSA-SHA2-128f", "Node, whole head"));
}

// The step that header compression makes: with an encoder that indexes what fits, ML-DSA-44 is a
// byte from the second request on, ML-DSA-65 never is.
TEST_F(Tokens, HeaderCompressionEndsBetweenMlDsa44And65) {
  EXPECT_EQ(token("ML-DSA-44").following_request.at("hpack if indexed"), 1u);
  EXPECT_GT(token("ML-DSA-65").following_request.at("hpack if indexed"), 3000u);
  EXPECT_EQ(token("ML-DSA-44").following_request.at("hpack"),
            token("ML-DSA-44").first_request.at("hpack"));
  EXPECT_EQ(token("ML-DSA-44").following_request.at("qpack"),
            token("ML-DSA-44").first_request.at("qpack"));
}

}  // namespace
}  // namespace pqedge::measure
