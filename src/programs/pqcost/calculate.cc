// pqcost calculate: what a migration costs one's own traffic (M21).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>

#include "measure/calculator/calculator.h"
#include "measure/calculator/metrics_page.h"
#include "measure/record/files.h"
#include "measure/record/json.h"
#include "programs/pqcost/commands.h"
#include "programs/pqcost/wire_record.h"

namespace pqedge::pqcost {

namespace {

constexpr size_t kMaxInputs = size_t{1} << 20;

struct Arguments {
  std::vector<std::string> records;
  std::string input;
  std::string metrics;
  std::string provider = "OpenSSL";
  bool allow_withheld = false;
  std::string format = "text";
  std::string output = "-";
  // As given on the command line: they win over the file, and the file over the metrics.
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> texts;
};

std::string option_of(std::string_view key) {
  std::string name = "--" + std::string(key);
  std::ranges::replace(name, '_', '-');
  return name;
}

constexpr std::pair<const char*, const char*> kTexts[] = {
    {"http", "1.1, 2 or 3"},
    {"before_group", "TLS group of today, as the record's tls track names it"},
    {"before_chain", "certificate chain of today, as the record names it"},
    {"before_token", "token algorithm of today; none: no tokens"},
    {"after_group", "TLS group after the migration"},
    {"after_chain", "certificate chain after it"},
    {"after_token", "token algorithm after it"},
};

void declare(CLI::App& app, Arguments& a) {
  app.add_option("--record", a.records,
                 "a record with the figures; of several, the last that has one")
      ->required();
  app.add_option("--input", a.input, "TOML file with the options below, without their dashes");
  app.add_option("--from-metrics", a.metrics,
                 "metrics page of a pqedge, a file or an address: rates since it began");
  app.add_option("--provider", a.provider, "whose figures are taken")->capture_default_str();
  app.add_flag("--allow-withheld", a.allow_withheld, "take figures that were withheld, too");
  app.add_option("--format", a.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("-o,--output", a.output, "file to write, - for standard output")
      ->capture_default_str();
  for (const measure::NumberKey& key : measure::number_keys()) {
    app.add_option_function<double>(
           option_of(key.name),
           [&a, name = std::string(key.name)](double value) { a.numbers[name] = value; },
           std::string(key.about))
        ->group("Traffic");
  }
  for (const auto& [key, about] : kTexts) {
    app.add_option_function<std::string>(
           option_of(key),
           [&a, name = std::string(key)](const std::string& value) { a.texts[name] = value; },
           about)
        ->group("Traffic");
  }
}

void apply_options(const Arguments& a, measure::Inputs& inputs) {
  for (const measure::NumberKey& key : measure::number_keys()) {
    const auto it = a.numbers.find(std::string(key.name));
    if (it != a.numbers.end()) inputs.*key.member = it->second;
  }
  const std::pair<const char*, std::string*> texts[] = {
      {"http", &inputs.http},
      {"before_group", &inputs.before.group},
      {"before_chain", &inputs.before.chain},
      {"before_token", &inputs.before.token},
      {"after_group", &inputs.after.group},
      {"after_chain", &inputs.after.chain},
      {"after_token", &inputs.after.token},
  };
  for (const auto& [name, to] : texts) {
    if (const auto it = a.texts.find(name); it != a.texts.end()) *to = it->second;
  }
}

Result<measure::Inputs> read_all(const Arguments& a, std::vector<std::string>& notes) {
  measure::Inputs inputs;
  if (!a.metrics.empty()) {
    const auto fetched = measure::fetch_page(a.metrics);
    if (!fetched) return std::unexpected(fetched.error());
    const auto page = measure::MetricsPage::parse(fetched->text, a.metrics);
    if (!page) return std::unexpected(page.error());
    const auto said = measure::inputs_from_metrics(*page, fetched->read_at, inputs);
    if (!said) return fail("{}: {}", a.metrics, said.error().message);
    for (const std::string& line : *said) notes.push_back("from " + a.metrics + ": " + line);
  }
  if (!a.input.empty()) {
    const auto text = measure::read_file(a.input, kMaxInputs);
    if (!text) return std::unexpected(text.error());
    if (auto read = measure::read_inputs(*text, a.input, inputs); !read) {
      return std::unexpected(read.error());
    }
  }
  apply_options(a, inputs);
  return inputs;
}

Result<std::string> calculate(const Arguments& a) {
  std::vector<std::string> notes;
  const auto inputs = read_all(a, notes);
  if (!inputs) return std::unexpected(inputs.error());
  std::vector<measure::Record> records;
  for (const std::string& path : a.records) {
    auto record = measure::read_record(path);
    if (!record) return std::unexpected(record.error());
    if (record->withheld && a.allow_withheld) {
      notes.push_back(path + " is withheld: " + record->withheld->reason);
    }
    records.push_back(std::move(*record));
  }
  const measure::Figures figures(std::move(records), a.provider, a.allow_withheld);
  auto calculation = measure::calculate(*inputs, figures);
  if (!calculation) return std::unexpected(calculation.error());
  calculation->notes.insert(calculation->notes.begin(), notes.begin(), notes.end());
  return a.format == "json" ? measure::to_json(*inputs, *calculation)
                            : measure::to_text(*inputs, *calculation);
}

}  // namespace

int run_calculate(int argc, char** argv) {
  CLI::App app{"Latency, bytes, cores and money of your own traffic, before and after a migration",
               "pqcost calculate"};
  Arguments a;
  declare(app, a);
  bool go_on = false;
  if (const int status = parse(app, argc, argv, go_on); !go_on) return status;
  const auto text = calculate(a);
  if (!text) return complain("calculate", text.error().message);
  if (auto written = measure::write_file(a.output, *text); !written) {
    return complain("calculate", written.error().message);
  }
  return kSuccess;
}

}  // namespace pqedge::pqcost
