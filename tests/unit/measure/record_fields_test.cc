// A member that someone adds to record.h and forgets in fields.h would silently not be written.
#include "measure/record/fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace pqedge::measure {
namespace {

struct Span {
  size_t begin;
  size_t end;
  size_t alignment;
};

class Layout {
 public:
  explicit Layout(const void* object) : base_(static_cast<const char*>(object)) {}

  template <typename T>
  void operator()(std::string_view name, T& member, std::string_view) {
    const auto at = static_cast<size_t>(reinterpret_cast<const char*>(&member) - base_);
    spans.push_back({at, at + sizeof(T), alignof(T)});
    EXPECT_TRUE(names.insert(std::string(name)).second) << name << " is there twice";
  }
  template <typename T>
  void when_any(std::string_view name, T& member, std::string_view about) {
    (*this)(name, member, about);
  }
  template <typename T>
  void nullable(std::string_view name, T& member, std::string_view about) {
    (*this)(name, member, about);
  }
  template <typename T>
  void any_sign(std::string_view name, T& member, std::string_view about) {
    (*this)(name, member, about);
  }
  void derived(std::string_view name, size_t, std::string_view) { names.insert(std::string(name)); }

  std::vector<Span> spans;
  std::set<std::string> names;

 private:
  const char* base_;
};

// No gap between listed members is larger than the padding that the next one needs.
template <typename T>
class RecordFields : public testing::Test {};

using Structs =
    testing::Types<Library, CpuFacts, HostFacts, NetworkFacts, NoiseFacts, Withheld, Environment,
                   Summary, PhaseRecord, WireBytes, WireDetail, Ratio, Range, SuiteRecord,
                   ThroughputRecord, TrackRecord, ChainRecord, WindowVerdict, FlightRecord,
                   TokenRecord, DocumentedLimitRecord, LimitRecord, LiveRecord, ScenarioRecord,
                   LoadRecord, KnownAnswerRecord, AbsentRecord, Record>;
TYPED_TEST_SUITE(RecordFields, Structs);

TYPED_TEST(RecordFields, ListEveryMember) {
  TypeParam object{};
  Layout layout(&object);
  fields(layout, object);
  std::ranges::sort(layout.spans, {}, &Span::begin);
  size_t end = 0;
  for (const Span& s : layout.spans) {
    EXPECT_GE(s.begin, end) << "a member is listed twice";
    EXPECT_LT(s.begin - end, s.alignment) << "a member before offset " << s.begin << " is missing";
    end = s.end;
  }
  EXPECT_LT(sizeof(TypeParam) - end, alignof(TypeParam)) << "a last member is missing";
}

}  // namespace
}  // namespace pqedge::measure
