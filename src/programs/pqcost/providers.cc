// pqcost providers: the libraries of this machine, what code of them runs, and how they answered
// the published vectors (M11).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "measure/provider/catalogue.h"
#include "measure/provider/registry.h"
#include "programs/pqcost/commands.h"
#include "programs/pqcost/wire_record.h"

namespace pqedge::pqcost {

namespace {

using measure::Registry;

struct Arguments {
  std::vector<std::string> algorithms;
  std::string format = "text";
  std::string liboqs;
  std::string awslc;
  bool answers = false;
};

std::string to_json(const Registry& registry) {
  nlohmann::ordered_json all;
  all["providers"] = nlohmann::ordered_json::array();
  for (const auto& provider : registry.providers()) {
    nlohmann::ordered_json one{{"name", provider->facts().name},
                               {"version", provider->facts().version},
                               {"algorithms", nlohmann::ordered_json::array()}};
    for (const auto& algorithm : provider->algorithms()) {
      auto implementation = provider->implementation(algorithm.name);
      one["algorithms"].push_back({{"name", algorithm.name},
                                   {"family", measure::family_name(algorithm.family)},
                                   {"code", implementation.code},
                                   {"evidence", implementation.evidence},
                                   {"keys", implementation.keys}});
    }
    all["providers"].push_back(std::move(one));
  }
  all["known_answers"] = nlohmann::ordered_json::array();
  for (const auto& answer : registry.known_answers()) {
    all["known_answers"].push_back({{"provider", answer.provider},
                                    {"algorithm", answer.algorithm},
                                    {"source", answer.source},
                                    {"passed", answer.passed},
                                    {"detail", answer.detail}});
  }
  all["left_out"] = nlohmann::ordered_json::array();
  for (const auto& one : registry.left_out()) {
    all["left_out"].push_back(
        {{"provider", one.provider}, {"algorithm", one.algorithm}, {"reason", one.reason}});
  }
  return all.dump(2) + "\n";
}

std::string to_text(const Registry& registry, bool answers) {
  std::string text;
  for (const auto& provider : registry.providers()) {
    text += std::format("{} {}\n", provider->facts().name, provider->facts().version);
    for (const auto& algorithm : provider->algorithms()) {
      auto implementation = provider->implementation(algorithm.name);
      text += std::format("  {:<30} {:<20} {}\n", algorithm.name,
                          measure::family_name(algorithm.family), implementation.code);
    }
  }
  if (answers) {
    text += "\nKnown answers\n";
    for (const auto& answer : registry.known_answers()) {
      text += std::format("  {:<13} {:<30} {} {}{}{}\n", answer.provider, answer.algorithm,
                          answer.passed ? "right:" : "WRONG:", answer.source,
                          answer.detail.empty() ? "" : ": ", answer.detail);
    }
  }
  if (!registry.left_out().empty()) text += "\nLeft out\n";
  for (const auto& one : registry.left_out()) {
    text += std::format("  {:<13} {:<30} {}\n", one.provider, one.algorithm, one.reason);
  }
  return text;
}

}  // namespace

int run_providers(int argc, char** argv) {
  CLI::App app{
      "Says which libraries there are, which code of theirs runs, and how each answered the\n"
      "published test vectors. Nothing is timed.",
      "pqcost providers"};
  Arguments a;
  app.add_option("--algorithm", a.algorithms, "only these, as \"ML-KEM-768\"; may be repeated");
  app.add_flag("--answers", a.answers, "each known answer as well");
  app.add_option("--format", a.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--liboqs", a.liboqs, "a liboqs.so; else PQCOST_LIBOQS, else the system's own");
  app.add_option("--awslc", a.awslc, "a libcrypto.so of AWS-LC; else PQCOST_AWSLC");
  bool go_on = false;
  if (const int status = parse(app, argc, argv, go_on); !go_on) return status;
  for (const auto& name : a.algorithms) {
    if (measure::find_algorithm(name)) continue;
    complain("providers",
             std::format("there is no algorithm '{}': 'pqcost providers' lists them", name));
    return kUsageError;
  }
  measure::RegistryOptions options{.wanted = nullptr, .liboqs = a.liboqs, .awslc = a.awslc};
  if (!a.algorithms.empty()) {
    options.wanted = [&](const measure::Algorithm& algorithm) {
      return std::ranges::contains(a.algorithms, algorithm.name);
    };
  }
  const auto registry = Registry::load(options);
  const auto text = a.format == "json" ? to_json(registry) : to_text(registry, a.answers);
  std::fwrite(text.data(), 1, text.size(), stdout);
  // A library that was named is wanted: without it the answer is not the one asked for.
  for (const auto& one : registry.left_out()) {
    if ((one.provider == "liboqs" && !a.liboqs.empty() && one.algorithm.empty()) ||
        (one.provider == "AWS-LC" && !a.awslc.empty() && one.algorithm.empty())) {
      return complain("providers", one.reason);
    }
  }
  const auto& known = registry.known_answers();
  return std::ranges::all_of(known, &measure::KnownAnswer::passed) ? kSuccess : kFailure;
}

}  // namespace pqedge::pqcost
