#include "faults/rules.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "faults/names.h"

namespace faults {

[[noreturn]] void refuse(const char* what, const char* word) {
  char text[256];
  const int n = std::snprintf(text, sizeof text, "pqfaults: %s: '%s'\n", what, word);
  [[maybe_unused]] const long written = ::syscall(SYS_write, 2, text, n);
  ::_exit(70);
}

namespace {

uint64_t number(const char* text) {
  char* end = nullptr;
  const uint64_t n = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0') refuse("not a number", text);
  return n;
}

uint64_t share_of(const char* text) {
  char* end = nullptr;
  const double percent = std::strtod(text, &end);
  if (end == text || std::strcmp(end, "%") != 0 || percent < 0 || percent > 100) {
    refuse("a share is a percentage, as 5%", text);
  }
  return percent >= 100 ? UINT64_MAX : static_cast<uint64_t>(percent / 100 * 0x1p64);
}

Only only_of(const char* text) {
  constexpr const char* kNames[] = {"all", "tcp", "udp", "unix", "gso", "file"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (std::strcmp(text, kNames[i]) == 0) return static_cast<Only>(i);
  }
  refuse("only= is one of tcp, udp, unix, gso, file", text);
}

void take_setting(Rule& rule, char* word) {
  char* const equals = std::strchr(word, '=');
  if (equals == nullptr) {
    if (std::strcmp(word, "after") != 0) refuse("not NAME=VALUE", word);
    rule.fault.after = true;
    return;
  }
  *equals = '\0';
  const char* const value = equals + 1;
  const auto is = [&](const char* name) { return std::strcmp(word, name) == 0; };
  if (is("errno")) {
    rule.fault.error = error_of(value);
    if (rule.fault.error == 0) refuse("no errno that is known here", value);
  } else if (is("nth")) {
    rule.nth = number(value);
  } else if (is("every")) {
    rule.every = number(value);
  } else if (is("share")) {
    rule.share = share_of(value);
  } else if (is("skip")) {
    rule.skip = number(value);
  } else if (is("times")) {
    rule.times = number(value);
  } else if (is("most")) {
    rule.fault.most = number(value);
  } else if (is("only")) {
    rule.only = only_of(value);
  } else if (is("thread")) {
    std::memcpy(rule.thread, value, std::min(std::strlen(value), sizeof rule.thread - 1));
  } else if (is("offset")) {
    rule.offset = std::strtoll(value, nullptr, 10);
  } else {
    refuse("no such setting", word);
  }
}

}  // namespace

void take_line(Rules& rules, char* line) {
  char* rest = nullptr;
  char* word = ::strtok_r(line, " \t", &rest);
  if (word == nullptr || *word == '#') return;
  if (rules.count == Shared::kRules) refuse("too many rules", word);
  Rule& rule = rules.rule[rules.count++];
  rule.calls = calls_of(word);
  if (rule.calls == 0) refuse("no such call", word);
  while ((word = ::strtok_r(nullptr, " \t", &rest)) != nullptr) take_setting(rule, word);
  if (!rule.fault && rule.offset == 0) refuse("a rule needs errno=, most= or offset=", line);
  rules.calls |= rule.calls;
  rules.offset += rule.offset;
}

}  // namespace faults
