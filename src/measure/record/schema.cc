// The JSON Schema of the record, from the lists of fields.h.
#include <nlohmann/json.hpp>

#include "measure/record/fields.h"
#include "measure/record/json.h"

namespace pqedge::measure {
namespace {

using Json = nlohmann::ordered_json;

// The names of the definitions.
std::string_view name_of(const Library&) { return "library"; }
std::string_view name_of(const CpuFacts&) { return "cpu"; }
std::string_view name_of(const HostFacts&) { return "host"; }
std::string_view name_of(const NetworkFacts&) { return "network"; }
std::string_view name_of(const NoiseFacts&) { return "noise"; }
std::string_view name_of(const Withheld&) { return "withheld"; }
std::string_view name_of(const Environment&) { return "environment"; }
std::string_view name_of(const Summary&) { return "summary"; }
std::string_view name_of(const PhaseRecord&) { return "phase"; }
std::string_view name_of(const WireBytes&) { return "wire_bytes"; }
std::string_view name_of(const WireDetail&) { return "wire_detail"; }
std::string_view name_of(const Ratio&) { return "ratio"; }
std::string_view name_of(const Range&) { return "range"; }
std::string_view name_of(const SuiteRecord&) { return "suite"; }
std::string_view name_of(const ThroughputRecord&) { return "throughput"; }
std::string_view name_of(const TrackRecord&) { return "track"; }
std::string_view name_of(const ChainRecord&) { return "chain"; }
std::string_view name_of(const WindowVerdict&) { return "window_verdict"; }
std::string_view name_of(const FlightRecord&) { return "flight"; }
std::string_view name_of(const TokenRecord&) { return "token"; }
std::string_view name_of(const DocumentedLimitRecord&) { return "documented_limit"; }
std::string_view name_of(const LimitRecord&) { return "limit"; }
std::string_view name_of(const LiveRecord&) { return "live"; }
std::string_view name_of(const ScenarioRecord&) { return "scenario"; }
std::string_view name_of(const LoadRecord&) { return "load"; }
std::string_view name_of(const KnownAnswerRecord&) { return "known_answer"; }
std::string_view name_of(const AbsentRecord&) { return "absent"; }

template <typename T>
Json type_of(Json& definitions);

class Describer {
 public:
  Describer(Json& definitions, Json& object) : definitions_(definitions), object_(object) {
    object_ = {{"type", "object"},
               {"properties", Json::object()},
               {"required", Json::array()},
               {"additionalProperties", false}};
  }

  template <typename T>
  void operator()(std::string_view name, T&, std::string_view about) {
    if constexpr (is_optional<T>) {
      add(name, type_of<typename T::value_type>(definitions_), about, false);
    } else {
      add(name, type_of<T>(definitions_), about, true);
    }
  }
  template <typename T>
  void when_any(std::string_view name, T&, std::string_view about) {
    add(name, type_of<T>(definitions_), about, false);
  }
  template <typename T>
  void nullable(std::string_view name, T&, std::string_view about) {
    add(name, {{"type", {"number", "null"}}, {"minimum", 0}}, about, true);
  }
  template <typename T>
  void any_sign(std::string_view name, T&, std::string_view about) {
    add(name, {{"type", "number"}}, about, false);
  }
  void derived(std::string_view name, size_t, std::string_view about) {
    add(name, type_of<size_t>(definitions_), about, true);
  }

 private:
  void add(std::string_view name, Json type, std::string_view about, bool required) {
    if (!about.empty()) type["description"] = about;
    object_["properties"][std::string(name)] = std::move(type);
    if (required) object_["required"].push_back(name);
  }

  Json& definitions_;
  Json& object_;
};

template <typename T>
Json object_of(Json& definitions) {
  Json object;
  Describer describer(definitions, object);
  T example{};
  fields(describer, example);
  return object;
}

template <typename T>
Json type_of(Json& definitions) {
  if constexpr (std::same_as<T, std::string>) {
    return {{"type", "string"}};
  } else if constexpr (std::same_as<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::integral<T>) {
    return {{"type", "integer"}, {"minimum", 0}};
  } else if constexpr (std::same_as<T, double>) {
    return {{"type", "number"}, {"minimum", 0}};
  } else if constexpr (std::same_as<T, std::pair<double, double>>) {
    return {
        {"type", "array"},
        {"prefixItems", Json::array({type_of<double>(definitions), type_of<double>(definitions)})},
        {"items", false},
        {"minItems", 2}};
  } else if constexpr (is_list<T>) {
    return {{"type", "array"}, {"items", type_of<typename T::value_type>(definitions)}};
  } else if constexpr (is_map<T>) {
    return {{"type", "object"},
            {"additionalProperties", type_of<typename T::mapped_type>(definitions)}};
  } else {
    const std::string name(name_of(T{}));
    // Not before its own members are there: a reference into the object would not last.
    if (!definitions.contains(name)) {
      Json object = object_of<T>(definitions);
      definitions[name] = std::move(object);
    }
    return {{"$ref", "#/$defs/" + name}};
  }
}

}  // namespace

std::string record_schema() {
  Json definitions = Json::object();
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "Record of pqcost"},
                 {"description",
                  "What one run measured. Times are in microseconds unless a name says otherwise, "
                  "sizes in bytes. What could not be measured is absent."}};
  schema.update(object_of<Record>(definitions));
  schema["properties"]["schema"] = {{"const", kRecordSchema}};
  schema["properties"]["id"]["pattern"] = "^[0-9a-fA-F]{32}$";
  definitions["environment"]["properties"]["date"]["pattern"] =
      "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$";
  for (const char* name : {"phase", "summary"}) {
    definitions[name]["properties"]["iterations"]["minimum"] = 1;
  }
  schema["$defs"] = std::move(definitions);
  return schema.dump(2) + '\n';
}

}  // namespace pqedge::measure
