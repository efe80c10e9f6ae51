// Messages as a fuzz target finds them in what the program wrote. The readers are stricter than any
// recipient has to be: there is one way in which the program writes a message, and all else is a
// fault.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pqedge::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

struct Message {
  // Of a request; in HTTP/2 and 3 from the pseudo-header fields.
  std::string method, target, authority;
  uint16_t status = 0;                                      // of an answer
  std::vector<std::pair<std::string, std::string>> fields;  // names in lower case
  std::vector<std::pair<std::string, std::string>> trailers;
  std::string body;
  bool complete = false;
  bool tunnel = false;  // what follows the head has no framing
  uint64_t stream = 0;  // HTTP/2

  size_t count(std::string_view name) const {
    size_t n = 0;
    for (const auto& f : fields) n += f.first == name;
    return n;
  }
  // The last of that name, or an empty text.
  std::string_view get(std::string_view name) const {
    std::string_view found;
    for (const auto& f : fields) {
      if (f.first == name) found = f.second;
    }
    return found;
  }
};

// ---- what holds for every version ---------------------------------------------------------------

inline bool is_name_byte(char c) {
  const auto u = static_cast<unsigned char>(c);
  return (u >= '0' && u <= '9') || (u >= 'a' && u <= 'z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

inline std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// RFC 9110 5.1, 5.5.
inline void check_field(std::string_view name, std::string_view value) {
  require(!name.empty(), "a field has a name");
  for (const char c : name) require(is_name_byte(c), "a field's name is a token in lower case");
  for (const char c : value) {
    const auto u = static_cast<unsigned char>(c);
    require((u >= 0x20 && u != 0x7f) || c == '\t', "a field's value has no control bytes");
  }
}

// Fields of one hop (RFC 9110 7.6.1), but those that an HTTP/1.1 codec writes itself.
inline bool is_of_hop(std::string_view name) {
  for (const std::string_view s : {"keep-alive", "proxy-connection", "http2-settings",
                                   "proxy-authorization", "proxy-authenticate"}) {
    if (name == s) return true;
  }
  return false;
}

// RFC 9110 6.5.1: what must not stand in a trailer section.
inline void check_trailers(const Message& m) {
  for (const auto& [name, value] : m.trailers) {
    check_field(name, value);
    for (const std::string_view s :
         {"content-length", "transfer-encoding", "host", "trailer", "te", "connection", "upgrade",
          "x-request-id", "x-forwarded-for", "forwarded", "via", "authorization", "cookie",
          "set-cookie", "content-type", "content-encoding", "expect", "range", "if-match"}) {
      require(name != s, "nothing is in the trailers that must not be there");
    }
    require(!is_of_hop(name), "no field of one hop is in the trailers");
  }
}

// ---- HTTP/1.1 -----------------------------------------------------------------------------------

class Http1Reader {
 public:
  explicit Http1Reader(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

  // The start line and the fields of the next head. Nothing: it is not whole.
  std::optional<std::string> head(std::vector<std::pair<std::string, std::string>>& fields) {
    const size_t end = rest_.find("\r\n\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view lines = rest_.substr(0, end + 2);
    rest_.remove_prefix(end + 4);
    std::string start(take_line(lines));
    while (!lines.empty()) take_field(take_line(lines), fields);
    return start;
  }

  // False: the body is not whole, and there are no more bytes.
  bool chunked(Message& m) {
    for (;;) {
      const auto line = whole_line();
      if (!line) return false;
      require(!line->empty() && line->size() <= 16, "a chunk's size is there");
      uint64_t size = 0;
      for (const char c : *line) {
        const bool digit = c >= '0' && c <= '9';
        require(digit || (c >= 'a' && c <= 'f'), "a chunk's size is hexadecimal, and alone");
        size = size * 16 + static_cast<uint64_t>(digit ? c - '0' : c - 'a' + 10);
      }
      if (size == 0) return trailers(m);
      const size_t here = size < rest_.size() ? static_cast<size_t>(size) : rest_.size();
      m.body.append(rest_.substr(0, here));
      rest_.remove_prefix(here);
      if (here < size || rest_.size() < 2) return drop();
      require(rest_.starts_with("\r\n"), "a chunk ends where its size says");
      rest_.remove_prefix(2);
    }
  }

  bool length(Message& m, uint64_t size) {
    const size_t here = size < rest_.size() ? static_cast<size_t>(size) : rest_.size();
    m.body.append(rest_.substr(0, here));
    rest_.remove_prefix(here);
    return here == size;
  }

  void until_end(Message& m) {
    m.body.append(rest_);
    rest_ = {};
  }

  // RFC 9112 6.3: one length, said in one way. Nothing: there is none.
  static std::optional<uint64_t> framing(const Message& m, bool& is_chunked) {
    const size_t codings = m.count("transfer-encoding");
    const size_t lengths = m.count("content-length");
    require(codings + lengths <= 1, "a message has one framing");
    is_chunked = codings == 1;
    if (is_chunked) require(m.get("transfer-encoding") == "chunked", "the one coding is chunked");
    if (lengths == 0) return std::nullopt;
    const std::string_view text = m.get("content-length");
    require(!text.empty() && text.size() <= 20, "a length is a number");
    uint64_t n = 0;
    for (const char c : text) {
      require(c >= '0' && c <= '9', "a length has digits alone");
      n = n * 10 + static_cast<uint64_t>(c - '0');
    }
    return n;
  }

 private:
  static std::string_view take_line(std::string_view& lines) {
    const std::string_view line = lines.substr(0, lines.find("\r\n"));
    lines.remove_prefix(line.size() + 2);
    require(line.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos,
            "no line has a bare CR, a bare LF or a NUL");
    return line;
  }

  static void take_field(std::string_view line,
                         std::vector<std::pair<std::string, std::string>>& fields) {
    const size_t colon = line.find(':');
    require(colon != std::string_view::npos && colon > 0, "a field line has a colon");
    std::string name = lower(line.substr(0, colon));
    std::string_view value = line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    check_field(name, value);
    fields.emplace_back(std::move(name), std::string(value));
  }

  std::optional<std::string_view> whole_line() {
    const size_t end = rest_.find("\r\n");
    if (end == std::string_view::npos) {
      drop();
      return std::nullopt;
    }
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 2);
    return line;
  }

  bool trailers(Message& m) {
    for (;;) {
      const auto line = whole_line();
      if (!line) return false;
      if (line->empty()) return true;
      take_field(*line, m.trailers);
    }
  }

  bool drop() {
    rest_ = {};
    return false;
  }

  std::string_view rest_;
};

// Requests on a connection to a backend. `switched`: the backend has answered that it does (101).
inline std::vector<Message> read_http1_requests(std::string_view bytes, bool switched) {
  std::vector<Message> found;
  Http1Reader reader(bytes);
  while (!reader.at_end()) {
    Message m;
    const auto start = reader.head(m.fields);
    if (!start) break;
    const size_t first = start->find(' ');
    const size_t last = start->rfind(' ');
    require(first != std::string::npos && first < last, "a request line has three parts");
    require(start->substr(last) == " HTTP/1.1", "the version is HTTP/1.1");
    m.method = start->substr(0, first);
    m.target = start->substr(first + 1, last - first - 1);
    require(!m.method.empty() && !m.target.empty(), "method and target are there");
    for (const char c : m.target) {
      const auto u = static_cast<unsigned char>(c);
      require(u > 0x20 && u < 0x7f, "a target is printable");
    }
    require(m.count("host") == 1, "there is one Host field");
    m.authority = m.get("host");
    bool is_chunked = false;
    const auto length = Http1Reader::framing(m, is_chunked);
    m.tunnel = switched && m.count("upgrade") == 1;
    if (m.tunnel) {
      reader.until_end(m);
    } else if (is_chunked) {
      m.complete = reader.chunked(m);
    } else {
      m.complete = reader.length(m, length.value_or(0));
    }
    check_trailers(m);
    found.push_back(std::move(m));
  }
  return found;
}

// Answers on a client's connection, the informational ones too. `methods`: of its requests in the
// order in which they came.
inline std::vector<Message> read_http1_answers(std::string_view bytes,
                                               const std::vector<std::string>& methods) {
  std::vector<Message> found;
  Http1Reader reader(bytes);
  for (size_t at = 0; !reader.at_end();) {
    Message m;
    const auto start = reader.head(m.fields);
    if (!start) break;
    require(start->size() >= 13 && start->starts_with("HTTP/1.1 ") && (*start)[12] == ' ',
            "a status line is HTTP/1.1, three digits, a space");
    for (size_t i = 9; i < 12; ++i) {
      const char c = (*start)[i];
      require(c >= '0' && c <= '9', "a status has digits");
      m.status = static_cast<uint16_t>(m.status * 10 + (c - '0'));
    }
    require(m.status >= 100 && m.status <= 599, "a status is one of five classes");
    bool is_chunked = false;
    const auto length = Http1Reader::framing(m, is_chunked);
    if (m.status < 200 && m.status != 101) {
      require(!is_chunked && !length, "an informational answer has no body");
      m.complete = true;
      found.push_back(std::move(m));
      continue;
    }
    require(at < methods.size(), "no answer is there without a request");
    const std::string& method = methods[at++];
    m.tunnel = m.status == 101 || (method == "CONNECT" && m.status / 100 == 2);
    if (m.tunnel || m.status == 204) {
      require(!is_chunked && !length, "neither a tunnel nor a 204 has a length");
    }
    if (m.tunnel) {
      reader.until_end(m);
    } else if (method == "HEAD" || m.status == 204 || m.status == 304) {
      m.complete = true;
    } else if (is_chunked) {
      m.complete = reader.chunked(m);
    } else if (length) {
      m.complete = reader.length(m, *length);
    } else {
      reader.until_end(m);
    }
    check_trailers(m);
    found.push_back(std::move(m));
  }
  return found;
}

}  // namespace pqedge::fuzz
