// Texts of a configuration with variables in them, "${client_ip}": compiled when it loads, filled
// for a request. "$$" is a dollar sign.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "http/rules.h"

namespace pqedge::route {

inline constexpr size_t kMaxGroups = 9;

// What templates are filled from: a request that has been matched, on its connection.
struct Scene {
  const http::Request& request;  // canonicalised
  const net::ConnectionFacts& facts;
  const http::Identity& identity;
  Arena& arena;
  // As the client sent them, where a rewrite has changed the request's.
  std::string_view target = {};
  std::string_view authority = {};
  std::string_view route = {};
  std::string_view pool = {};  // empty: none was chosen
  std::string_view rest = {};  // of the canonical path, behind the route's prefix: "" or "/..."
  std::span<const std::string_view> groups = {};  // of the pattern: ${1} is the first
  uint16_t status = 0;                            // of the answer; 0: there is none yet
};

class Template {
 public:
  // Where the text goes, which says what may be in it.
  enum class Use : uint8_t {
    field,  // the value of a header field: every variable but groups
    url     // a URL or a path: what is known to fit there, and groups
  };

  Template() = default;  // empty
  // The error says which variable is wrong. `groups`: how many the pattern has.
  static Result<Template> compile(std::string_view text, Use use, size_t groups = 0);

  bool empty() const { return parts_.empty(); }
  // Filled: a view of the template, or into the arena.
  std::string_view fill(const Scene& scene) const;
  // Of the text before the first variable.
  std::string_view literal_start() const;
  // Whether ${1}... stands within the first `size` bytes of the text.
  bool has_group_before(size_t size) const;

 private:
  struct Part {
    std::string text = {};  // literal; or the name of a field, of a cookie
    uint8_t variable = 0;   // 0: literal
    uint8_t group = 0;
    size_t at = 0;  // in the text
  };
  std::string_view value_of(const Part& part, const Scene& scene) const;
  std::vector<Part> parts_;
};

// The first cookie of that name (RFC 6265 5.4), or nothing.
std::string_view cookie(const http::Fields& fields, std::string_view name);

}  // namespace pqedge::route
