// What is known of each certificate's response and timestamps, for the status page.
#include <format>

#include "base/text.h"
#include "edge/stapling.h"

namespace pqedge::edge {
namespace {

void append_text(std::string& out, std::string_view text) {
  out += '"';
  append_json_escaped(out, text);
  out += '"';
}

void append_ocsp(std::string& out, const jobs::OcspNews& ocsp) {
  out += "\"ocsp\":{\"status\":";
  append_text(out, ocsp.status);
  std::format_to(std::back_inserter(out),
                 ",\"stapled\":{},\"valid_until\":{},\"next_question\":{},\"error\":",
                 ocsp.response.empty() ? "false" : "true", ocsp.valid_until, ocsp.next_question);
  append_text(out, ocsp.error);
  out += '}';
}

void append_report(std::string& out, const crypto::TimestampReport& report, bool checked) {
  out += "{\"source\":";
  append_text(out, name(report.source));
  std::format_to(std::back_inserter(out), ",\"count\":{}", report.count);
  if (checked) {
    std::format_to(std::back_inserter(out), ",\"good\":{},\"unknown\":{},\"logs\":[", report.good,
                   report.unknown);
    for (size_t i = 0; i < report.logs.size(); ++i) {
      if (i > 0) out += ',';
      append_text(out, report.logs[i]);
    }
    out += ']';
  }
  out += ",\"problems\":[";
  for (size_t i = 0; i < report.problems.size(); ++i) {
    if (i > 0) out += ',';
    append_text(out, report.problems[i]);
  }
  out += "]}";
}

}  // namespace

std::string Stapling::status_json() const {
  std::string out = "[";
  for (const auto& [id, item] : items_) {
    if (out.size() > 1) out += ',';
    out += "{\"certificate\":";
    append_text(out, item.label);
    out += ',';
    append_ocsp(out, item.ocsp);
    out += ",\"timestamps\":[";
    for (size_t i = 0; i < item.reports.size(); ++i) {
      if (i > 0) out += ',';
      append_report(out, item.reports[i], logs_ != nullptr);
    }
    out += "]}";
  }
  return out + ']';
}

}  // namespace pqedge::edge
