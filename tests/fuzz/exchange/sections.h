// Messages of HTTP/2 and HTTP/3, as of message.h: field sections and a body on a stream.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/exchange/message.h"

namespace pqedge::fuzz {

using FieldSection = std::vector<std::pair<std::string, std::string>>;

// One direction of one stream.
struct StreamRead {
  std::vector<FieldSection> sections;
  std::vector<size_t> body_before;  // bytes of the body before each section
  std::string body;
  bool ended = false;
  bool reset = false;
};

// The pseudo-header fields come first, each once (RFC 9113 8.3); the others become the message's.
inline void take_section(const FieldSection& section, Message& m) {
  bool regular = false;
  for (const auto& [name, value] : section) {
    if (!name.starts_with(':')) {
      regular = true;
      check_field(name, value);
      for (const std::string_view s : {"connection", "transfer-encoding", "upgrade"}) {
        require(name != s, "no field of HTTP/1.1 is in HTTP/2");
      }
      m.fields.emplace_back(name, value);
      continue;
    }
    require(!regular, "pseudo-header fields come first");
    std::string* const place = name == ":method"      ? &m.method
                               : name == ":path"      ? &m.target
                               : name == ":authority" ? &m.authority
                                                      : nullptr;
    if (place != nullptr) {
      require(place->empty(), "a pseudo-header field is there once");
      *place = value;
    } else if (name == ":status") {
      require(m.status == 0 && value.size() == 3, "a status is there once");
      for (const char c : value) {
        require(c >= '0' && c <= '9', "a status has digits");
        m.status = static_cast<uint16_t>(m.status * 10 + (c - '0'));
      }
    } else {
      require(name == ":scheme" || name == ":protocol", "a pseudo-header field is a known one");
    }
  }
}

inline void check_body_length(const Message& m) {
  require(m.count("content-length") <= 1, "there is one length");
  if (m.complete && m.count("content-length") == 1) {
    require(m.get("content-length") == std::to_string(m.body.size()),
            "a body is as long as its message says");
  }
}

// Those of a stream to a client, the informational ones too.
inline void add_answers(uint64_t id, const StreamRead& s, std::vector<Message>& found) {
  bool answered = false;
  for (size_t i = 0; i < s.sections.size(); ++i) {
    if (answered) {
      require(i + 1 == s.sections.size(), "only trailers follow an answer's head");
      for (const auto& f : s.sections[i]) found.back().trailers.push_back(f);
      check_trailers(found.back());
      continue;
    }
    Message m;
    m.stream = id;
    take_section(s.sections[i], m);
    require(m.status >= 100 && m.status <= 599 && m.status != 101, "a status is known");
    require(s.body_before[i] == 0, "no body is before the head");
    answered = m.status >= 200;
    if (answered) {
      m.body = s.body;
      m.complete = s.ended && !s.reset;
    } else {
      require(i + 1 < s.sections.size() || !s.ended, "an informational answer ends nothing");
      m.complete = true;
    }
    found.push_back(std::move(m));
  }
}

}  // namespace pqedge::fuzz
