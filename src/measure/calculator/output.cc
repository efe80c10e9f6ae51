#include <format>
#include <nlohmann/json.hpp>

#include "measure/calculator/calculator.h"
#include "measure/record/markdown.h"
#include "measure/record/text.h"

namespace pqedge::measure {
namespace {

using Json = nlohmann::ordered_json;

std::string value_text(const Term& term, double value) {
  if (term.unit == "us") return time_text(value);
  if (term.unit == "B") return count_text(static_cast<uint64_t>(value + 0.5)) + " B";
  if (term.unit.empty()) return std::format("{:g}", value);
  return std::format("{:.{}f} {}", value, term.unit == "cores" ? 3 : 2, term.unit);
}

std::string change_of(const Term& term) {
  if (term.before == term.after) return "";
  if (term.before <= 0) return "new";
  return change_text(term.after / term.before);
}

std::string choice_text(const CryptoChoice& c) {
  return c.group + ", chain " + c.chain + ", token " + c.token;
}

Json choice_json(const CryptoChoice& c) {
  return {{"group", c.group}, {"chain", c.chain}, {"token", c.token}};
}

Json inputs_json(const Inputs& inputs) {
  Json json;
  for (const NumberKey& key : number_keys()) json[std::string(key.name)] = inputs.*key.member;
  json["http"] = inputs.http;
  json["before"] = choice_json(inputs.before);
  json["after"] = choice_json(inputs.after);
  return json;
}

}  // namespace

std::string to_text(const Inputs& inputs, const Calculation& calculation) {
  std::string out = "before: " + choice_text(inputs.before) +
                    "\nafter:  " + choice_text(inputs.after) + "\nhttp:   " + inputs.http + '\n';
  for (const NumberKey& key : number_keys()) {
    out += std::format("{}{} = {:g}", &key == number_keys().data() ? "inputs: " : ", ", key.name,
                       inputs.*key.member);
  }
  out += '\n';
  std::vector<std::string> sources;
  for (const TermGroup& group : calculation.groups) {
    TextTable table({{""},
                     {"before", TextTable::Align::right},
                     {"after", TextTable::Align::right},
                     {"change", TextTable::Align::right},
                     {"from"}});
    for (const Term& term : group.terms) {
      std::string from;
      for (const std::string& source : term.sources) {
        auto known = std::ranges::find(sources, source);
        if (known == sources.end()) known = sources.insert(sources.end(), source);
        from += std::format("{}[{}]", from.empty() ? "" : " ", known - sources.begin() + 1);
      }
      table.add({(term.result ? "= " : "  ") + term.name, value_text(term, term.before),
                 value_text(term, term.after), change_of(term), from});
    }
    out += '\n' + group.title + '\n' + table.text();
  }
  out += "\nFrom\n";
  for (size_t i = 0; i < sources.size(); ++i) out += std::format("[{}] {}\n", i + 1, sources[i]);
  for (const std::string& note : calculation.notes) out += "note: " + note + '\n';
  out += "\nNot in these figures\n";
  for (const std::string& what : calculation.left_out) out += "- " + what + '\n';
  return out;
}

std::string to_json(const Inputs& inputs, const Calculation& calculation) {
  Json json = {{"inputs", inputs_json(inputs)}, {"groups", Json::array()}};
  for (const TermGroup& group : calculation.groups) {
    Json terms = Json::array();
    for (const Term& t : group.terms) {
      terms.push_back({{"name", t.name},
                       {"unit", t.unit},
                       {"before", t.before},
                       {"after", t.after},
                       {"result", t.result},
                       {"sources", t.sources}});
    }
    json["groups"].push_back({{"title", group.title}, {"terms", std::move(terms)}});
  }
  json["notes"] = calculation.notes;
  json["left_out"] = calculation.left_out;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace pqedge::measure
