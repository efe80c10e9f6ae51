// [tls.ech] and [crypto].
#include <filesystem>

#include "config/section_readers.h"

namespace pqedge::config {

void read_ech(Table& t, crypto::EchSettings& s) {
  t.require("keys", "name the files that `pqedge ech-keys generate` has made, the newest first");
  t.require("public_name", "write the name that clients send where it can be read on the way");
  t.each_string("keys", [&](const std::string& path, const std::string& text) {
    if (text.empty() || text.find('\0') != std::string::npos) {
      t.problem(path, "is not the name of a file");
      return;
    }
    const std::filesystem::path file = std::filesystem::path(t.reading().base_dir) / text;
    s.key_files.push_back(file.lexically_normal().string());
  });
  t.read("public_name", s.public_name);
}

void read_crypto(Table& t, crypto::ProviderSettings& s) {
  t.read("fips", s.fips);
  t.path("fips_module_config", s.fips_module_config);
  std::string fast = s.fast_provider;
  t.read("fast_provider", fast);
  if (fast == "auto" || fast == "off") {
    s.fast_provider = fast;
  } else {
    t.path("fast_provider", s.fast_provider);
  }
  if (t.has("fips_module_config") && !s.fips) {
    t.problem(t.key_path("fips_module_config"), "has no effect without fips = true");
  }
}

}  // namespace pqedge::config
