#include "record/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <format>
#include <iterator>
#include <map>
#include <string_view>

#include "base/counters.h"
#include "base/text.h"
#include "record/process_metrics.h"
#include "record/published_series.h"

namespace pqedge::record {
namespace {

using counters::Kind;
using counters::Label;
using counters::Labels;

struct Bucket {
  double bound;  // infinite for +Inf
  std::string le;
  uint64_t count;
};

struct HistogramSeries {
  std::vector<Bucket> buckets;
  uint64_t sum = 0;  // in microseconds or bytes
  bool of_bytes = false;
};

struct Value {
  Labels labels;
  std::string text;
};

// All series of one name.
struct Family {
  std::string help;
  std::string_view type;
  std::vector<Value> values;
  std::map<std::vector<std::string>, std::pair<Labels, HistogramSeries>> histograms;  // by labels
};
using Families = std::map<std::string, Family, std::less<>>;

std::vector<std::string> key_of(const Labels& labels) {
  std::vector<std::string> key;
  for (const Label& l : labels) {
    key.push_back(l.name);
    key.push_back(l.value);
  }
  return key;
}

double bound_of(std::string_view le) {
  double bound = 0;
  if (le == "+Inf") return INFINITY;
  std::from_chars(le.data(), le.data() + le.size(), bound);
  return bound;
}

std::string number(double v) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, v).ptr};
}

// base/counters.h writes a histogram as NAME_bucket{..., le} (not cumulative) and NAME_sum_micros
// or NAME_sum_bytes.
void add_series(Families& families, const counters::Series& s) {
  constexpr std::string_view kBucket = "_bucket";
  constexpr std::string_view kSum = "_sum_micros";
  constexpr std::string_view kByteSum = "_sum_bytes";
  if (s.name.ends_with(kBucket) && !s.labels->empty() && s.labels->back().name == "le") {
    Family& f = families[std::string(s.name.substr(0, s.name.size() - kBucket.size()))];
    f.help = s.help;
    f.type = "histogram";
    const Labels labels(s.labels->begin(), s.labels->end() - 1);
    auto& [kept, histogram] = f.histograms[key_of(labels)];
    kept = labels;
    const std::string& le = s.labels->back().value;
    histogram.buckets.push_back({bound_of(le), le, s.value});
  } else if (s.name.ends_with(kSum) || s.name.ends_with(kByteSum)) {
    const bool of_bytes = s.name.ends_with(kByteSum);
    const size_t suffix = of_bytes ? kByteSum.size() : kSum.size();
    Family& f = families[std::string(s.name.substr(0, s.name.size() - suffix))];
    f.help = s.help;
    f.type = "histogram";
    auto& [kept, histogram] = f.histograms[key_of(*s.labels)];
    kept = *s.labels;
    histogram.sum = s.value;
    histogram.of_bytes = of_bytes;
  } else {
    Family& f = families[std::string(s.name)];
    f.help = s.help;
    f.type = s.kind == Kind::gauge ? "gauge" : "counter";
    // The shards of a gauge are sums modulo 2^64 of what was added and subtracted.
    f.values.push_back({*s.labels, s.kind == Kind::gauge
                                       ? std::to_string(static_cast<int64_t>(s.value))
                                       : std::to_string(s.value)});
  }
}

Families collect() {
  Families families;
  counters::for_each([&](const counters::Series& s) { add_series(families, s); });
  for (auto& [name, family] : families) {
    for (auto& [key, entry] : family.histograms) {
      std::ranges::sort(entry.second.buckets, {}, &Bucket::bound);
      uint64_t below = 0;
      for (Bucket& b : entry.second.buckets) b.count = below += b.count;
    }
  }
  std::vector<ProcessSeries> more = process_series();
  std::ranges::move(published_series(), std::back_inserter(more));
  for (ProcessSeries& s : more) {
    Family& f = families[s.name];
    f.help = std::move(s.help);
    f.type = s.kind == Kind::gauge ? "gauge" : "counter";
    f.values.push_back({std::move(s.labels), number(s.value)});
  }
  return families;
}

uint64_t total(const HistogramSeries& h) { return h.buckets.empty() ? 0 : h.buckets.back().count; }

// In the base unit, as Prometheus wants it: seconds or bytes.
std::string sum_of(const HistogramSeries& h) {
  if (h.of_bytes) return std::to_string(h.sum);
  return std::format("{}.{:06}", h.sum / 1'000'000, h.sum % 1'000'000);
}

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

void append_sample(std::string& out, std::string_view name, std::string_view suffix,
                   const Labels& labels, std::string_view le, std::string_view value) {
  out += name;
  out += suffix;
  const size_t before = out.size();
  const auto add = [&](std::string_view label, std::string_view text) {
    out += out.size() == before ? '{' : ',';
    out += label;
    out += "=\"";
    append_escaped(out, text, true);
    out += '"';
  };
  for (const Label& l : labels) add(l.name, l.value);
  if (!le.empty()) add("le", le);
  if (out.size() != before) out += '}';
  out += ' ';
  out += value;
  out += '\n';
}

void append_json_labels(std::string& out, const Labels& labels) {
  out += "\"labels\":{";
  for (size_t i = 0; i < labels.size(); ++i) {
    out += i == 0 ? "\"" : ",\"";
    append_json_escaped(out, labels[i].name);
    out += "\":\"";
    append_json_escaped(out, labels[i].value);
    out += '"';
  }
  out += '}';
}

void append_json_histogram(std::string& out, const HistogramSeries& h) {
  out += ",\"buckets\":[";
  for (size_t i = 0; i < h.buckets.size(); ++i) {
    std::format_to(std::back_inserter(out), "{}{{\"le\":\"{}\",\"count\":{}}}", i == 0 ? "" : ",",
                   h.buckets[i].le, h.buckets[i].count);
  }
  std::format_to(std::back_inserter(out), "],\"sum\":{},\"count\":{}", sum_of(h), total(h));
}

void append_json_family(std::string& out, const std::string& name, const Family& family) {
  out += "{\"name\":\"";
  append_json_escaped(out, name);
  out += "\",\"type\":\"";
  out += family.type;
  out += "\",\"help\":\"";
  append_json_escaped(out, family.help);
  out += "\",\"series\":[";
  bool first = true;
  const auto open = [&](const Labels& labels) {
    out += first ? "{" : ",{";
    first = false;
    append_json_labels(out, labels);
  };
  for (const Value& v : family.values) {
    open(v.labels);
    out += ",\"value\":" + v.text + '}';
  }
  for (const auto& [key, entry] : family.histograms) {
    open(entry.first);
    append_json_histogram(out, entry.second);
    out += '}';
  }
  out += "]}";
}

}  // namespace

std::string prometheus_text() {
  std::string out;
  for (const auto& [name, family] : collect()) {
    out += "# HELP " + name + ' ';
    append_escaped(out, family.help, false);
    out += "\n# TYPE " + name + ' ';
    out += family.type;
    out += '\n';
    for (const Value& v : family.values) append_sample(out, name, "", v.labels, "", v.text);
    for (const auto& [key, entry] : family.histograms) {
      const auto& [labels, h] = entry;
      for (const Bucket& b : h.buckets) {
        append_sample(out, name, "_bucket", labels, b.le, std::to_string(b.count));
      }
      append_sample(out, name, "_sum", labels, "", sum_of(h));
      append_sample(out, name, "_count", labels, "", std::to_string(total(h)));
    }
  }
  return out;
}

std::string metrics_json() {
  std::string out = "{\"metrics\":[";
  bool first = true;
  for (const auto& [name, family] : collect()) {
    if (!first) out += ',';
    first = false;
    append_json_family(out, name, family);
  }
  out += "]}\n";
  return out;
}

}  // namespace pqedge::record
