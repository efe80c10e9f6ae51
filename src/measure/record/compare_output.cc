#include <nlohmann/json.hpp>

#include "measure/record/compare.h"
#include "measure/record/markdown.h"
#include "measure/record/text.h"

namespace pqedge::measure {
namespace {

using Json = nlohmann::ordered_json;

std::string figure_text(const Finding& f, double value) {
  if (f.figure == "wire bytes") return count_text(static_cast<uint64_t>(value)) + " B";
  return value > 0 ? time_text(value) : "";
}

void add_row(TextTable& table, const Finding& f) {
  std::string change;
  if (f.ratio) {
    change = std::format("{} ({} to {})", change_text(f.ratio->value),
                         change_text(f.ratio->ci95.first), change_text(f.ratio->ci95.second));
  } else if (f.figure == "wire bytes" && f.before > 0) {
    change = change_text(f.after / f.before);
  }
  table.add({std::string(verdict_name(f.verdict)), f.track, f.suite, f.provider, f.figure,
             figure_text(f, f.before), figure_text(f, f.after), change, f.evidence});
}

}  // namespace

std::string to_text(const Comparison& c, const CompareOptions& options) {
  using Align = TextTable::Align;
  std::string out =
      std::format("{} (threshold {:g} %)\n", verdict_name(c.verdict), options.threshold_percent);
  for (const std::string& reason : c.reasons) out += "cannot tell: " + reason + '\n';
  for (const std::string& note : c.notes) out += "note: " + note + '\n';
  if (c.findings.empty()) return out;
  TextTable table({{"verdict"},
                   {"track"},
                   {"suite"},
                   {"provider"},
                   {"figure"},
                   {"before", Align::right},
                   {"after", Align::right},
                   {"change (interval)"},
                   {"evidence"}});
  for (const Verdict v : {Verdict::regression, Verdict::cannot_tell, Verdict::none}) {
    for (const Finding& f : c.findings) {
      if (f.verdict == v) add_row(table, f);
    }
  }
  return out + '\n' + table.text();
}

std::string to_json(const Comparison& c, const CompareOptions& options) {
  Json json = {{"verdict", verdict_name(c.verdict)},
               {"threshold_percent", options.threshold_percent},
               {"reasons", c.reasons},
               {"notes", c.notes},
               {"findings", Json::array()}};
  for (const Finding& f : c.findings) {
    Json j = {{"verdict", verdict_name(f.verdict)},
              {"track", f.track},
              {"suite", f.suite},
              {"provider", f.provider},
              {"figure", f.figure}};
    if (f.before > 0) j["before"] = f.before;
    if (f.after > 0) j["after"] = f.after;
    j["unit"] = f.figure == "wire bytes" ? "B" : "us";
    if (f.ratio) {
      j["ratio"] = f.ratio->value;
      j["interval"] = {f.ratio->ci95.first, f.ratio->ci95.second};
    }
    j["evidence"] = f.evidence;
    json["findings"].push_back(std::move(j));
  }
  // What is not UTF-8 came from a record's names: replaced, as in the record itself.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace pqedge::measure
