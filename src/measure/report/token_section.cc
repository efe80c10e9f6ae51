#include <algorithm>
#include <format>

#include "measure/report/format.h"
#include "measure/report/sections.h"

namespace pqedge::measure::report {

namespace {

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += "; ";
    text += name;
  }
  return text;
}

Cell requests_cell(const TokenRecord& token, const std::string& coding) {
  const auto first = token.first_request.find(coding);
  const auto next = token.following_request.find(coding);
  if (next == token.following_request.end()) return {.text = "\u2013"};
  Cell cell = bytes_cell(next->second);
  if (first != token.first_request.end()) cell.note = "first " + format_count(first->second);
  return cell;
}

std::string token_detail(const TokenRecord& token) {
  Html html;
  html.open("dl", {{"class", "facts"}});
  const auto fact = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    html.open("div").element("dt", name).element("dd", value).close("div");
  };
  fact("Name", token.registered ? "registered with IANA" : "of a draft: may change");
  for (const auto& [name, bytes] : token.forms) fact("As " + name, format_bytes(bytes));
  for (const auto& [coding, bytes] : token.first_request) {
    fact("First request, " + coding, format_bytes(bytes));
  }
  for (const auto& [coding, bytes] : token.following_request) {
    fact("Each further request, " + coding, format_bytes(bytes));
  }
  fact("Fits in", join(token.fits_in));
  fact("Too large for", token.too_large_for.empty() ? "none of them" : join(token.too_large_for));
  fact("Note", token.note);
  html.close("dl");
  return html.take();
}

Row token_row(const TokenRecord& token, const Run& run) {
  Row row;
  row.detail_title = "Details of " + token.algorithm;
  row.detail_html = token_detail(token);
  const size_t limits = token.fits_in.size() + token.too_large_for.size();
  row.cells = {
      {.text = token.algorithm, .note = token.note, .badge = token.registered ? "" : "draft"},
      bytes_cell(token.total),
      {.text = format_multiple(token.multiple_of_es256), .value = token.multiple_of_es256},
      bytes_cell(token.header),
      bytes_cell(token.payload),
      {.text = format_count(token.signature),
       .value = static_cast<double>(token.signature),
       .note = "raw " + format_count(token.signature_raw)},
      requests_cell(token, "hpack"),
      requests_cell(token, "qpack"),
      {.text = std::format("{} of {}", token.too_large_for.size(), limits),
       .value = static_cast<double>(token.too_large_for.size()),
       .note = join(token.too_large_for)},
      run_cell(run)};
  return row;
}

void write_claims(Html& html, const Record& record) {
  if (record.token_claims.empty()) return;
  html.open("details", {{"class", "aside"}})
      .element("summary",
               std::format("The claims signed, {}", format_bytes(record.token_claims.size())));
  html.open("pre").element("code", record.token_claims).close("pre").close("details").raw("\n");
}

Table documented_table(const HostView& view, const Record& record) {
  Table table;
  table.id = view.id("documented-table");
  table.caption = "Documented limits, as their software is delivered";
  table.columns = {
      {"Limit", false}, {"Bytes", true}, {"Counts", false}, {"Above it", false}, {"Source", false}};
  for (const DocumentedLimitRecord& limit : record.documented_limits) {
    table.rows.push_back({{{.text = limit.name},
                           bytes_cell(limit.bytes),
                           {.text = limit.counts},
                           {.text = limit.answer},
                           {.text = limit.source}}});
  }
  return table;
}

}  // namespace

std::optional<Section> token_section(const HostView& view) {
  const Shown shown =
      shown_run(view.host, [](const Record& record) { return !record.tokens.empty(); });
  if (shown.run == nullptr) return std::nullopt;
  const Record& record = *shown.run->record;
  Table table;
  table.id = view.id("token-table");
  table.caption = "Signed tokens (JWS, RFC 7515): characters, and bytes of header compression";
  table.columns = {{"Algorithm", false},
                   {"Token", true, "Characters of the compact form, with its two dots"},
                   {"Of ES256", true, "ES256 carries R and S, 64 bytes (RFC 7518 3.4)"},
                   {"Header", true},
                   {"Payload", true},
                   {"Signature", true, "base64url characters; the raw signature's bytes below"},
                   {"Next, HTTP/2", true,
                    "Encoded bytes of the field in each further request, HPACK with 4,096 bytes"},
                   {"Next, HTTP/3", true,
                    "Encoded bytes of the field in each further request, QPACK without a table"},
                   {"Limits passed", true},
                   {"Run", true}};
  for (const TokenRecord& token : record.tokens) {
    table.rows.push_back(token_row(token, *shown.run));
  }
  Html html;
  html.element("h3", "Signed tokens");
  write_source(html, shown);
  write_claims(html, record);
  write_chart(
      html, view,
      {.kind = "tokens",
       .title = "Where the bytes are, and the limits.",
       .text = "Characters of header, payload and signature. The lines are documented limits "
               "of software as it is delivered; what each counts beside the token is in the "
               "table of limits.",
       .table_id = table.id});
  write_chart(
      html, view,
      {.kind = "requests",
       .title = "The first request and each further one.",
       .text = "Encoded bytes of the Authorization field as nghttp2 and nghttp3 send it, and "
               "by an encoder that indexes whatever fits: a token that fits the table "
               "shrinks, one that does not is sent whole each time. The scale is "
               "logarithmic.",
       .table_id = table.id});
  write_table(html, table);
  if (!record.documented_limits.empty()) write_table(html, documented_table(view, record));
  return Section{view.id("tokens"), "Tokens", html.take()};
}

std::optional<Section> limit_section(const HostView& view) {
  const Shown shown =
      shown_run(view.host, [](const Record& record) { return !record.limits.empty(); });
  if (shown.run == nullptr) return std::nullopt;
  Table table;
  table.id = view.id("limit-table");
  table.caption = "Real programs with their default settings, asked with real sizes";
  table.columns = {{"Software", false}, {"HTTP", false},    {"Asked with", false},
                   {"Bytes", true},     {"Outcome", false}, {"Documented limit", false},
                   {"Source", false},   {"Run", true}};
  for (const LimitRecord& limit : shown.run->record->limits) {
    table.rows.push_back({{{.text = limit.software, .note = limit.version},
                           {.text = limit.http_version},
                           {.text = limit.what},
                           bytes_cell(limit.bytes),
                           {.text = limit.outcome},
                           {.text = limit.documented_limit},
                           {.text = limit.source},
                           run_cell(*shown.run)}});
  }
  Html html;
  html.element("h3", "Limits of applications");
  write_source(html, shown);
  write_table(html, table);
  return Section{view.id("limits"), "Limits", html.take()};
}

}  // namespace pqedge::measure::report
