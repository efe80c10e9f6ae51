// The pairs of files in a directory of certificates.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "crypto/certificate_files.h"

namespace pqedge::crypto {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(path, code);
}

// Certificates have these; what else lies in such a directory is left alone.
bool names_certificate(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".pem" || extension == ".crt" || extension == ".cer";
}

// The whole of it is read when it is loaded; this is to tell it from a chain that has lost its key.
bool holds_key(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  for (int i = 0; i < 20'000 && std::getline(in, line); ++i) {
    if (line.size() < 128 && line.starts_with("-----BEGIN ") &&
        line.find("PRIVATE KEY-----") != line.npos) {
      return true;
    }
  }
  return false;
}

// The key's file beside a certificate's: where no other name fits, its own.
fs::path key_of(const fs::path& chain) {
  if (chain.filename() == "fullchain.pem") {
    if (auto key = chain.parent_path() / "privkey.pem"; is_file(key)) return key;
  }
  auto key = fs::path(chain).replace_extension(".key");
  if (is_file(key)) return key;
  return chain.extension() == ".pem" && holds_key(chain) ? chain : fs::path();
}

// Names in a directory but those that begin with a dot, which are Kubernetes' own.
std::set<fs::path> entries_of(const fs::path& directory, std::error_code& code) {
  std::set<fs::path> entries;
  for (fs::directory_iterator it(directory, code), end; !code && it != end; it.increment(code)) {
    if (!it->path().filename().native().starts_with('.')) entries.insert(it->path());
    if (entries.size() > 4 * kMaxPairs) break;
  }
  return entries;
}

void add_pairs(const fs::path& directory, const std::set<fs::path>& entries,
               std::vector<CertificateFiles>& out) {
  const bool certbot = entries.contains(directory / "fullchain.pem");
  for (const fs::path& entry : entries) {
    if (!names_certificate(entry) || !is_file(entry)) continue;
    // Beside fullchain.pem certbot has its parts.
    if (certbot && (entry.filename() == "cert.pem" || entry.filename() == "chain.pem")) continue;
    const fs::path key = key_of(entry);
    if (!key.empty()) out.push_back({.chain = entry.native(), .key = key.native()});
  }
}

}  // namespace

Result<std::vector<CertificateFiles>> list_certificate_files(const CertificateSettings& settings) {
  std::vector<CertificateFiles> out;
  if (settings.directory.empty()) {
    out.push_back({.chain = settings.chain_file,
                   .key = settings.key_file,
                   .timestamps = settings.sct_file,
                   .is_default = settings.is_default});
    return out;
  }
  std::error_code code;
  const fs::path directory(settings.directory);
  const auto entries = entries_of(directory, code);
  if (code) return fail_errno(code.value(), "cannot read the directory {}", settings.directory);
  add_pairs(directory, entries, out);
  for (const fs::path& entry : entries) {
    std::error_code inner;
    if (!fs::is_directory(entry, inner)) continue;
    const auto below = entries_of(entry, inner);
    if (!inner) add_pairs(entry, below, out);
  }
  if (out.size() > kMaxPairs) {
    return fail("{} holds more than {} certificates", settings.directory, kMaxPairs);
  }
  return out;
}

}  // namespace pqedge::crypto
