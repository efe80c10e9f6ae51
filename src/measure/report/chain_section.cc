#include <algorithm>
#include <format>

#include "measure/report/format.h"
#include "measure/report/sections.h"

namespace pqedge::measure::report {

namespace {

std::string join(const std::map<std::string, size_t>& bytes) {
  std::string text;
  for (const auto& [name, count] : bytes) {
    if (!text.empty()) text += "; ";
    text += name + " " + format_bytes(count);
  }
  return text;
}

std::string extras(const ChainRecord& chain) {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!text.empty()) text += ", ";
    text += part;
  };
  if (chain.scts > 0) add(std::format("{} SCTs", chain.scts));
  if (chain.staple) add("staple");
  if (!chain.compression.empty()) add(chain.compression);
  if (chain.client_certificate) add("client certificate");
  return text.empty() ? "\u2013" : text;
}

std::string chain_detail(const ChainRecord& chain) {
  Html html;
  html.open("dl", {{"class", "facts"}});
  const auto fact = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    html.open("div").element("dt", name).element("dd", value).close("div");
  };
  fact("Leaf, intermediate, root",
       chain.leaf_algorithm + ", " + chain.intermediate_algorithm + ", " + chain.root_algorithm);
  fact("Where the bytes are", join(chain.parts));
  fact("Compressed message", join(chain.compressed));
  fact("What would save", join(chain.savings));
  fact("Names and extensions", chain.profile);
  fact("Sent in a handshake", chain.captured ? "yes, captured" : "no: encoded only");
  fact("Note", chain.note);
  html.close("dl");
  return html.take();
}

Row chain_row(const ChainRecord& chain, const Run& run) {
  const size_t both = chain.leaf_der + chain.intermediate_der;
  Row row;
  row.detail_title = "Details of " + chain.name;
  row.detail_html = chain_detail(chain);
  row.cells = {
      {.text = chain.name},
      {.text = extras(chain)},
      bytes_cell(chain.leaf_der),
      bytes_cell(chain.intermediate_der),
      bytes_cell(both),
      chain.multiple_of_p256
          ? Cell{.text = format_multiple(*chain.multiple_of_p256), .value = *chain.multiple_of_p256}
          : Cell{.text = "\u2013"},
      bytes_cell(chain.certificate_message),
      chain.compressed_message ? bytes_cell(*chain.compressed_message) : Cell{.text = "\u2013"},
      run_cell(run)};
  return row;
}

// The flight's own window first, then the others.
std::vector<WindowVerdict> windows_of(const FlightRecord& flight) {
  if (!flight.windows.empty()) return flight.windows;
  return {
      {flight.segment, flight.window, flight.window_rule, flight.fits, flight.extra_round_trips}};
}

std::string flight_detail(const FlightRecord& flight) {
  Html html;
  html.open("dl", {{"class", "facts"}});
  html.open("div").element("dt", "Parts").element("dd", join(flight.parts)).close("div");
  if (flight.client_flight > 0) {
    html.open("div")
        .element("dt", "The client's answer")
        .element("dd", format_bytes(flight.client_flight))
        .close("div");
  }
  if (!flight.note.empty()) {
    html.open("div").element("dt", "Note").element("dd", flight.note).close("div");
  }
  html.close("dl");
  html.raw(
      "<table class=\"wire\"><caption>Windows</caption><thead><tr><th scope=\"col\">Window</th>"
      "<th scope=\"col\" class=\"n\">Bytes</th><th scope=\"col\">Verdict</th></tr></thead>"
      "<tbody>");
  for (const WindowVerdict& window : windows_of(flight)) {
    html.open("tr").element("th", window.rule, {{"scope", "row"}});
    html.element("td", format_count(window.window), {{"class", "n"}});
    html.element("td", window.fits ? "fits"
                                   : std::format("{} more round trip{}", window.extra_round_trips,
                                                 window.extra_round_trips == 1 ? "" : "s"));
    html.close("tr");
  }
  html.raw("</tbody></table>");
  return html.take();
}

Row flight_row(const FlightRecord& flight, const Run& run) {
  const WindowVerdict first = windows_of(flight).front();
  Row row;
  row.detail_title = "Parts and windows of the flight with " + flight.chain;
  row.detail_html = flight_detail(flight);
  const int64_t spare =
      static_cast<int64_t>(first.window) - static_cast<int64_t>(flight.server_flight);
  row.cells = {
      {.text = flight.chain},
      {.text = flight.transport == "quic"  ? "QUIC"
               : flight.transport == "tcp" ? "TCP"
                                           : flight.transport},
      {.text = flight.group},
      {.text = format_count(flight.client_hello),
       .value = static_cast<double>(flight.client_hello),
       .note =
           flight.client_datagrams > 0 ? std::format("{} datagrams", flight.client_datagrams) : ""},
      bytes_cell(flight.server_flight),
      {.text = format_count(first.window),
       .value = static_cast<double>(first.window),
       .note = first.rule},
      {.text = format_number(static_cast<double>(spare), 0), .value = static_cast<double>(spare)},
      {.text = first.fits ? "fits"
                          : std::format("+{} round trip{}", first.extra_round_trips,
                                        first.extra_round_trips == 1 ? "" : "s"),
       .value = static_cast<double>(first.extra_round_trips)},
      run_cell(run)};
  return row;
}

}  // namespace

std::optional<Section> chain_section(const HostView& view) {
  const Shown shown =
      shown_run(view.host, [](const Record& record) { return !record.chains.empty(); });
  if (shown.run == nullptr) return std::nullopt;
  Table table;
  table.id = view.id("chain-table");
  table.caption = "Certificate chains: bytes as TLS 1.3 sends them (RFC 8446 4.4.2)";
  table.columns = {{"Chain", false},
                   {"With", false},
                   {"Leaf", true, "DER"},
                   {"Intermediate", true, "DER"},
                   {"Both", true},
                   {"Of ECDSA P-256", true, "Leaf and intermediate, over those of ECDSA P-256"},
                   {"Certificate message", true, "The handshake message, its header included"},
                   {"Compressed", true, "The same message under RFC 8879, with the encoding named"},
                   {"Run", true}};
  for (const ChainRecord& chain : shown.run->record->chains) {
    table.rows.push_back(chain_row(chain, *shown.run));
  }
  Html html;
  html.element("h3", "Certificate chains");
  write_source(html, shown);
  write_chart(
      html, view,
      {.kind = "chains",
       .title = "Leaf and intermediate.",
       .text = "DER bytes of chains without SCTs, staple, compression or client certificate; "
               "the number is the multiple of ECDSA P-256.",
       .table_id = table.id});
  write_table(html, table);
  return Section{view.id("chains"), "Chains", html.take()};
}

std::optional<Section> flight_section(const HostView& view) {
  const Shown shown =
      shown_run(view.host, [](const Record& record) { return !record.flights.empty(); });
  if (shown.run == nullptr) return std::nullopt;
  const std::vector<FlightRecord>& flights = shown.run->record->flights;
  Table table;
  table.id = view.id("flight-table");
  table.caption = "First flights of the server, captured from real handshakes, against windows";
  table.columns = {{"Chain", false},
                   {"Over", false},
                   {"Group", false},
                   {"ClientHello", true, "Bytes of the message; for QUIC the datagrams it took"},
                   {"Flight", true, "Bytes of TLS records over TCP, of datagrams over QUIC"},
                   {"Window", true, "What may be sent before an acknowledgement"},
                   {"Spare", true, "Window less flight"},
                   {"Verdict", true},
                   {"Run", true}};
  for (const FlightRecord& flight : flights) table.rows.push_back(flight_row(flight, *shown.run));
  Html html;
  html.element("h3", "First flights");
  write_source(html, shown);
  for (const std::string_view transport : {"tcp", "quic"}) {
    if (!std::ranges::contains(flights, transport, &FlightRecord::transport)) continue;
    write_chart(html, view,
                {.kind = transport == "tcp" ? "flights-tcp" : "flights-quic",
                 .title = transport == "tcp" ? "Over TCP." : "Over QUIC.",
                 .text = transport == "tcp"
                             ? "The server's first flight against initial windows (RFC 6928): what "
                               "passes the line waits for a round trip. Chains of one algorithm; "
                               "the others are in the table."
                             : "The server's first flight against three times the client's "
                               "datagrams (RFC 9000 8.1) and QUIC's own window (RFC 9002 7.2). "
                               "Chains of one algorithm; the others are in the table.",
                 .table_id = table.id});
  }
  write_table(html, table);
  return Section{view.id("flights"), "First flights", html.take()};
}

}  // namespace pqedge::measure::report
