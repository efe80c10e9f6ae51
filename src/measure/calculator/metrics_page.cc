#include "measure/calculator/metrics_page.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace pqedge::measure {
namespace {

std::string_view take_until(std::string_view& text, std::string_view ends) {
  const size_t at = std::min(text.find_first_of(ends), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at);
  return taken;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// In quotes, with \\, \" and \n.
bool take_quoted(std::string_view& text, std::string& to) {
  if (!take(text, '"')) return false;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '"') return true;
    if (c != '\\') {
      to += c;
      continue;
    }
    if (text.empty()) return false;
    to += text.front() == 'n' ? '\n' : text.front();
    text.remove_prefix(1);
  }
  return false;
}

bool take_labels(std::string_view& text, std::map<std::string, std::string>& labels) {
  if (!take(text, '{')) return true;
  while (!take(text, '}')) {
    const std::string name(take_until(text, "=}"));
    if (name.empty() || !take(text, '=') || !take_quoted(text, labels[name])) return false;
    if (!take(text, ',') && !text.starts_with('}')) return false;
  }
  return true;
}

bool take_value(std::string_view text, double& value) {
  text = trim_ows(text);
  text = take_until(text, " \t");  // a time stamp may follow
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

Result<MetricsPage> MetricsPage::parse(std::string_view text, std::string_view source) {
  MetricsPage page;
  for (size_t number = 1; !text.empty(); ++number) {
    std::string_view line = take_until(text, "\n");
    take(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    const std::string name(take_until(line, "{ \t"));
    Sample sample;
    if (name.empty() || !take_labels(line, sample.labels) || !take_value(line, sample.value)) {
      return fail("{}:{}: not a line of Prometheus's text format", source, number);
    }
    page.series_[name].push_back(std::move(sample));
  }
  if (page.series_.empty()) return fail("{}: holds no metric", source);
  return page;
}

const std::vector<Sample>& MetricsPage::samples(std::string_view name) const {
  static const std::vector<Sample> kNone;
  const auto it = series_.find(name);
  return it == series_.end() ? kNone : it->second;
}

double MetricsPage::sum(std::string_view name) const {
  double sum = 0;
  for (const Sample& s : samples(name)) sum += s.value;
  return sum;
}

std::map<std::string, double> MetricsPage::sum_by(std::string_view name,
                                                  const std::string& label) const {
  std::map<std::string, double> sums;
  for (const Sample& s : samples(name)) {
    const auto it = s.labels.find(label);
    sums[it == s.labels.end() ? "" : it->second] += s.value;
  }
  return sums;
}

Result<std::vector<std::string>> inputs_from_metrics(const MetricsPage& page, double read_at,
                                                     Inputs& inputs) {
  const auto& start = page.samples("process_start_time_seconds");
  if (start.empty()) return fail("the metrics have no process_start_time_seconds: not of a pqedge");
  const double seconds = read_at - start.front().value;
  if (seconds < 60) {
    return fail(
        "the metrics cover {:.0f} s: a rate takes a minute at least; if this is a saved "
        "page, its file's time must be that of the page",
        seconds);
  }
  const double handshakes = page.sum("pqedge_tls_handshakes_total");
  if (handshakes == 0) return fail("the metrics count no TLS handshake");
  const double resumed = page.sum("pqedge_tls_resumptions_total");
  inputs.connections_per_second = handshakes / seconds;
  inputs.resumption = std::min(1.0, share(resumed, handshakes));
  std::vector<std::string> said = {
      std::format("connections_per_second {:.6g}: {:.0f} handshakes in {:.0f} s "
                  "(pqedge_tls_handshakes_total)",
                  inputs.connections_per_second, handshakes, seconds),
      std::format("resumption {:.4g} (pqedge_tls_resumptions_total)", inputs.resumption)};

  const auto versions = page.sum_by("pqedge_request_duration_seconds_count", "version");
  double requests = 0;
  for (const auto& [version, count] : versions) requests += count;
  if (requests > 0) {
    inputs.requests_per_connection = requests / handshakes;
    const auto most =
        std::ranges::max_element(versions, {}, [](const auto& v) { return v.second; });
    inputs.http = most->first == "HTTP/3" ? "3" : most->first == "HTTP/2" ? "2" : "1.1";
    said.push_back(
        std::format("requests_per_connection {:.4g}, http {}: {:.0f} requests, {:.0f} % of them {} "
                    "(pqedge_request_duration_seconds)",
                    inputs.requests_per_connection, inputs.http, requests,
                    100 * share(most->second, requests), most->first));
  }
  for (const auto& [group, count] : page.sum_by("pqedge_tls_handshakes_total", "group")) {
    if (count > 0) {
      said.push_back(
          std::format("{:.1f} % of its handshakes used {}; 'before' and 'after' compare "
                      "all with one group each",
                      100 * share(count, handshakes), group));
    }
  }
  return said;
}

}  // namespace pqedge::measure
