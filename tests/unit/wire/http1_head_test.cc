// Heads: scanning, start lines, fields (RFC 9112 2 to 5).
#include <gtest/gtest.h>

#include <string>

#include "unit/wire/http1_support.h"
#include "wire/http1/head_parser.h"
#include "wire/http1/scan.h"

namespace pqedge::http1 {
namespace {

constexpr HeadLimits kLimits{1024, 16, 4096};

HeadScanner::Outcome scan(std::string_view bytes, HeadKind kind = HeadKind::request) {
  HeadScanner scanner(kind);
  return scanner.scan(bytes, kLimits);
}

uint16_t status_of(std::string_view bytes) {
  const auto outcome = scan(bytes);
  return outcome.status == HeadScanner::Status::error ? outcome.refusal.status : 0;
}

TEST(Http1Scan, MasksAgreeWithTheByteByByteDefinition) {
  for (int c = 0; c < 256; ++c) {
    for (size_t at : {size_t{0}, size_t{7}, size_t{15}}) {
      char block[kBlock];
      std::fill(block, block + kBlock, 'a');
      block[at] = static_cast<char>(c);
      const uint32_t bit = 1u << at;
      const bool control = c < 0x20 || c == 0x7f;
      EXPECT_EQ(control_mask(block), control ? bit : 0u) << c;
      const bool target = c > 0x20 && c < 0x7f && c != '#';
      EXPECT_EQ(not_target_mask(block), target ? 0u : bit) << c;
      EXPECT_EQ(equal_mask(block, static_cast<char>(c)) & bit, bit) << c;
    }
  }
}

TEST(Http1Scan, CopyCheckedCopiesAndFindsControlBytesAtEveryPlace) {
  for (size_t n = 0; n < 70; ++n) {
    std::string from(n, 'x');
    for (size_t i = 0; i < n; ++i) from[i] = static_cast<char>('a' + i % 26);
    std::string to(n + 1, '#');
    EXPECT_TRUE(copy_checked(to.data(), from.data(), n));
    EXPECT_EQ(to, from + "#");
    for (size_t i = 0; i < n; ++i) {
      std::string bad = from;
      bad[i] = '\n';
      EXPECT_FALSE(copy_checked(to.data(), bad.data(), n)) << n << " " << i;
      EXPECT_EQ(to, bad + "#");
    }
  }
}

// RFC 9112 2.1: the end is the first empty line, wherever reads cut the bytes.
TEST(Http1HeadScanner, FindsTheEndWhateverThePieces) {
  const std::string head = "GET /a HTTP/1.1\r\nHost: example.com\r\nA: b\r\n\r\n";
  const std::string bytes = head + "body\r\n\r\n";
  for (size_t first = 1; first < bytes.size(); ++first) {
    HeadScanner scanner(HeadKind::request);
    auto outcome = scanner.scan(std::string_view(bytes).substr(0, first), kLimits);
    if (first < head.size()) {
      ASSERT_EQ(outcome.status, HeadScanner::Status::need_more) << first;
      outcome = scanner.scan(bytes, kLimits);
    }
    ASSERT_EQ(outcome.status, HeadScanner::Status::done) << first;
    EXPECT_EQ(outcome.size, head.size());
    EXPECT_EQ(scanner.start_line(), 15u);
  }
  HeadScanner scanner(HeadKind::request);
  for (size_t n = 1; n < head.size(); ++n) {
    ASSERT_EQ(scanner.scan(std::string_view(bytes).substr(0, n), kLimits).status,
              HeadScanner::Status::need_more);
  }
  EXPECT_EQ(scanner.scan(head, kLimits).size, head.size());
}

// RFC 9112 2.2: a bare CR is invalid, and a recipient MAY take a bare LF for a line end; we do not.
TEST(Http1HeadScanner, RefusesBareLineEndsAndControlBytes) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: x\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: x\r\n\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: x\rA: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: x\r\r\n\r\n"), 400);
  EXPECT_EQ(status_of(std::string("GET / HTTP/1.1\r\nHost: x\0y\r\n\r\n", 29)), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: x\x7f\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: \x1b[31m\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: b\tc\r\n\r\n"), 0);      // HTAB may stand in a value
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: \xc3\xa9\r\n\r\n"), 0);  // obs-text (RFC 9110 5.5)
  // At every offset within a block and across two.
  for (size_t pad = 0; pad < 40; ++pad) {
    const std::string head = "GET / HTTP/1.1\r\nA: " + std::string(pad, 'x');
    EXPECT_EQ(status_of(head + "\r\n\r\n"), 0) << pad;
    EXPECT_EQ(scan(head + "\r\n\r\n").size, head.size() + 4) << pad;
    EXPECT_EQ(status_of(head + "\n\r\n"), 400) << pad;
    EXPECT_EQ(status_of(head + "\rX\r\n\r\n"), 400) << pad;
  }
}

TEST(Http1HeadScanner, RefusesAtOnceWhatCannotBecomeAHead) {
  EXPECT_EQ(status_of("\x16\x03\x01"), 400);  // a TLS ClientHello on a plain port
  EXPECT_EQ(status_of("\n"), 400);
  EXPECT_EQ(status_of("\r\n"), 400);
}

TEST(Http1HeadScanner, HoldsItsLimitsWhileTheHeadIsIncomplete) {
  EXPECT_EQ(status_of("GET /" + std::string(1500, 'a')), 414);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: " + std::string(5000, 'a')), 431);
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 16; ++i) many += "A: b\r\n";
  EXPECT_EQ(status_of(many), 0);
  EXPECT_EQ(status_of(many + "A: b\r\n"), 431);
}

std::expected<RequestLine, http::Refusal> request_line(std::string_view line) {
  return parse_request_line(line, kLimits.max_target);
}
uint16_t request_line_status(std::string_view line) {
  const auto parsed = request_line(line);
  return parsed ? 0 : parsed.error().status;
}

// RFC 9112 3.
TEST(Http1RequestLine, TakesExactlyMethodTargetVersion) {
  const auto line = request_line("GET /where?q=now HTTP/1.1");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->method, "GET");
  EXPECT_EQ(line->target, "/where?q=now");
  EXPECT_EQ(line->version, http::Version::http11);
  EXPECT_EQ(request_line("M-SEARCH * HTTP/1.0")->version, http::Version::http10);
  // RFC 9110 2.5: a higher minor version is processed as the highest that we know.
  EXPECT_EQ(request_line("GET / HTTP/1.2")->version, http::Version::http11);

  EXPECT_EQ(request_line_status("GET  / HTTP/1.1"), 400);
  EXPECT_EQ(request_line_status("GET /  HTTP/1.1"), 400);
  EXPECT_EQ(request_line_status(" GET / HTTP/1.1"), 400);
  EXPECT_EQ(request_line_status("GET / HTTP/1.1 "), 400);
  EXPECT_EQ(request_line_status("GET\t/\tHTTP/1.1"), 400);
  EXPECT_EQ(request_line_status("GET /a b HTTP/1.1"), 400);
  EXPECT_EQ(request_line_status("GET /"), 400);
  EXPECT_EQ(request_line_status("GET"), 400);
  EXPECT_EQ(request_line_status("G@T / HTTP/1.1"), 400);
  EXPECT_EQ(request_line_status("G\xc3\x89T / HTTP/1.1"), 400);
  EXPECT_EQ(request_line_status("GET / http/1.1"), 400);  // case-sensitive (RFC 9112 2.3)
  EXPECT_EQ(request_line_status("GET / HTTP/11"), 400);
  EXPECT_EQ(request_line_status("GET / HTTP/1.10"), 400);
  EXPECT_EQ(request_line_status("GET / HTTP/1."), 400);
  EXPECT_EQ(request_line_status("GET / HTTQ/1.1"), 400);
  // RFC 9110 15.6.6.
  EXPECT_EQ(request_line_status("PRI * HTTP/2.0"), 505);
  EXPECT_EQ(request_line_status("GET / HTTP/3.0"), 505);
  EXPECT_EQ(request_line_status("GET / HTTP/0.9"), 505);
}

// RFC 3986 2: a target is ASCII without spaces; RFC 9110 4.2.5: never with a fragment.
TEST(Http1RequestLine, RefusesBytesThatNoTargetHas) {
  EXPECT_EQ(request_line_status("GET /\xff HTTP/1.1"), 400);
  EXPECT_EQ(request_line_status("GET /\xc2\x85 HTTP/1.1"), 400);
  EXPECT_EQ(request_line_status("GET /a#b HTTP/1.1"), 400);
  for (size_t pad = 0; pad < 40; ++pad) {
    const std::string target = "/" + std::string(pad, 'x');
    EXPECT_EQ(request_line("GET " + target + " HTTP/1.1")->target.size(), target.size());
    EXPECT_EQ(request_line_status("GET " + target + "\xff HTTP/1.1"), 400);
  }
  EXPECT_EQ(request_line_status("GET /" + std::string(1023, 'a') + " HTTP/1.1"), 0);
  EXPECT_EQ(request_line_status("GET /" + std::string(1024, 'a') + " HTTP/1.1"), 414);
}

// RFC 9112 4.
TEST(Http1StatusLine, TakesVersionAndThreeDigits) {
  EXPECT_EQ(parse_status_line("HTTP/1.1 200 OK")->status, 200);
  EXPECT_EQ(parse_status_line("HTTP/1.1 200 ")->status, 200);
  EXPECT_EQ(parse_status_line("HTTP/1.1 200")->status, 200);
  EXPECT_EQ(parse_status_line("HTTP/1.0 404 Not  here\t!")->version, http::Version::http10);
  EXPECT_EQ(parse_status_line("HTTP/1.1 999 x")->status, 999);
  for (const char* bad :
       {"", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20", "HTTP/1.1 2000 OK", "HTTP/1.1  200 OK",
        "HTTP/1.1 2x0 OK", "HTTP/1.1 099 x", "HTTP/2.0 200 OK", "http/1.1 200 OK", "ICY 200 OK",
        "HTTP/1.1 200OK", "HTTP/1.1\t200 OK"}) {
    EXPECT_FALSE(parse_status_line(bad)) << bad;
  }
}

struct Parsed {
  Arena arena;
  http::Fields fields{arena};
  uint16_t status = 0;
};

void parse(Parsed& out, std::string_view section, HeadKind kind = HeadKind::request,
           HeadLimits limits = kLimits) {
  const std::string head = (kind == HeadKind::trailers ? "" : "start\r\n") + std::string(section);
  HeadScanner scanner(kind);
  const auto found = scanner.scan(head, limits);
  ASSERT_EQ(found.status, HeadScanner::Status::done);
  const auto ok = parse_fields(copy_head(head, out.arena), found.lines, kind, limits, out.fields);
  out.status = ok ? 0 : ok.error().status;
}

uint16_t fields_status(std::string_view section, HeadKind kind = HeadKind::request) {
  Parsed parsed;
  parse(parsed, section, kind);
  return parsed.status;
}

// RFC 9112 5: names keep their case (K68) and their order; values lose the space around them only.
TEST(Http1Fields, KeepNamesAndOrderAndTrimValues) {
  Parsed p;
  parse(p, "X-CamelCase: 1\r\nhost:a\r\nE:\r\nF: \t \r\nG:\t a  b \t\r\nX-CamelCase: 2\r\n\r\n");
  ASSERT_EQ(p.status, 0);
  EXPECT_EQ(test::fields_text(p.fields),
            "X-CamelCase: 1\nhost: a\nE: \nF: \nG: a  b\nX-CamelCase: 2\n");
  EXPECT_TRUE(p.fields.has(http::Name::host));
  for (size_t n = 1; n < 40; ++n) {
    Parsed q;
    const std::string name(n, 'n');
    const std::string value(n * 3 % 41, 'v');
    parse(q, name + ": " + value + "\r\n\r\n");
    EXPECT_EQ(test::fields_text(q.fields), name + ": " + value + "\n");
  }
}

TEST(Http1Fields, RefuseWhatIsNoFieldLine) {
  EXPECT_EQ(fields_status("Host : a\r\n\r\n"), 400);  // RFC 9112 5.1
  EXPECT_EQ(fields_status("Host\t: a\r\n\r\n"), 400);
  EXPECT_EQ(fields_status("A: b\r\n c\r\n\r\n"), 400);  // obs-fold (RFC 9112 5.2)
  EXPECT_EQ(fields_status("A: b\r\n\tc: d\r\n\r\n"), 400);
  EXPECT_EQ(fields_status(" A: b\r\n\r\n"), 400);  // RFC 9112 2.2, third paragraph
  EXPECT_EQ(fields_status("A\r\n\r\n"), 400);
  EXPECT_EQ(fields_status(": b\r\n\r\n"), 400);
  EXPECT_EQ(fields_status("A b: c\r\n\r\n"), 400);
  EXPECT_EQ(fields_status("A(b): c\r\n\r\n"), 400);
  EXPECT_EQ(fields_status("\xc3\xa9: c\r\n\r\n"), 400);
}

// RFC 9112 5.1: a proxy removes the space before the colon from a response.
TEST(Http1Fields, ResponsesLoseTheSpaceBeforeTheColon) {
  Parsed p;
  parse(p, "Server : x\r\n\r\n", HeadKind::response);
  ASSERT_EQ(p.status, 0);
  EXPECT_EQ(test::fields_text(p.fields), "Server: x\n");
  EXPECT_EQ(fields_status("A: b\r\n c: d\r\n\r\n", HeadKind::response), 502);
  EXPECT_EQ(fields_status("A b: c\r\n\r\n", HeadKind::response), 502);
}

// RFC 9113 10.5.1's counting: 32 bytes a field.
TEST(Http1Fields, CountThirtyTwoBytesAField) {
  Parsed exact;
  parse(exact, "AB: cde\r\n\r\n", HeadKind::request, {1024, 16, 37});
  EXPECT_EQ(exact.status, 0);
  Parsed more;
  parse(more, "AB: cdef\r\n\r\n", HeadKind::request, {1024, 16, 37});
  EXPECT_EQ(more.status, 431);
}

}  // namespace
}  // namespace pqedge::http1
