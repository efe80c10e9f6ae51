// The grade: A unless a rule says otherwise. Each rule that applies sets the best grade that is
// left; the worst of them counts. docs/recipes/probe.md gives the reasons; `pqedge probe --rules`
// prints this table.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probe/report.h"

namespace pqedge::probe {

enum class Grade : uint8_t { a, b, c, d, e, f };  // best first
char letter(Grade grade);
std::optional<Grade> parse_grade(std::string_view text);

struct Rule {
  std::string_view id;
  Grade cap;               // the best grade left when it applies
  std::string_view found;  // what is wrong
  std::string_view reason;
  std::string_view source;
  bool (*applies)(const Report& report);
};
std::span<const Rule> rules();

struct Verdict {
  Grade grade = Grade::a;
  std::vector<const Rule*> applied;  // the worst first
};
Verdict judge(const Report& report);

// The rules as a table of Markdown.
std::string rules_text();

}  // namespace pqedge::probe
