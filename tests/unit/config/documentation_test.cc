// What docs/configuration.md and docs/examples say, against what the reader knows.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "config/load.h"

namespace pqedge::config {
namespace {

std::filesystem::path docs() {
  const char* source = ::getenv("PQEDGE_SRC");
  return std::filesystem::path(source != nullptr ? source : ".") / "docs";
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The text under each "## [section]" or "## [[section]]".
std::map<std::string, std::string> sections() {
  std::map<std::string, std::string> out;
  std::string text = "\n" + read_file(docs() / "configuration.md");
  size_t at = 0;
  while ((at = text.find("\n## ", at)) != std::string::npos) {
    at += 4;
    const size_t end = std::min(text.find("\n## ", at), text.size());
    std::string title = text.substr(at, text.find('\n', at) - at);
    std::erase_if(title, [](char c) { return c == '[' || c == ']'; });
    out[title] = text.substr(at, end - at);
  }
  return out;
}

TEST(ConfigDocumentation, NamesEveryKeyInItsSection) {
  const auto all = sections();
  for (const std::string& key : known_keys()) {
    const size_t dot = key.find('.');
    const std::string section = key.substr(0, dot);
    ASSERT_TRUE(all.contains(section)) << "no section for " << section;
    if (dot == std::string::npos) continue;
    const std::string name = key.substr(key.rfind('.') + 1);
    EXPECT_NE(all.at(section).find("`" + name + "`"), std::string::npos) << key;
  }
}

TEST(ConfigDocumentation, NamesNoKeyThatIsNotThere) {
  const auto known = known_keys();
  for (const auto& [section, text] : sections()) {
    if (std::ranges::none_of(known, [&](const std::string& k) { return k == section; })) continue;
    size_t at = 0;
    while ((at = text.find("\n| `", at)) != std::string::npos) {
      at += 4;
      const std::string name = text.substr(at, text.find('`', at) - at);
      // The fields of the access log stand in a table of their own.
      if (text.rfind("| field |", at) != std::string::npos) break;
      if (name.starts_with('"')) continue;  // a table of values
      EXPECT_TRUE(section == name || std::ranges::contains(known, section + "." + name))
          << section << "." << name;
    }
  }
}

TEST(ConfigDocumentation, TheExamplesAreValid) {
  size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(docs() / "examples")) {
    if (entry.path().extension() != ".toml") continue;
    ++seen;
    const auto c =
        parse(read_file(entry.path()), entry.path().filename(), "/etc/pqedge", Checks::text);
    ASSERT_TRUE(c.has_value()) << c.error().message;
    for (const std::string& w : c->warnings) ADD_FAILURE() << w;
  }
  EXPECT_GE(seen, 3u);
}

}  // namespace
}  // namespace pqedge::config
