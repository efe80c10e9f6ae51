#include "http/node.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "http/names.h"

namespace pqedge::http {
namespace {

constexpr size_t kMaxHops = 64;  // more than any real chain; a longer list tells nothing

// The nodes of a list, from the client on.
struct Nodes {
  std::array<std::string_view, kMaxHops> items;
  size_t size = 0;
  bool add(std::string_view node) {
    if (size == kMaxHops) return false;
    items[size++] = node;
    return true;
  }
};

bool read_x_forwarded_for(std::string_view list, Nodes& nodes) {
  bool fits = true;
  for_each_member(list, [&](std::string_view member) { fits = fits && nodes.add(member); });
  return fits;
}

// A reader of RFC 7239 4: forwarded-element = [ pair ] *( ";" [ pair ] ), pair = token "=" value.
// Strict: what a client wrote before a proxy's element must not change how that one is read, so a
// list with anything odd in it counts for nothing.
class ForwardedReader {
 public:
  explicit ForwardedReader(std::string_view text) : rest_(text) {}

  bool read(Nodes& nodes) {
    for (;;) {
      std::string_view node;
      if (!element(node)) return false;
      if (!node.empty() && !nodes.add(node)) return false;
      if (rest_.empty()) return true;
      rest_.remove_prefix(1);  // ","
    }
  }

 private:
  bool element(std::string_view& node) {
    for (;;) {
      blanks();
      if (!rest_.empty() && rest_.front() != ';' && rest_.front() != ',') {
        if (!pair(node)) return false;
        blanks();
      }
      if (rest_.empty() || rest_.front() == ',') return true;
      if (rest_.front() != ';') return false;
      rest_.remove_prefix(1);
    }
  }

  bool pair(std::string_view& node) {
    const std::string_view name = until("=;, \t\"");
    if (!is_token(name) || rest_.empty() || rest_.front() != '=') return false;
    rest_.remove_prefix(1);
    std::string_view value;
    if (!rest_.empty() && rest_.front() == '"') {
      if (!quoted(value)) return false;
    } else {
      value = until(";, \t\"");
      if (!is_token(value)) return false;
    }
    if (!iequals(name, "for")) return true;
    if (!node.empty() || value.empty()) return false;  // RFC 7239 4: once an element
    node = value;
    return true;
  }

  // No address needs a quoted pair; a value with one is kept as it stands and names nobody.
  bool quoted(std::string_view& value) {
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '\\') {
        ++i;
      } else if (rest_[i] == '"') {
        value = rest_.substr(1, i - 1);
        rest_.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }

  std::string_view until(std::string_view stops) {
    const std::string_view taken = rest_.substr(0, rest_.find_first_of(stops));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  void blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

bool is_port(std::string_view s) {
  if (s.starts_with('_')) return is_token(s.substr(1));
  const auto n = parse_decimal(s);
  return n && *n <= 65535;
}

}  // namespace

std::optional<net::Address> parse_node(std::string_view node) {
  std::string_view ip = node;
  std::string_view port;
  if (node.starts_with('[')) {
    const size_t close = node.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    ip = node.substr(1, close - 1);
    port = node.substr(close + 1);
    if (!ip.contains(':') || (!port.empty() && port.front() != ':')) return std::nullopt;
  } else if (std::ranges::count(node, ':') == 1) {
    const size_t colon = node.find(':');
    ip = node.substr(0, colon);
    port = node.substr(colon);
  }
  if (!port.empty() && !is_port(port.substr(1))) return std::nullopt;
  if (ip.contains('%')) return std::nullopt;  // a zone is of another machine
  const auto address = net::Address::from_ip(ip, 0);
  if (!address) return std::nullopt;
  return *address;
}

bool is_trusted(const net::Address& address, const std::vector<net::Network>& trusted) {
  return std::ranges::any_of(trusted, [&](const net::Network& n) { return n.contains(address); });
}

std::optional<net::Address> client_behind(const Fields& fields,
                                          const std::vector<net::Network>& trusted) {
  Nodes nodes;
  if (fields.has(Name::x_forwarded_for)) {
    if (!read_x_forwarded_for(fields.joined(Name::x_forwarded_for), nodes)) return std::nullopt;
  } else if (fields.has(Name::forwarded)) {
    if (!ForwardedReader(fields.joined(Name::forwarded)).read(nodes)) return std::nullopt;
  }
  std::optional<net::Address> client;
  for (size_t i = nodes.size; i > 0; --i) {
    const auto hop = parse_node(nodes.items[i - 1]);
    if (!hop) break;
    client = hop;
    if (!is_trusted(*hop, trusted)) break;
  }
  return client;
}

}  // namespace pqedge::http
