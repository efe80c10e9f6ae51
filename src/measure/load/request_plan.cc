#include "measure/load/request_plan.h"

#include <algorithm>
#include <array>
#include <format>

#include "base/text.h"

namespace pqedge::measure::load {

namespace {

constexpr size_t kPatternSize = 65536;
constexpr std::string_view kUserAgent = "pqload";

}  // namespace

RequestPlan::RequestPlan(const Options& options)
    : upload_size_(options.upload_size),
      answer_has_body_(options.method != "HEAD"),
      expect_status_(options.expect_status),
      expect_size_(options.expect_size),
      expect_sha256_(options.expect_sha256) {
  const uint16_t usual_port = options.tls ? 443 : 80;
  std::string authority =
      options.port == usual_port ? options.host : std::format("{}:{}", options.host, options.port);
  std::vector<std::pair<std::string, std::string>> fields;
  bool has_agent = false;
  for (const auto& [name, value] : options.headers) {
    if (iequals(name, "host")) {
      authority = value;
      continue;
    }
    has_agent |= iequals(name, "user-agent");
    fields.emplace_back(to_lower(name), value);
  }
  if (!has_agent) fields.emplace(fields.begin(), "user-agent", kUserAgent);
  if (upload_size_ > 0) fields.emplace_back("content-length", std::to_string(upload_size_));

  http1_head_ =
      std::format("{} {} HTTP/1.1\r\nhost: {}\r\n", options.method, options.path, authority);
  for (const auto& [name, value] : fields) http1_head_ += std::format("{}: {}\r\n", name, value);
  http1_head_ += "\r\n";

  fields_ = {{":method", options.method},
             {":scheme", "https"},
             {":authority", authority},
             {":path", options.path}};
  fields_.insert(fields_.end(), fields.begin(), fields.end());

  if (upload_size_ > 0) {
    pattern_.resize(kPatternSize);
    for (size_t i = 0; i < pattern_.size(); ++i)
      pattern_[i] = static_cast<uint8_t>(i * 31 + i / 251);
  }
}

std::span<const uint8_t> RequestPlan::upload_bytes(uint64_t offset, size_t most) const {
  const size_t start = static_cast<size_t>(offset % pattern_.size());
  const uint64_t left = std::min<uint64_t>(upload_size_ - offset, pattern_.size() - start);
  return {pattern_.data() + start, static_cast<size_t>(std::min<uint64_t>(left, most))};
}

void RequestPlan::begin(Exchange& exchange) const {
  exchange.stream = -1;
  exchange.status = 0;
  exchange.body = 0;
  exchange.uploaded = 0;
  if (expect_sha256_) {
    if (!exchange.digest) exchange.digest.reset(EVP_MD_CTX_new());
    EVP_DigestInit_ex2(exchange.digest.get(), EVP_sha256(), nullptr);
  }
}

void RequestPlan::take_body(Exchange& exchange, std::span<const uint8_t> bytes) const {
  exchange.body += bytes.size();
  if (expect_sha256_) EVP_DigestUpdate(exchange.digest.get(), bytes.data(), bytes.size());
}

std::optional<RequestPlan::Fault> RequestPlan::judge(Exchange& exchange) const {
  if (exchange.status != expect_status_) {
    return Fault{Failure::kStatus,
                 std::format("{} instead of {}", exchange.status, expect_status_)};
  }
  if (expect_size_ && exchange.body != *expect_size_) {
    return Fault{Failure::kBody,
                 std::format("{} bytes instead of {}", exchange.body, *expect_size_)};
  }
  if (expect_sha256_) {
    std::array<uint8_t, 32> digest;
    EVP_DigestFinal_ex(exchange.digest.get(), digest.data(), nullptr);
    if (digest != *expect_sha256_) {
      return Fault{Failure::kBody, "SHA-256 " + to_hex(digest)};
    }
  }
  return std::nullopt;
}

}  // namespace pqedge::measure::load
