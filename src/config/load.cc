#include "config/load.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "admin/validate.h"
#include "config/document.h"
#include "config/files.h"
#include "config/reader.h"
#include "config/report.h"
#include "config/section_readers.h"
#include "config/sections.h"
#include "edge/validate.h"
#include "net/socket.h"

namespace pqedge::config {
namespace {

constexpr size_t kMostProblems = 20;
// Ten thousand routes and a thousand servers are two megabytes.
constexpr size_t kLargestFile = 16 << 20;

bool is_within(std::string_view inner, std::string_view outer) {
  return inner.starts_with(outer) &&
         (inner.size() == outer.size() || inner[outer.size()] == '.' || inner[outer.size()] == '[');
}

// What follows from a value that could not be read is not said again.
void append_new(const Problems& from, Problems& to) {
  const size_t known = to.size();
  for (const Problem& p : from) {
    const auto told = [&](const Problem& earlier) {
      return is_within(p.key, earlier.key) || is_within(earlier.key, p.key) ||
             (!p.related.empty() && is_within(earlier.key, p.related));
    };
    if (std::none_of(to.begin(), to.begin() + static_cast<ptrdiff_t>(known), told)) {
      to.push_back(p);
    }
  }
}

// A pool's name that could not be read makes every route to it look wrong.
void drop_unknown_pools(const Problems& read, Problems& found) {
  const bool unsure = std::ranges::any_of(read, [](const Problem& p) {
    return p.key == "pool" ||
           (p.key.starts_with("pool[") && (p.key.ends_with(".name") || p.key.ends_with(']')));
  });
  if (!unsure) return;
  std::erase_if(found, [](const Problem& p) {
    return p.key.starts_with("route[") && p.key.ends_with(".pool");
  });
}

// What needs two modules of which one is above edge, or a file that names certificates.
Problems check_across(const Configuration& c) {
  Problems out;
  for (size_t i = 0; i < c.edge.listeners.size(); ++i) {
    const auto& listener = c.edge.listeners[i];
    if (listener.tls && c.edge.tls.certificates.empty() && c.edge.acme.on_demand.ask.empty()) {
      out.push_back({entry_key("listener", i), "takes TLS, and there is no certificate",
                     "write a [[certificate]] with chain and key, or tls = false"});
    }
    for (size_t a = 0; a < c.admin.listen.size(); ++a) {
      for (const auto& address : listener.addresses) {
        if (address == c.admin.listen[a]) {
          out.push_back({entry_key("admin.listen", a),
                         address.to_string() + " is the address of a listener", "",
                         entry_key("listener", i, "address")});
        }
      }
    }
  }
  return out;
}

Problems check(const Configuration& configuration, const Problems& read, Checks checks) {
  Problems all = read;
  Problems found = edge::validate(configuration.edge);
  drop_unknown_pools(read, found);
  Problems more = admin::validate(configuration.admin);
  found.insert(found.end(), more.begin(), more.end());
  more = check_across(configuration);
  found.insert(found.end(), more.begin(), more.end());
  if (checks == Checks::all) {
    more = check_files(configuration);
    found.insert(found.end(), more.begin(), more.end());
  }
  append_new(found, all);
  return all;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) {
    if (!out.empty()) out += '\n';
    out += line;
  }
  return out;
}

Result<std::string> read_file(const std::string& path) {
  const net::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "{}: cannot read the configuration", path);
  std::string text;
  char buffer[16384];
  while (true) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "{}: cannot read the configuration", path);
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
    if (text.size() > kLargestFile) return fail("{}: larger than 16MiB, so no configuration", path);
  }
}

}  // namespace

std::string Configuration::position(std::string_view key) const {
  while (!key.empty()) {
    if (const auto it = positions.find(std::string(key)); it != positions.end()) return it->second;
    const size_t cut = key.find_last_of(".[");
    key = cut == std::string_view::npos ? std::string_view{} : key.substr(0, cut);
  }
  return edge.source;
}

Result<Configuration> parse(std::string_view toml, std::string source_name, std::string base_dir,
                            Checks checks) {
  const auto document = parse_document(toml);
  if (!document) {
    return std::unexpected(Error{render_syntax_error(document.error(), source_name)});
  }
  Configuration out;
  out.edge.source = source_name;
  Reading reading{.base_dir = std::move(base_dir)};
  Table root(reading, &*document, "");
  read_document(root, out);
  root.report_unknown();

  const Places places(*document, std::move(source_name));
  const Problems all = check(out, reading.problems, checks);
  Problems errors;
  Problems warnings;
  for (const Problem& p : all) (p.warning ? warnings : errors).push_back(p);
  if (!errors.empty()) {
    return std::unexpected(Error{joined(render(errors, places, kMostProblems))});
  }
  out.warnings = render(warnings, places, kMostProblems);
  places.for_each(
      [&](const std::string& key, std::string at) { out.positions.emplace(key, std::move(at)); });
  return out;
}

Result<Configuration> load_file(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return std::unexpected(text.error());
  std::error_code code;
  const std::filesystem::path absolute = std::filesystem::absolute(path, code);
  if (code) return fail_errno(code.value(), "{}: cannot find its directory", path);
  return parse(*text, path, absolute.parent_path().string());
}

crypto::ProviderSettings load_providers(const std::string& path) {
  crypto::ProviderSettings out;
  if (path.empty()) return out;
  const auto text = read_file(path);
  const auto document = text ? parse_document(*text) : parse_document("");
  if (!document) return out;
  std::error_code code;
  const std::filesystem::path absolute = std::filesystem::absolute(path, code);
  Reading reading{.base_dir = absolute.parent_path().string()};
  Table root(reading, &*document, "");
  root.table("crypto", [&](Table& t) { read_crypto(t, out); });
  return reading.problems.empty() ? out : crypto::ProviderSettings{};
}

std::vector<std::string> known_keys() {
  std::set<std::string> keys;
  Reading reading{.keys = &keys};
  Table root(reading, nullptr, "");
  Configuration ignored;
  read_document(root, ignored);
  return {keys.begin(), keys.end()};
}

}  // namespace pqedge::config
