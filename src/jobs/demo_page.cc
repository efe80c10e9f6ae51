#include "jobs/demo_page.h"

#include <string_view>

namespace pqedge::jobs {
namespace {

constexpr std::string_view kTop = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>pqedge demonstration backend</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
th { font-weight: 600; white-space: nowrap; } td { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
.pq { display: inline-block; padding: .15rem .6rem; border-radius: 1rem; background: #16794c; color: #fff; }
.classical { background: #9a6700; }
</style>
<h1>This request came through pqedge</h1>
)";

void append_html(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
}

void row(std::string& out, std::string_view name, std::string_view value) {
  out += "<tr><th>";
  append_html(out, name);
  out += "</th><td>";
  append_html(out, value);
  out += "</td></tr>\n";
}

std::string_view field(const http::Request& r, std::string_view name) {
  const http::Field* f = const_cast<http::Request&>(r).fields.find(name);
  return f == nullptr ? std::string_view{} : f->value;
}

}  // namespace

std::string demo_page(const http::Request& request) {
  std::string out(kTop);
  const std::string_view group = field(request, "x-tls-group");
  if (group.empty()) {
    out += "<p><span class=\"pq classical\">no TLS</span></p>\n";
  } else if (group.find("MLKEM") != std::string_view::npos) {
    out += "<p><span class=\"pq\">post-quantum key exchange</span></p>\n";
  } else {
    out += "<p><span class=\"pq classical\">classical key exchange</span></p>\n";
  }
  out += "<table>\n";
  row(out, "HTTP version", field(request, "x-http-version"));
  row(out, "TLS version", field(request, "x-tls-version"));
  row(out, "Key exchange group", group);
  row(out, "Cipher", field(request, "x-tls-cipher"));
  row(out, "Client", field(request, "x-real-ip"));
  row(out, "Request ID", field(request, "x-request-id"));
  out += "</table>\n<h2>The request as the backend received it</h2>\n<table>\n";
  row(out, request.method_text, request.target);
  request.fields.for_each([&](const http::Field& f) { row(out, f.name, f.value); });
  out +=
      "</table>\n<h2>Try</h2>\n<p><a href=\"/bytes/1000000\">/bytes/1000000</a>, "
      "<a href=\"/slow\">/slow</a>, <a href=\"/status/503\">/status/503</a>, "
      "and a POST to /echo.</p>\n</html>\n";
  return out;
}

}  // namespace pqedge::jobs
