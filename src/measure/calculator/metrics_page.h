// Traffic as a running pqedge counted it: its metrics page, in Prometheus's text format.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/calculator/inputs.h"

namespace pqedge::measure {

struct Sample {
  std::map<std::string, std::string> labels;
  double value = 0;
};

class MetricsPage {
 public:
  // Of the text exposition format 0.0.4, what pqedge writes.
  static Result<MetricsPage> parse(std::string_view text, std::string_view source);

  const std::vector<Sample>& samples(std::string_view name) const;  // empty: there are none
  double sum(std::string_view name) const;
  // By the value of one label.
  std::map<std::string, double> sum_by(std::string_view name, const std::string& label) const;

 private:
  std::map<std::string, std::vector<Sample>, std::less<>> series_;
};

// A file, or an http:// or https:// address that is asked once. `read_at` is when the page was
// made: now, or the file's time (seconds since 1970).
struct FetchedPage {
  std::string text;
  double read_at = 0;
};
Result<FetchedPage> fetch_page(const std::string& file_or_url);

// Sets connections_per_second, resumption, requests_per_connection and http from the totals since
// the process began, and returns what it did in sentences. Too young a process, or one without
// handshakes, is an error.
Result<std::vector<std::string>> inputs_from_metrics(const MetricsPage& page, double read_at,
                                                     Inputs& inputs);

}  // namespace pqedge::measure
