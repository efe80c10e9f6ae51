#include "http/message.h"

#include <array>
#include <ctime>

namespace pqedge::http {

std::string_view version_name(Version v) {
  switch (v) {
    case Version::http10: return "HTTP/1.0";
    case Version::http11: return "HTTP/1.1";
    case Version::http2: return "HTTP/2";
    case Version::http3: return "HTTP/3";
  }
  return {};
}

std::string_view via_protocol(Version v) {
  switch (v) {
    case Version::http10: return "1.0";
    case Version::http11: return "1.1";
    case Version::http2: return "2";
    case Version::http3: return "3";
  }
  return {};
}

Method parse_method(std::string_view text) {
  switch (text.size()) {
    case 3:
      if (text == "GET") return Method::get;
      if (text == "PUT") return Method::put;
      break;
    case 4:
      if (text == "POST") return Method::post;
      if (text == "HEAD") return Method::head;
      break;
    case 5:
      if (text == "PATCH") return Method::patch;
      if (text == "TRACE") return Method::trace;
      break;
    case 6:
      if (text == "DELETE") return Method::delete_;
      break;
    case 7:
      if (text == "OPTIONS") return Method::options;
      if (text == "CONNECT") return Method::connect;
      break;
    default: break;
  }
  return Method::other;
}

bool is_safe(Method m) {
  return m == Method::get || m == Method::head || m == Method::options || m == Method::trace;
}

bool is_idempotent(Method m) { return is_safe(m) || m == Method::put || m == Method::delete_; }

// IANA's HTTP Status Code Registry.
std::string_view reason_phrase(uint16_t status) {
  switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 102: return "Processing";
    case 103: return "Early Hints";
    case 104: return "Upload Resumption Supported";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 203: return "Non-Authoritative Information";
    case 204: return "No Content";
    case 205: return "Reset Content";
    case 206: return "Partial Content";
    case 207: return "Multi-Status";
    case 208: return "Already Reported";
    case 226: return "IM Used";
    case 300: return "Multiple Choices";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 305: return "Use Proxy";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 402: return "Payment Required";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 407: return "Proxy Authentication Required";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 423: return "Locked";
    case 424: return "Failed Dependency";
    case 425: return "Too Early";
    case 426: return "Upgrade Required";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 451: return "Unavailable For Legal Reasons";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 506: return "Variant Also Negotiates";
    case 507: return "Insufficient Storage";
    case 508: return "Loop Detected";
    case 511: return "Network Authentication Required";
    default: return {};
  }
}

namespace {

constexpr std::string_view kDays = "SunMonTueWedThuFriSat";
constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";

// "Sun, 06 Nov 1994 08:49:37 GMT"
struct DateText {
  std::time_t second = -1;
  std::array<char, 29> text{};
};

void write_date(std::time_t now, std::array<char, 29>& out) {
  std::tm t{};
  gmtime_r(&now, &t);
  char* p = out.data();
  const auto text = [&](std::string_view s) { p += s.copy(p, s.size()); };
  const auto two = [&](int n) {
    *p++ = static_cast<char>('0' + n / 10);
    *p++ = static_cast<char>('0' + n % 10);
  };
  text(kDays.substr(static_cast<size_t>(t.tm_wday) * 3, 3));
  text(", ");
  two(t.tm_mday);
  text(" ");
  text(kMonths.substr(static_cast<size_t>(t.tm_mon) * 3, 3));
  text(" ");
  two((t.tm_year + 1900) / 100);
  two((t.tm_year + 1900) % 100);
  text(" ");
  two(t.tm_hour);
  text(":");
  two(t.tm_min);
  text(":");
  two(t.tm_sec);
  text(" GMT");
}

}  // namespace

std::string_view http_date() {
  thread_local DateText date;
  const std::time_t now = std::time(nullptr);
  if (now != date.second) {
    write_date(now, date.text);
    date.second = now;
  }
  return {date.text.data(), date.text.size()};
}

}  // namespace pqedge::http
