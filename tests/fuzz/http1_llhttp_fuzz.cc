// package: libllhttp
//
// The codecs against llhttp (Node.js's parser, strict mode). The first byte of an input chooses:
// 'Q' a request, 'A' an answer to GET. Where both take a message they must have read the same;
// where only one takes it, the reason must be in one of the lists below. That one sees the end of a
// message where the other waits for more is never allowed: it is how requests are smuggled.
#include <llhttp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.h"
#include "http/uri.h"
#include "unit/wire/http1_support.h"

namespace {

struct Disagreement {
  std::string_view key;
  std::string_view why;
};

// We refuse, llhttp takes it: by our reason.
constexpr Disagreement kStricter[] = {
    {"empty start line", "RFC 9112 2.2 forgives \"at least one\" empty line: we forgive one"},
    {"no status line", "RFC 9112 2.2 forgives empty lines before requests alone"},
    {"line ends in a bare LF", "RFC 9112 2.2 allows us to take it for a line end, and not to"},
    {"bare CR in the head", "RFC 9112 2.2: invalid wherever it stands"},
    {"control byte in the head", "RFC 9110 5.5: none but HTAB in a field value"},
    {"NUL in the head", "RFC 9110 5.5: the same"},
    {"invalid byte in the request target", "RFC 3986 2 has no bytes above 0x7f, and no '#'"},
    {"request target of no known form", "RFC 9112 3.2: one of four"},
    {"request target with an unknown scheme", "RFC 9110 4.2: http and https are served here"},
    {"request target without a host", "RFC 9110 4.2.1: an empty host is invalid"},
    {"request line without a target", "RFC 9112 3: one space before it"},
    {"malformed HTTP version",
     "RFC 9112 3, 2.3: one space, then eight bytes of which six are fixed"},
    {"request line without a version", "RFC 9112 appendix C.1: HTTP/0.9 is gone"},
    {"HTTP version not supported", "RFC 9110 15.6.6: 505 for another major version"},
    {"\"*\" with a method other than OPTIONS", "RFC 9112 3.2.4"},
    {"CONNECT without host and port", "RFC 9112 3.2.3: both, and nothing else"},
    {"no Host field", "RFC 9112 3.2: 400"},
    {"more than one Host field", "RFC 9112 3.2: 400"},
    {"malformed Host field", "RFC 9112 3.2: 400"},
    {"unknown expectation", "RFC 9110 10.1.1: 417"},
    {"malformed Max-Forwards", "RFC 9110 7.6.2: a decimal number"},
    {"Transfer-Encoding in HTTP/1.0", "RFC 9112 6.1: faulty framing"},
    {"Transfer-Encoding is not chunked", "RFC 9112 6.3: 400; no other coding is served"},
    {"two Transfer-Encoding fields", "RFC 9112 6.1: only exactly one \"chunked\" is served"},
    {"malformed Transfer-Encoding", "RFC 9112 7: names of codings in a list"},
    {"transfer coding not supported", "RFC 9112 6.1: 501"},
    {"invalid Content-Length", "RFC 9110 8.6: 20 digits hold 64 bits, more are leading zeros"},
    {"chunk size too large", "16 digits hold 64 bits: more are leading zeros"},
    {"chunk extensions too long", "RFC 9112 7.1.1: their length is limited"},
    {"invalid byte in a chunk-size line", "RFC 9112 7.1.1: a value is a token or a quoted string"},
    {"malformed chunk extension", "RFC 9112 7.1.1: \";\" and a name"},
    {"too many informational answers", "bounded"},
    {"malformed status code", "RFC 9110 15: three digits, the first from 1"},
};

// We take it, llhttp refuses: by its error.
constexpr Disagreement kLaxerWithRequests[] = {
    {"HPE_INVALID_METHOD", "RFC 9110 9.1: methods are an open set"},
    {"HPE_INVALID_VERSION", "RFC 9110 2.5: a higher minor version is read as the one we know"},
    {"HPE_INVALID_CHUNK_SIZE", "RFC 9112 7.1.1: BWS may stand before \";\""},
    {"HPE_STRICT", "RFC 9112 7.1.1: the same, after an extension"},
    {"HPE_INVALID_TRANSFER_ENCODING", "RFC 9112 5.1: the space after a value is not part of it"},
};
constexpr Disagreement kLaxerWithAnswers[] = {
    {"HPE_INVALID_VERSION", "RFC 9110 2.5: a higher minor version is read as the one we know"},
    {"HPE_INVALID_CHUNK_SIZE", "RFC 9112 7.1.1: BWS may stand before \";\""},
    {"HPE_STRICT", "RFC 9112 7.1.1: the same, after an extension"},
    {"HPE_CLOSED_CONNECTION", "RFC 9110 15.2: a 1xx is not the answer, in HTTP/1.0 neither"},
    {"HPE_INVALID_HEADER_TOKEN", "RFC 9112 5.1: a proxy removes the space before a colon"},
    {"HPE_INVALID_TRANSFER_ENCODING", "RFC 9112 5.1: the space after a value is not part of it"},
};

template <size_t n>
bool listed(const Disagreement (&list)[n], std::string_view key) {
  for (const Disagreement& d : list) {
    if (d.key == key) return true;
  }
  return false;
}

enum class Verdict : uint8_t { complete, refused, incomplete };

struct Reading {
  Verdict verdict = Verdict::incomplete;
  std::string reason;
  std::string start;  // method and target, or the status
  std::string fields;
  std::string body;
  std::string trailers;
  bool canonical = true;  // ours: http::canonicalise() takes the target too
};

// ---- llhttp -------------------------------------------------------------------------------------
struct Oracle {
  llhttp_t parser{};
  Reading reading;
  std::string url, name, value;
  bool headers_done = false;
  bool other_coding = false;  // a Transfer-Encoding that is not chunked to it

  static Oracle& of(llhttp_t* p) { return *static_cast<Oracle*>(p->data); }

  explicit Oracle(bool request) {
    static const llhttp_settings_t settings = make_settings();
    llhttp_init(&parser, request ? HTTP_REQUEST : HTTP_RESPONSE, &settings);
    parser.data = this;
  }

  static llhttp_settings_t make_settings() {
    llhttp_settings_t s;
    llhttp_settings_init(&s);
    s.on_url = [](llhttp_t* p, const char* at, size_t n) {
      of(p).url.append(at, n);
      return 0;
    };
    s.on_header_field = [](llhttp_t* p, const char* at, size_t n) {
      of(p).name.append(at, n);
      return 0;
    };
    s.on_header_value = [](llhttp_t* p, const char* at, size_t n) {
      of(p).value.append(at, n);
      return 0;
    };
    s.on_header_value_complete = [](llhttp_t* p) {
      of(p).keep_field();
      return 0;
    };
    s.on_headers_complete = [](llhttp_t* p) {
      of(p).headers_done = true;
      of(p).other_coding = (p->flags & F_TRANSFER_ENCODING) != 0 && (p->flags & F_CHUNKED) == 0;
      return 0;
    };
    s.on_body = [](llhttp_t* p, const char* at, size_t n) {
      of(p).reading.body.append(at, n);
      return 0;
    };
    s.on_message_complete = [](llhttp_t* p) { return of(p).complete(); };
    return s;
  }

  void keep_field() {
    std::string& text = headers_done ? reading.trailers : reading.fields;
    text += name + ": " + std::string(pqedge::trim_ows(value)) + "\n";
    name.clear();
    value.clear();
  }

  int complete() {
    if (parser.type == HTTP_RESPONSE && parser.status_code / 100 == 1) {  // not the answer yet
      reading = {};
      headers_done = false;
      return 0;
    }
    reading.verdict = Verdict::complete;
    if (parser.type == HTTP_REQUEST) {
      reading.start = llhttp_method_name(static_cast<llhttp_method_t>(parser.method));
      reading.start += " " + url;
    } else {
      reading.start = std::to_string(parser.status_code);
    }
    return HPE_PAUSED;
  }

  void read(std::string_view bytes, bool end) {
    const llhttp_errno_t error = llhttp_execute(&parser, bytes.data(), bytes.size());
    if (reading.verdict == Verdict::complete) return;
    if (error == HPE_OK) {
      if (end && llhttp_finish(&parser) == HPE_PAUSED) return;
      if (end && reading.verdict != Verdict::complete) reading.verdict = Verdict::refused;
      return;
    }
    reading.verdict = Verdict::refused;
    reading.reason = llhttp_errno_name(error);
  }
};

// ---- ours ---------------------------------------------------------------------------------------
Reading our_request(std::string_view bytes) {
  pqedge::test::ServerRig rig;
  rig.limits->max_fields = rig.limits->max_head = rig.limits->max_trailers = 1 << 20;
  rig.feed(bytes);
  Reading out;
  if (rig.exchanges.empty()) return out;
  pqedge::test::Exchange& e = rig.exchanges.front();
  out.reason = e.reason;
  out.start = std::string(e.message.method_text) + " " + std::string(e.message.target);
  out.fields = pqedge::test::fields_text(e.message.fields);
  out.body = e.body;
  out.trailers = pqedge::test::fields_text(e.message.trailers);
  if (e.refused != 0) out.verdict = Verdict::refused;
  if (e.events == "head(end) " || e.events == "head end ") out.verdict = Verdict::complete;
  if (out.verdict == Verdict::complete) {
    out.canonical = pqedge::http::canonicalise(e.message).has_value();
  }
  return out;
}

Reading our_answer(std::string_view bytes) {
  pqedge::test::ClientRig rig;
  rig.limits->max_fields = rig.limits->max_response_head = rig.limits->max_trailers = 1 << 20;
  pqedge::test::BackendExchange& e = rig.send();
  rig.feed(bytes);
  rig.peer.end();
  rig.settle();
  Reading out;
  out.reason = e.detail;
  out.start = std::to_string(e.message.status);
  out.fields = e.fields;
  out.body = e.body;
  out.trailers = pqedge::test::fields_text(e.message.trailers);
  out.verdict = e.events.find("reset") == std::string::npos ? Verdict::complete : Verdict::refused;
  return out;
}

// An absolute or authority target is split by us: only the start line's end can be compared.
bool same_start(const Reading& ours, const Reading& theirs) {
  if (ours.start == theirs.start) return true;
  return theirs.start.find("://") != std::string::npos || theirs.start.starts_with("CONNECT ");
}

[[noreturn]] void report(const char* what, const Reading& ours, const Reading& theirs) {
  std::fprintf(stderr, "%s\nours: %d '%s'\n%s\n%s---\n%s\n%s\nllhttp: %d '%s'\n%s\n%s---\n%s\n%s\n",
               what, static_cast<int>(ours.verdict), ours.reason.c_str(), ours.start.c_str(),
               ours.fields.c_str(), ours.body.c_str(), ours.trailers.c_str(),
               static_cast<int>(theirs.verdict), theirs.reason.c_str(), theirs.start.c_str(),
               theirs.fields.c_str(), theirs.body.c_str(), theirs.trailers.c_str());
  std::abort();
}

// Whether llhttp may refuse what we take. Two of its errors are only let pass where something
// behind the codec stands in for it: forbidden trailers are dropped (RFC 9110 6.5.1,
// http::strip_trailers), the parts of a target are judged by http::canonicalise.
bool may_be_laxer(const Reading& ours, const Reading& theirs, bool request) {
  if (theirs.reason == "HPE_INVALID_CONTENT_LENGTH") return !ours.trailers.empty();
  if (theirs.reason == "HPE_INVALID_URL") return request && !ours.canonical;
  return request ? listed(kLaxerWithRequests, theirs.reason)
                 : listed(kLaxerWithAnswers, theirs.reason);
}

void compare(const Reading& ours, const Reading& theirs, bool request) {
  const bool we = ours.verdict == Verdict::complete;
  const bool they = theirs.verdict == Verdict::complete;
  if (we && they) {
    if (!same_start(ours, theirs)) report("start lines differ", ours, theirs);
    if (ours.fields != theirs.fields) report("fields differ", ours, theirs);
    if (ours.body != theirs.body) report("bodies differ", ours, theirs);
    if (ours.trailers != theirs.trailers) report("trailers differ", ours, theirs);
  } else if (we) {
    if (theirs.verdict == Verdict::incomplete) report("llhttp waits for more", ours, theirs);
    if (!may_be_laxer(ours, theirs, request)) report("only llhttp refuses", ours, theirs);
  } else if (they) {
    if (ours.verdict == Verdict::incomplete) report("we wait for more", ours, theirs);
    if (!listed(kStricter, ours.reason)) report("only we refuse", ours, theirs);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 8192 || (data[0] != 'Q' && data[0] != 'A')) return 0;
  const bool request = data[0] == 'Q';
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  Oracle oracle(request);
  oracle.read(bytes, !request);
  // "chunked" with space after it is another coding to llhttp, and an answer then goes on to the
  // end of the connection; the space is no part of the value (RFC 9112 5.1).
  if (!request && oracle.other_coding) return 0;
  compare(request ? our_request(bytes) : our_answer(bytes), oracle.reading, request);
  return 0;
}
