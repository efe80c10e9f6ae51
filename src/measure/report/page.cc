#include "measure/report/page.h"

#include <openssl/evp.h>

#include <array>
#include <format>
#include <map>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/version.h"
#include "measure/report/chart_data.h"
#include "measure/report/finding.h"
#include "measure/report/html.h"
#include "measure/report/page_files.h"
#include "measure/report/sections.h"

namespace pqedge::measure::report {

namespace {

using Values = std::map<std::string, std::string, std::less<>>;

// Puts values in the place of {{name}}. What was put in is not looked at again: a record that holds
// "{{data}}" shows just that.
Result<std::string> fill(std::string_view text, const Values& values) {
  std::string out;
  while (true) {
    const size_t open = text.find("{{");
    out += text.substr(0, open);
    if (open == std::string_view::npos) return out;
    const size_t close = text.find("}}", open);
    if (close == std::string_view::npos)
      return fail("a place of the page's template is not closed");
    const auto value = values.find(text.substr(open + 2, close - open - 2));
    if (value == values.end()) {
      return fail("the page's template names '{}', which has no value",
                  text.substr(open + 2, close - open - 2));
    }
    out += value->second;
    text.remove_prefix(close + 2);
  }
}

constexpr std::array kScripts = {&kD3Js,     &kPlotJs,         &kTabsJs,        &kTablesJs,
                                 &kChartsJs, &kChartsTracksJs, &kChartsBytesJs, &kChartsTimeJs};

std::string scripts_html() {
  std::string html;
  for (const std::string_view* script : kScripts)
    html += std::format("<script>{}</script>\n", *script);
  return html;
}

// Nothing is loaded and nothing runs but what is in the page; no form, no other base.
Result<std::string> policy() {
  std::string scripts;
  for (const std::string_view* script : kScripts) {
    Result<std::string> hash = csp_hash(*script);
    if (!hash) return hash;
    scripts += " " + *hash;
  }
  Result<std::string> style = csp_hash(kStyleCss);
  if (!style) return style;
  return std::format(
      "default-src 'none'; script-src{}; style-src {}; img-src data:; base-uri 'none'; "
      "form-action 'none'",
      scripts, *style);
}

void write_host(Html& html, const HostView& view) {
  const std::string id = std::format("h{}", view.number);
  html.open("section", {{"class", "host"}, {"id", id}}).element("h2", view.host.name);
  const std::vector<Section> sections = sections_of(view);
  html.open("nav", {{"class", "tabs"}, {"aria-label", "What was measured on " + view.host.name}});
  for (const Section& section : sections) {
    html.element("a", section.title, {{"href", "#" + section.id}}).raw("\n");
  }
  html.close("nav").raw("\n");
  for (const Section& section : sections) {
    html.open("section", {{"class", "panel"}, {"id", section.id}})
        .raw(section.html)
        .close("section")
        .raw("\n");
  }
  html.close("section").raw("\n");
}

std::string hosts_html(const Model& model) {
  Html html;
  if (model.hosts().size() > 1) {
    html.open("nav", {{"class", "tabs hosts"}, {"aria-label", "Hosts"}});
    for (size_t i = 0; i < model.hosts().size(); ++i) {
      html.element("a", model.hosts()[i].name, {{"href", std::format("#h{}", i + 1)}}).raw("\n");
    }
    html.close("nav").raw("\n");
  }
  for (size_t i = 0; i < model.hosts().size(); ++i) {
    write_host(html, {model, model.hosts()[i], i + 1});
  }
  return html.take();
}

std::string version_in(std::string_view package_json) {
  const auto json = nlohmann::json::parse(package_json, nullptr, false);
  return json.is_object() ? json.value("version", std::string()) : std::string();
}

}  // namespace

Result<std::string> csp_hash(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  if (EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1) {
    return fail("SHA-256 failed in libcrypto");
  }
  return std::format("'sha256-{}'", base64(digest));
}

Result<std::string> render_page(const Model& model, const PageOptions& options) {
  if (model.hosts().empty()) return fail("there is no record to report on");
  Result<std::string> csp = policy();
  if (!csp) return csp;
  Result<std::string> methodology =
      fill(kMethodologyHtml, {{"most_samples", std::to_string(kMostSamples)}});
  if (!methodology) return methodology;
  return fill(kPageHtml, {
                             {"csp", escape_html(*csp)},
                             {"generator", escape_html("pqcost " + std::string(version()))},
                             {"title", escape_html(options.title)},
                             {"style", std::string(kStyleCss)},
                             {"head", head_html(model, model.hosts().front())},
                             {"hosts", hosts_html(model)},
                             {"methodology", *methodology},
                             {"made", escape_html(options.made)},
                             {"plot_version", escape_html(version_in(kPlotPackage))},
                             {"d3_version", escape_html(version_in(kD3Package))},
                             {"plot_licence", escape_html(kPlotLicence)},
                             {"d3_licence", escape_html(kD3Licence)},
                             {"data", chart_data(model)},
                             {"scripts", scripts_html()},
                         });
}

}  // namespace pqedge::measure::report
