#include "measure/calculator/inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <toml++/toml.hpp>
#include <vector>

#include "base/problem.h"

namespace pqedge::measure {
namespace {

constexpr std::array kNumbers = {
    NumberKey{"connections_per_second", &Inputs::connections_per_second, 0, 1e9,
              "new connections a second, resumed ones included"},
    NumberKey{"resumption", &Inputs::resumption, 0, 1, "share of them that resume a session"},
    NumberKey{"early_data", &Inputs::early_data, 0, 1,
              "share of the resumed that send their request as 0-RTT"},
    NumberKey{"client_certificates", &Inputs::client_certificates, 0, 1,
              "share of full handshakes with a client certificate"},
    NumberKey{"requests_per_connection", &Inputs::requests_per_connection, 0, 1e9, ""},
    NumberKey{"token_share", &Inputs::token_share, 0, 1, "share of requests that carry a token"},
    NumberKey{"response_bytes", &Inputs::response_bytes, 0, 1e15, "of one answer"},
    NumberKey{"rtt_ms", &Inputs::rtt_ms, 0, 1e5, "round-trip time"},
    NumberKey{"loss", &Inputs::loss, 0, 0.5, "share of packets that are lost"},
    NumberKey{"initial_window", &Inputs::initial_window, 1, 1000, "segments (RFC 6928)"},
    NumberKey{"segment", &Inputs::segment, 100, 65535, "bytes of payload in one segment"},
    NumberKey{"egress_price_per_gb", &Inputs::egress_price_per_gb, 0, 1e6,
              "for 10^9 bytes sent, in any currency"},
    NumberKey{"core_price_per_hour", &Inputs::core_price_per_hour, 0, 1e6, "in the same currency"},
};

class FileReader {
 public:
  FileReader(std::string_view source, Inputs& inputs) : source_(source), inputs_(inputs) {}

  Result<void> read(const toml::table& table) {
    for (const auto& [key, node] : table) {
      if (auto done = member(key.str(), node); !done) return done;
    }
    return {};
  }

 private:
  Result<void> member(std::string_view name, const toml::node& node) {
    const auto number = std::ranges::find(kNumbers, name, &NumberKey::name);
    if (number != kNumbers.end()) {
      const auto value = node.value<double>();
      if (!value) return wrong(node, name, "is not a number");
      inputs_.*(number->member) = *value;
      return {};
    }
    if (name == "http") return text(name, node, inputs_.http);
    if (name == "before") return choice(name, node, inputs_.before);
    if (name == "after") return choice(name, node, inputs_.after);
    std::vector<std::string_view> known = {"http", "before", "after"};
    for (const NumberKey& k : kNumbers) known.push_back(k.name);
    return unknown(node, name, known);
  }

  Result<void> choice(std::string_view table_name, const toml::node& node, CryptoChoice& to) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return wrong(node, table_name, "is not a table");
    for (const auto& [key, value] : *table) {
      const std::string name = std::string(table_name) + '.' + std::string(key.str());
      std::string* member = key.str() == "group"   ? &to.group
                            : key.str() == "chain" ? &to.chain
                            : key.str() == "token" ? &to.token
                                                   : nullptr;
      if (member == nullptr) {
        const std::vector<std::string_view> known = {"group", "chain", "token"};
        return unknown(value, name, known);
      }
      if (auto done = text(name, value, *member); !done) return done;
    }
    return {};
  }

  Result<void> text(std::string_view name, const toml::node& node, std::string& to) {
    const auto value = node.value_exact<std::string>();
    if (!value) return wrong(node, name, "is not a text");
    to = *value;
    return {};
  }

  Result<void> wrong(const toml::node& node, std::string_view name, std::string_view what) const {
    return fail("{}:{}: {} {}", source_, node.source().begin.line, name, what);
  }
  Result<void> unknown(const toml::node& node, std::string_view name,
                       const std::vector<std::string_view>& known) const {
    const std::string hint = did_you_mean(name.substr(name.find('.') + 1), known);
    return wrong(node, name, "is not a key" + (hint.empty() ? "" : "; " + hint));
  }

  std::string_view source_;
  Inputs& inputs_;
};

}  // namespace

std::span<const NumberKey> number_keys() { return kNumbers; }

Result<void> read_inputs(std::string_view toml, std::string_view source, Inputs& inputs) {
  try {
    return FileReader(source, inputs).read(toml::parse(toml));
  } catch (const toml::parse_error& e) {
    return fail("{}:{}: {}", source, e.source().begin.line, e.description());
  }
}

Result<void> check_inputs(const Inputs& inputs) {
  for (const NumberKey& key : kNumbers) {
    const double value = inputs.*key.member;
    if (!std::isfinite(value) || value < key.least || value > key.most) {
      return fail("{} is {:g}: it may be {:g} to {:g}", key.name, value, key.least, key.most);
    }
  }
  if (inputs.connections_per_second == 0) {
    return fail("connections_per_second is not given: nothing can be calculated without it");
  }
  if (inputs.http != "1.1" && inputs.http != "2" && inputs.http != "3") {
    return fail("http is {}: it may be 1.1, 2 or 3", in_quotes(inputs.http));
  }
  return {};
}

}  // namespace pqedge::measure
