// The input of a fuzz target that plays both ends of an exchange: a row of steps.
//
// A zero byte and a letter begin a step; what follows up to the next such pair is its payload. Two
// zero bytes are one of the payload. What stands before the first step is the payload of 'c', so
// that a request as it is on the wire is an input.
//
//   c  bytes of the client                    b  bytes of the backend
//   h  a HEADERS frame of the client          H  one of the backend
//   d  a DATA frame of the client             D  one of the backend
//   e  the client ends its direction          E  the backend closes the connection
//   x  the client's connection breaks         N  the next connection to a backend is meant
//   t  time for the loop
//
// The payload of a frame begins with two bytes: which stream (0: the first that a client opens),
// and flags (1: END_STREAM). A HEADERS frame goes on with lines "name: value"; names may begin with
// a colon.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pqedge::fuzz {

struct ScriptStep {
  char what;
  std::string payload;
};

inline constexpr size_t kMaxSteps = 48;

inline std::vector<ScriptStep> read_script(std::string_view in) {
  std::vector<ScriptStep> steps = {{'c', {}}};
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] != '\0' || i + 1 == in.size()) {
      steps.back().payload += in[i];
      continue;
    }
    const char next = in[++i];
    if (next == '\0') {
      steps.back().payload += '\0';
    } else if (steps.size() == kMaxSteps) {
      break;
    } else {
      steps.push_back({next, {}});
    }
  }
  return steps;
}

// What a frame's payload says.
struct ScriptFrame {
  uint32_t stream = 1;
  bool end = false;
  std::string_view rest;
};

inline ScriptFrame read_script_frame(std::string_view payload) {
  ScriptFrame f;
  if (payload.size() < 2) return f;
  f.stream = static_cast<uint8_t>(payload[0]) * 2u + 1;
  f.end = (payload[1] & 1) != 0;
  f.rest = payload.substr(2);
  return f;
}

// The lines of a HEADERS frame.
inline std::vector<std::pair<std::string_view, std::string_view>> read_script_fields(
    std::string_view lines) {
  std::vector<std::pair<std::string_view, std::string_view>> fields;
  while (!lines.empty() && fields.size() < 64) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(line.size() == lines.size() ? line.size() : line.size() + 1);
    // A pseudo-header field begins with the colon.
    const size_t colon = line.find(':', 1);
    if (colon == std::string_view::npos) continue;
    std::string_view value = line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    fields.emplace_back(line.substr(0, colon), value);
  }
  return fields;
}

}  // namespace pqedge::fuzz
