// The request that a run repeats, prepared once, and the judgement of its answers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "measure/load/handles.h"
#include "measure/load/options.h"
#include "measure/load/tally.h"

namespace pqedge::measure::load {

// One request on its way, and what has come back of it.
struct Exchange {
  Nanos intended = 0;  // when it should have been sent
  Nanos sent = 0;      // when the connection got it
  int64_t stream = -1;
  int status = 0;
  uint64_t body = 0;      // bytes received
  uint64_t uploaded = 0;  // bytes given to the transport
  DigestPtr digest;       // of the answer's body, when one is expected
  bool active = false;
};

class RequestPlan {
 public:
  explicit RequestPlan(const Options& options);

  // The request line and fields of HTTP/1.1, blank line included.
  const std::string& http1_head() const { return http1_head_; }
  // The pseudo-header fields and fields of HTTP/2 and 3.
  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }
  bool answer_has_body() const { return answer_has_body_; }
  uint64_t upload_size() const { return upload_size_; }

  // The next bytes of the upload from `offset`, at most `most`; they live as long as the plan.
  std::span<const uint8_t> upload_bytes(uint64_t offset, size_t most) const;

  void begin(Exchange& exchange) const;
  void take_body(Exchange& exchange, std::span<const uint8_t> bytes) const;
  // Whether a complete answer is the expected one.
  struct Fault {
    Failure failure;
    std::string detail;
  };
  std::optional<Fault> judge(Exchange& exchange) const;

 private:
  std::string http1_head_;
  std::vector<std::pair<std::string, std::string>> fields_;
  std::vector<uint8_t> pattern_;  // uploads repeat it
  uint64_t upload_size_;
  bool answer_has_body_;
  int expect_status_;
  std::optional<uint64_t> expect_size_;
  std::optional<std::array<uint8_t, 32>> expect_sha256_;
};

}  // namespace pqedge::measure::load
