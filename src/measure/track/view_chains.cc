// Chains, first flights and tokens for the terminal.
#include <format>

#include "measure/record/markdown.h"
#include "measure/record/text.h"
#include "measure/track/view.h"

namespace pqedge::measure {

namespace {

using Align = TextTable::Align;

// At most `width` code points; names are ASCII.
std::string cut(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

std::string flights_view(const Record& record, unsigned columns) {
  TextTable table({{"first flight of", Align::left},
                   {"over", Align::left},
                   {"group", Align::left},
                   {"bytes", Align::right},
                   {"window", Align::right},
                   {"more trips", Align::right}});
  for (const FlightRecord& f : record.flights) {
    table.add({cut(f.chain, columns - 52), f.transport, f.group, count_text(f.server_flight),
               count_text(f.window), std::to_string(f.extra_round_trips)});
  }
  return table.text();
}

}  // namespace

std::string chains_view(const Record& record, unsigned columns) {
  TextTable table({{"chain", Align::left},
                   {"leaf", Align::right},
                   {"issuer", Align::right},
                   {"message", Align::right},
                   {"of P-256", Align::right}});
  for (const ChainRecord& c : record.chains) {
    table.add({cut(c.name, columns - 44), count_text(c.leaf_der), count_text(c.intermediate_der),
               count_text(c.certificate_message),
               c.multiple_of_p256 ? std::format("{:.2f}x", *c.multiple_of_p256) : ""});
  }
  std::string out = "Certificate chains (bytes)\n" + table.text();
  if (!record.flights.empty()) out += '\n' + flights_view(record, columns);
  return out;
}

std::string tokens_view(const Record& record, unsigned columns) {
  TextTable table({{"token", Align::left},
                   {"name", Align::left},
                   {"signature", Align::right},
                   {"token", Align::right},
                   {"of ES256", Align::right},
                   {"first", Align::right},
                   {"then", Align::right}});
  for (const TokenRecord& t : record.tokens) {
    const auto hpack = [](const std::map<std::string, size_t>& by_coder) {
      const auto found = by_coder.find("hpack");
      return found == by_coder.end() ? std::string() : count_text(found->second);
    };
    table.add({t.algorithm, t.registered ? "registered" : "draft", count_text(t.signature_raw),
               count_text(t.total), std::format("{:.2f}x", t.multiple_of_es256),
               hpack(t.first_request), hpack(t.following_request)});
  }
  return "Tokens (bytes; first and following requests under HPACK)\n" + table.text() +
         wrapped("Limits of cookies, servers and proxies for each are in the record.", columns, 0);
}

}  // namespace pqedge::measure
