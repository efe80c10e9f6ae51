// What the types of a record do not say.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "measure/record/fields.h"
#include "measure/record/json.h"
#include "measure/record/place.h"

namespace pqedge::measure {
namespace {

// M7: a composed mean is the weighted sum of its phases' means within 0.002 %.
constexpr double kSumTolerance = 2e-5;
// Of figures that follow from others by one division.
constexpr double kDivisionTolerance = 1e-6;

bool near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

class Checker {
 public:
  template <typename T>
  void operator()(std::string_view name, const T& value, std::string_view) {
    check(Place{at_, name}, value);
  }
  template <typename T>
  void when_any(std::string_view name, const T& value, std::string_view) {
    check(Place{at_, name}, value);
  }
  template <typename T>
  void nullable(std::string_view name, const T& value, std::string_view) {
    check(Place{at_, name}, value);
  }
  void any_sign(std::string_view name, const std::optional<double>& value, std::string_view) {
    if (value && !std::isfinite(*value)) fail(Place{at_, name}, "is not finite");
  }
  void derived(std::string_view, size_t, std::string_view) {}

  template <Described T>
  void check(const Place& at, const T& value) {
    const Place* before = at_;
    at_ = &at;
    fields(*this, value);
    rules(value);
    at_ = before;
  }

  std::string error;

 private:
  void fail(const Place& at, std::string_view what) {
    if (error.empty()) error = at.path() + ' ' + std::string(what);
  }
  void fail_here(std::string_view member, std::string_view what) { fail(Place{at_, member}, what); }

  void check(const Place& at, double value) {
    if (!std::isfinite(value)) fail(at, "is not finite");
    if (value < 0) fail(at, "is negative");
  }
  void check(const Place& at, const std::pair<double, double>& value) {
    check(at, value.first);
    check(at, value.second);
    if (value.first > value.second) fail(at, "ends before it begins");
  }
  void check(const Place& at, int value) {
    if (value < 0) fail(at, "is negative");
  }
  void check(const Place&, const std::string&) {}
  void check(const Place&, bool) {}
  void check(const Place&, uint64_t) {}
  void check(const Place&, unsigned) {}
  template <typename T>
  void check(const Place& at, const std::optional<T>& value) {
    if (value) check(at, *value);
  }
  template <typename T>
  void check(const Place& at, const std::vector<T>& list) {
    for (size_t i = 0; i < list.size(); ++i) check(Place{&at, {}, i}, list[i]);
  }
  template <typename T>
  void check(const Place& at, const std::map<std::string, T>& map) {
    for (const auto& [name, value] : map) check(Place{&at, name}, value);
  }

  template <typename T>
  void rules(const T&) {}
  void rules(const Summary& s);
  void rules(const PhaseRecord& phase) {
    rules(phase.figures);
    if (!phase.samples_us.empty() && phase.samples_us.size() != phase.figures.iterations) {
      fail_here("samples_us", std::format("are {}, but iterations says {}", phase.samples_us.size(),
                                          phase.figures.iterations));
    }
  }
  void rules(const SuiteRecord& suite);
  void rules(const Environment& environment);
  void rules(const Record& record);

  const Place* at_ = nullptr;
};

void Checker::rules(const Summary& s) {
  if (s.iterations == 0) return fail_here("iterations", "is 0: nothing was measured");
  const double p99 = s.p99_us.value_or(s.max_us);
  const std::array<std::pair<std::string_view, double>, 5> ascending = {
      {{"min_us", s.min_us},
       {"median_us", s.median_us},
       {"p95_us", s.p95_us},
       {s.p99_us ? "p99_us" : "max_us", p99},
       {"max_us", s.max_us}}};
  for (size_t i = 1; i < ascending.size(); ++i) {
    const auto& [before, low] = ascending[i - 1];
    const auto& [name, high] = ascending[i];
    if (high < low) fail_here(name, std::format("is smaller than {}", before));
  }
  // The mean is a sum of rounded numbers: it may pass an extreme by the last digit.
  if ((s.mean_us < s.min_us && !near(s.mean_us, s.min_us, 1e-12)) ||
      (s.mean_us > s.max_us && !near(s.mean_us, s.max_us, 1e-12))) {
    fail_here("mean_us", "is not between min_us and max_us");
  }
  if (s.p99_us && s.iterations < Summary::kLeastForP99) {
    fail_here("p99_us", std::format("is given for {} iterations: it takes {}", s.iterations,
                                    Summary::kLeastForP99));
  }
  if (s.mean_us <= 0) return;
  if (!near(s.tail, s.max_us / s.mean_us, kDivisionTolerance)) {
    fail_here("tail", "is not max_us over mean_us");
  }
  if (!near(s.ops_per_second, 1e6 / s.mean_us, kDivisionTolerance)) {
    fail_here("ops_per_second", "is not a million over mean_us");
  }
}

void Checker::rules(const SuiteRecord& suite) {
  if (suite.name.empty()) fail_here("name", "is empty");
  if (!suite.composed || suite.phases.empty()) return;
  double sum = 0;
  for (const PhaseRecord& phase : suite.phases) sum += phase.weight * phase.figures.mean_us;
  if (!near(suite.composed->mean_us, sum, kSumTolerance)) {
    fail_here("composed.mean_us", std::format("is {}, but the phases by weight add to {}",
                                              suite.composed->mean_us, sum));
  }
}

void Checker::rules(const Environment& environment) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:ddZ";
  const std::string& date = environment.date;
  bool good = date.size() == kPattern.size();
  for (size_t i = 0; good && i < date.size(); ++i) {
    good = kPattern[i] == 'd' ? is_digit(date[i]) : date[i] == kPattern[i];
  }
  if (!good) fail_here("date", "is not a date like 2026-11-30T18:30:00Z");
}

void Checker::rules(const Record& record) {
  if (record.schema != kRecordSchema) fail_here("schema", "is not " + std::string(kRecordSchema));
  if (record.id.size() != 32 ||
      !std::ranges::all_of(record.id, [](char c) { return hex_value(c) >= 0; })) {
    fail_here("id", "is not 32 hexadecimal digits");
  }
}

}  // namespace

Result<void> check_record(const Record& record) {
  Checker checker;
  checker.check(Place{}, record);
  if (!checker.error.empty()) return pqedge::fail("{}", checker.error);
  return {};
}

}  // namespace pqedge::measure
