#include "content/error_pages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <format>
#include <functional>
#include <utility>

#include "base/fd.h"
#include "base/text.h"

namespace pqedge::content {
namespace {

enum Variable : uint8_t { none, status, reason, request_id };

constexpr std::array<std::pair<std::string_view, Variable>, 3> kVariables = {
    {{"${status}", status}, {"${reason}", reason}, {"${request_id}", request_id}}};

// What a trusted peer gave as the request's ID may have a "&" or a "'" in it.
std::string_view escaped(std::string_view text, Arena& arena) {
  if (text.find_first_of("&<>\"'") == std::string_view::npos) return text;
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return arena.copy(out);
}

}  // namespace

Result<std::string> read_page_file(const std::string& file) {
  // Not to wait for the writer of a FIFO.
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    return fail_errno(errno, "cannot read {}", in_quotes(file));
  }
  if (!S_ISREG(info.st_mode)) return fail("{} is not a file", in_quotes(file));
  std::string text;
  char buffer[16384];
  while (text.size() <= kMaxPageFile) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot read {}", in_quotes(file));
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
  return fail("{} is larger than {}, which is the most for an answer of the proxy's own",
              in_quotes(file), size_text(kMaxPageFile));
}

std::string_view content_type_of(std::string_view file) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kTypes = {
      {{".html", "text/html; charset=utf-8"},
       {".htm", "text/html; charset=utf-8"},
       {".json", "application/json"},
       {".xml", "application/xml"},
       {".svg", "image/svg+xml"},
       {".css", "text/css; charset=utf-8"},
       {".js", "text/javascript; charset=utf-8"},
       {".ico", "image/vnd.microsoft.icon"}}};
  for (const auto& [ending, type] : kTypes) {
    if (file.ends_with(ending)) return type;
  }
  return "text/plain; charset=utf-8";
}

ErrorPage::ErrorPage(std::string text, std::string content_type)
    : content_type_(std::move(content_type)), html_(content_type_.starts_with("text/html")) {
  std::string_view rest = text;
  while (true) {
    size_t first = std::string_view::npos;
    std::pair<std::string_view, Variable> found;
    for (const auto& variable : kVariables) {
      const size_t at = rest.find(variable.first);
      if (at >= first) continue;
      first = at;
      found = variable;
    }
    parts_.push_back({.text = std::string(rest.substr(0, first)), .variable = found.second});
    if (first == std::string_view::npos) return;
    rest.remove_prefix(first + found.first.size());
  }
}

std::string_view ErrorPage::fill(const Values& values, Arena& arena) const {
  if (parts_.size() == 1) return parts_.front().text;
  char code[8];
  const char* const code_end = std::to_chars(code, code + sizeof code, values.status).ptr;
  const std::string_view texts[] = {{},
                                    {code, static_cast<size_t>(code_end - code)},
                                    values.reason,
                                    html_ ? escaped(values.request_id, arena) : values.request_id};
  size_t size = 0;
  for (const Part& part : parts_) size += part.text.size() + texts[part.variable].size();
  char* const out = static_cast<char*>(arena.allocate(size));
  char* at = out;
  const auto put = [&at](std::string_view text) {
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    at += text.size();
  };
  for (const Part& part : parts_) {
    put(part.text);
    put(texts[part.variable]);
  }
  return {out, size};
}

Result<ErrorPages> ErrorPages::load(const std::vector<ErrorPageSettings>& settings) {
  ErrorPages out;
  for (size_t i = 0; i < settings.size(); ++i) {
    const ErrorPageSettings& s = settings[i];
    std::string text = s.body;
    if (!s.file.empty()) {
      auto read = read_page_file(s.file);
      if (!read) return fail("error_page[{}].file: {}", i, read.error().message);
      text = std::move(*read);
    }
    std::string type =
        s.content_type.empty() ? std::string(content_type_of(s.file)) : s.content_type;
    out.pages_.emplace_back(std::move(text), std::move(type));
    out.backend_errors_ |= s.backend_errors;
    for (const StatusRange range : s.statuses) {
      out.entries_.push_back(
          {.range = range, .routes = s.routes, .backend_errors = s.backend_errors, .page = i});
    }
  }
  std::ranges::stable_sort(out.entries_, std::less{}, [](const Entry& e) {
    return std::pair(e.routes.empty(), e.range.first != e.range.last);
  });
  return out;
}

const ErrorPage* ErrorPages::find(std::string_view route, uint16_t code, bool from_backend) const {
  for (const Entry& e : entries_) {
    if (code < e.range.first || code > e.range.last) continue;
    if (from_backend && !e.backend_errors) continue;
    if (e.routes.empty() || std::ranges::contains(e.routes, route)) return &pages_[e.page];
  }
  return nullptr;
}

Problems validate(const std::vector<ErrorPageSettings>& pages) {
  Problems out;
  for (size_t i = 0; i < pages.size(); ++i) {
    const ErrorPageSettings& page = pages[i];
    const std::string base = entry_key("error_page", i);
    if (page.statuses.empty()) {
      out.push_back({base + ".status", "is missing", "write status = [404, \"5xx\"]"});
    }
    for (size_t r = 0; r < page.statuses.size(); ++r) {
      const StatusRange range = page.statuses[r];
      if (range.first < 400 || range.last > 599) {
        out.push_back({entry_key(base + ".status", r),
                       std::format("{} is no status of an error", range.first),
                       "it may be 400 to 599, \"4xx\" or \"5xx\""});
      }
    }
    if (page.file.empty() == page.body.empty()) {
      out.push_back({base, page.file.empty() ? "has no page" : "has both file and body",
                     "give it one of file and body"});
    }
    const bool plain =
        std::ranges::all_of(page.content_type, [](char c) { return c >= 0x20 && c < 0x7f; });
    if (!plain || (!page.content_type.empty() && !page.content_type.contains('/'))) {
      out.push_back({base + ".content_type", in_quotes(page.content_type) + " is no media type",
                     "write it as in \"text/html; charset=utf-8\""});
    }
  }
  return out;
}

}  // namespace pqedge::content
