// Priorities of requests (RFC 9218).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pqedge::http {

struct Priority {
  uint8_t urgency = 3;  // 0 (first) to 7
  bool incremental = false;
  friend bool operator==(const Priority&, const Priority&) = default;
};

// Reads a Priority field value: a dictionary (RFC 8941 3.2) of which `u` and `i` are known. What is
// missing, unknown or has another type leaves what `base` says; a value that is not a dictionary at
// all counts as empty (RFC 9218 4, RFC 8941 4.2). The base of a request's is the default; that of
// an answer's is the request's (RFC 9218 8).
Priority parse_priority(std::string_view value, Priority base = {});

// What PRIORITY_UPDATE frames said of requests that have not come yet (RFC 9218 7): the last few,
// in the place of what the requests themselves will say.
class EarlyPriorities {
 public:
  void remember(int64_t stream, Priority priority) {
    any_ = true;
    for (Entry& e : entries_) {
      if (e.stream != stream) continue;
      e.priority = priority;
      return;
    }
    entries_[next_++ % entries_.size()] = {stream, priority};
  }
  // The request has come.
  std::optional<Priority> take(int64_t stream) {
    if (!any_) return std::nullopt;
    for (Entry& e : entries_) {
      if (e.stream != stream) continue;
      e.stream = -1;
      return e.priority;
    }
    return std::nullopt;
  }

 private:
  struct Entry {
    int64_t stream = -1;
    Priority priority;
  };
  std::array<Entry, 16> entries_;
  size_t next_ = 0;
  bool any_ = false;
};

}  // namespace pqedge::http
