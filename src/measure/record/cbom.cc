#include "measure/record/cbom.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "measure/record/algorithm_facts.h"
#include "measure/track/catalog.h"

namespace pqedge::measure {
namespace {

using Json = nlohmann::ordered_json;

// One word of a phase's name, and CycloneDX's word for the function.
struct Function {
  std::string_view word;  // "KEM keygen" ends in it, whatever the case
  std::string_view function;
};
constexpr Function kFunctions[] = {
    {"keygen", "keygen"},
    {"encapsulate", "encapsulate"},
    {"decapsulate", "decapsulate"},
    {"derive", "keyderive"},
    {"sign", "sign"},
    {"verify", "verify"},
    {"encrypt", "encrypt"},
    {"decrypt", "decrypt"},
};

const Function* function_of(const PhaseRecord& phase) {
  const std::string name = to_lower(phase.name);
  const std::string_view last = std::string_view(name).substr(name.rfind(' ') + 1);
  const auto it = std::ranges::find(kFunctions, last, &Function::word);
  return it == std::end(kFunctions) ? nullptr : it;
}

std::string number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string library_ref(const SuiteRecord& s) {
  return "library/" + s.provider + '/' + s.provider_version;
}

std::string platform_of(const std::string& architecture) {
  if (architecture == "x86_64" || architecture == "s390x" || architecture == "ppc64le") {
    return architecture;
  }
  return architecture == "aarch64" ? "armv8-a" : "other";
}

// The primitives of a suite: of a key exchange those that the catalogue names, else itself.
struct Parts {
  std::string kem;
  std::string classical;
};

Parts parts_of(const TrackRecord& track, const SuiteRecord& suite) {
  if (const auto known = track_of(track.name)) {
    for (const KexSuite& k : kex_suites(*known)) {
      if (k.name == suite.name) return {std::string(k.kem), std::string(k.classical)};
    }
  }
  return {};
}

class Bom {
 public:
  explicit Bom(const Record& record) : record_(record) {}

  Json build() {
    for (const TrackRecord& track : record_.tracks) {
      for (const SuiteRecord& suite : track.suites) {
        if (suite.absent.empty()) add(track, suite);
      }
    }
    return document();
  }

 private:
  // A component under construction, found again by its reference.
  struct Asset {
    Json component;
    std::set<std::string> functions;
    std::set<std::string> measured;  // phases whose cost is there already
  };

  void add(const TrackRecord& track, const SuiteRecord& suite) {
    add_library(suite);
    const Parts parts = parts_of(track, suite);
    if (parts.kem.empty() && parts.classical.empty()) {
      return add_costs(primitive(suite.name, suite), track, suite, "");
    }
    if (!parts.kem.empty()) add_costs(primitive(parts.kem, suite), track, suite, "KEM ");
    if (!parts.classical.empty()) {
      add_costs(primitive(parts.classical, suite), track, suite, "Classical ");
    }
    add_exchange(track, suite, parts);
  }

  void add_library(const SuiteRecord& suite) {
    const std::string ref = library_ref(suite);
    if (!libraries_.contains(ref)) {
      libraries_[ref] = {{"type", "library"},
                         {"bom-ref", ref},
                         {"name", suite.provider},
                         {"version", suite.provider_version}};
    }
  }

  Asset& asset(const std::string& ref, const std::string& name, const SuiteRecord& suite) {
    const auto [it, made] = assets_.try_emplace(ref);
    if (made) {
      order_.push_back(ref);
      it->second.component = {{"type", "cryptographic-asset"}, {"bom-ref", ref}, {"name", name}};
      it->second.component["evidence"]["occurrences"] = Json::array();
      it->second.component["properties"] = Json::array();
      provides_[library_ref(suite)].push_back(ref);
    }
    return it->second;
  }

  Json algorithm_properties(std::string_view kind) const {
    Json p = {{"primitive", kind},
              {"executionEnvironment", "software-plain-ram"},
              {"implementationPlatform", platform_of(record_.environment.host.cpu.architecture)},
              {"cryptoFunctions", Json::array()}};
    return {{"assetType", "algorithm"}, {"algorithmProperties", std::move(p)}};
  }

  Asset& primitive(const std::string& name, const SuiteRecord& suite) {
    const std::string ref =
        "algorithm/" + name + '/' + suite.provider + '/' + suite.provider_version;
    Asset& a = asset(ref, name, suite);
    if (a.component.contains("cryptoProperties")) return a;
    const AlgorithmFacts* facts = algorithm_facts(name);
    Json crypto = algorithm_properties(facts == nullptr ? "unknown" : facts->primitive);
    if (facts != nullptr) {
      Json& p = crypto["algorithmProperties"];
      if (!facts->parameter_set.empty()) p["parameterSetIdentifier"] = facts->parameter_set;
      if (!facts->curve.empty()) p["curve"] = facts->curve;
      if (name == "AES-256-GCM") p["mode"] = "gcm";
      if (facts->classical_bits) p["classicalSecurityLevel"] = *facts->classical_bits;
      if (facts->nist_level) p["nistQuantumSecurityLevel"] = *facts->nist_level;
      if (!facts->oid.empty()) crypto["oid"] = facts->oid;
    }
    a.component["cryptoProperties"] = std::move(crypto);
    add_property(a, "family", suite.family == "hybrid" ? family_of_part(facts) : suite.family);
    add_property(a, "code", suite.code);
    add_property(a, "keys", suite.keys);
    if (!suite.note.empty()) add_property(a, "note", suite.note);
    return a;
  }

  static std::string family_of_part(const AlgorithmFacts* facts) {
    if (facts == nullptr) return "";
    return facts->primitive == "kem" ? "lattice" : "classical";
  }

  void add_exchange(const TrackRecord& track, const SuiteRecord& suite, const Parts& parts) {
    const std::string ref = "exchange/" + track.name + '/' + suite.name + '/' + suite.provider +
                            '/' + suite.provider_version;
    Asset& a = asset(ref, suite.name, suite);
    const bool both = !parts.kem.empty() && !parts.classical.empty();
    a.component["cryptoProperties"] = algorithm_properties(both                ? "combiner"
                                                           : parts.kem.empty() ? "key-agree"
                                                                               : "kem");
    add_property(a, "protocol", track.name);
    add_property(a, "family", suite.family);
    if (suite.code_point) add_property(a, "code_point", std::to_string(*suite.code_point));
    add_property(a, "bytes:wire", std::to_string(suite.wire_bytes.total()));
    if (!suite.note.empty()) add_property(a, "note", suite.note);
    if (suite.composed) add_figures(a, suite, "composed", *suite.composed);
    if (suite.client) add_figures(a, suite, "client", *suite.client);
    if (suite.server) add_figures(a, suite, "server", *suite.server);
    if (suite.end_to_end) add_figures(a, suite, "end_to_end", *suite.end_to_end);
    for (const PhaseRecord& phase : suite.phases) {
      if (const Function* f = function_of(phase)) a.functions.insert(std::string(f->function));
    }
    add_occurrence(a, track, suite);
    for (const std::string& part : {parts.kem, parts.classical}) {
      if (!part.empty()) {
        depends_[ref].push_back("algorithm/" + part + '/' + suite.provider + '/' +
                                suite.provider_version);
      }
    }
  }

  // The phases whose names begin with `prefix`; of a primitive that several suites use, those of
  // the first.
  void add_costs(Asset& a, const TrackRecord& track, const SuiteRecord& suite,
                 std::string_view prefix) {
    bool any = false;
    for (const PhaseRecord& phase : suite.phases) {
      const Function* f = function_of(phase);
      if (f == nullptr || !phase.name.starts_with(prefix)) continue;
      a.functions.insert(std::string(f->function));
      if (!a.measured.insert(std::string(f->word)).second) continue;
      any = true;
      add_figures(a, suite, std::string(f->word), phase.figures);
    }
    if (!any) return;
    if (prefix.empty()) {
      for (const auto& [name, bytes] : suite.sizes) {
        add_property(a, "bytes:" + name, std::to_string(bytes));
      }
    }
    add_occurrence(a, track, suite);
  }

  // Withheld figures are not given: a bill of materials has no place for doubt.
  void add_figures(Asset& a, const SuiteRecord& suite, const std::string& what, const Summary& s) {
    if (record_.withheld || suite.withheld) {
      const std::string reason =
          record_.withheld ? record_.withheld->reason : suite.withheld->reason;
      return add_property(a, what + ":withheld", reason);
    }
    add_property(a, what + ":median_us", number(s.median_us));
    add_property(a, what + ":mean_us", number(s.mean_us));
    if (s.p99_us) add_property(a, what + ":p99_us", number(*s.p99_us));
    add_property(a, what + ":iterations", std::to_string(s.iterations));
  }

  static void add_property(Asset& a, const std::string& name, const std::string& value) {
    if (value.empty()) return;
    a.component["properties"].push_back({{"name", "pqcost:" + name}, {"value", value}});
  }

  void add_occurrence(Asset& a, const TrackRecord& track, const SuiteRecord& suite) {
    a.component["evidence"]["occurrences"].push_back(
        {{"location", "pqcost record " + record_.id},
         {"additionalContext", "track " + track.name + ", suite " + suite.name + ", measured on " +
                                   record_.environment.date + " on host " +
                                   record_.environment.host.name}});
  }

  // RFC 9562: the record's random bits, with the version and variant of a random UUID.
  std::string serial_number() const {
    std::string id = to_lower(record_.id);
    id[12] = '4';
    id[16] = "89ab"[hex_value(id[16]) & 3];
    for (const size_t at : {size_t{8}, size_t{13}, size_t{18}, size_t{23}}) id.insert(at, "-");
    return "urn:uuid:" + id;
  }

  Json metadata() const {
    const Environment& e = record_.environment;
    Json tool = {{"type", "application"}, {"name", "pqcost"}, {"version", e.pqcost_version}};
    Json properties = Json::array();
    const auto add = [&properties](const std::string& name, const std::string& value) {
      if (!value.empty()) properties.push_back({{"name", "pqcost:" + name}, {"value", value}});
    };
    add("record", record_.id);
    add("commit", e.commit);
    add("host", e.host.name);
    add("cpu", e.host.cpu.model);
    add("kernel", e.host.kernel);
    if (record_.withheld) add("withheld", record_.withheld->reason);
    return {{"timestamp", e.date},
            {"tools", {{"components", Json::array({tool})}}},
            {"properties", properties}};
  }

  Json document() {
    Json components = Json::array();
    Json dependencies = Json::array();
    for (const auto& [ref, library] : libraries_) {
      components.push_back(library);
      dependencies.push_back({{"ref", ref}, {"provides", provides_[ref]}});
    }
    for (const std::string& ref : order_) {
      Asset& a = assets_[ref];
      a.component["cryptoProperties"]["algorithmProperties"]["cryptoFunctions"] = a.functions;
      components.push_back(std::move(a.component));
      if (const auto it = depends_.find(ref); it != depends_.end()) {
        dependencies.push_back({{"ref", ref}, {"dependsOn", it->second}});
      }
    }
    return {{"$schema", "http://cyclonedx.org/schema/bom-1.6.schema.json"},
            {"bomFormat", "CycloneDX"},
            {"specVersion", "1.6"},
            {"serialNumber", serial_number()},
            {"version", 1},
            {"metadata", metadata()},
            {"components", std::move(components)},
            {"dependencies", std::move(dependencies)}};
  }

  const Record& record_;
  std::map<std::string, Json> libraries_;
  std::map<std::string, Asset> assets_;
  std::vector<std::string> order_;  // of assets_, as they came
  std::map<std::string, std::vector<std::string>> provides_;
  std::map<std::string, std::vector<std::string>> depends_;
};

}  // namespace

std::string to_cyclonedx(const Record& record) {
  return Bom(record).build().dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace pqedge::measure
