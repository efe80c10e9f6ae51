// Pages of one's own in the place of the short texts that go with errors (R12).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "base/problem.h"
#include "base/result.h"

namespace pqedge::content {

struct StatusRange {
  uint16_t first = 0;
  uint16_t last = 0;
};

struct ErrorPageSettings {
  std::vector<StatusRange> statuses;  // 404 is 404 to 404, "5xx" is 500 to 599
  std::vector<std::string> routes;    // names; empty: every route, and requests that none takes
  std::string file;                   // read when the configuration loads; or:
  std::string body;
  std::string content_type;     // empty: by the file's name, else text/plain
  bool backend_errors = false;  // also in the place of what backends answer with the status
};

// The largest file that is sent as an answer of our own.
inline constexpr size_t kMaxPageFile = 256 * 1024;

// Reads a file that is sent as an answer.
Result<std::string> read_page_file(const std::string& file);
// "text/html; charset=utf-8" of "page.html"; text/plain where the name says nothing.
std::string_view content_type_of(std::string_view file);

class ErrorPage {
 public:
  struct Values {
    uint16_t status = 0;
    std::string_view reason;  // "Not Found"
    std::string_view request_id;
  };
  ErrorPage(std::string text, std::string content_type);

  // With ${status}, ${reason} and ${request_id} filled in; any other "${" stays as it is, since
  // scripts in pages have their own. A view of the page, or into the arena.
  std::string_view fill(const Values& values, Arena& arena) const;
  std::string_view content_type() const { return content_type_; }

 private:
  struct Part {
    std::string text;
    uint8_t variable = 0;  // what follows the text; 0: nothing
  };
  std::vector<Part> parts_;
  std::string content_type_;
  bool html_ = false;
};

// All of a configuration. Immutable; safe to share between workers.
class ErrorPages {
 public:
  static Result<ErrorPages> load(const std::vector<ErrorPageSettings>& settings);

  // A page for the route goes before one for all, one for the status before one for its class, and
  // then the order of the file. Null: there is none. `from_backend`: a backend gave the status.
  const ErrorPage* find(std::string_view route, uint16_t status, bool from_backend) const;
  // Whether any answer of a backend could be replaced.
  bool replaces_backend_errors() const { return backend_errors_; }
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    StatusRange range;
    std::vector<std::string> routes;
    bool backend_errors = false;
    size_t page = 0;
  };
  std::vector<Entry> entries_;  // the first to look at first
  std::vector<ErrorPage> pages_;
  bool backend_errors_ = false;
};

// Keys are "error_page[N]...". Whether the named routes exist is not looked at.
Problems validate(const std::vector<ErrorPageSettings>& pages);

}  // namespace pqedge::content
