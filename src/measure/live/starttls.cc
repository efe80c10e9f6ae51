#include "measure/live/starttls.h"

#include <array>
#include <string>
#include <string_view>

#include "base/text.h"
#include "measure/live/endpoint.h"

namespace pqedge::measure::live {

namespace {

using namespace std::string_view_literals;

constexpr size_t kMaxReplyLine = 4096;
constexpr size_t kMaxReplyLines = 200;
constexpr size_t kMaxXml = 16384;

class Talk {
 public:
  Talk(int socket, Nanos deadline) : socket_(socket), deadline_(deadline) {}

  Result<void> send(std::string_view text) {
    preamble_.sent += text.size();
    return send_all(socket_, text, deadline_);
  }

  Result<std::string> line() {
    std::string text;
    while (text.size() < kMaxReplyLine) {
      auto byte = this->byte();
      if (!byte) return std::unexpected(byte.error());
      if (*byte == '\n') {
        if (text.ends_with('\r')) text.pop_back();
        return text;
      }
      text += *byte;
    }
    return fail("the server's line is longer than {} bytes", kMaxReplyLine);
  }

  Result<char> byte() {
    auto byte = receive_byte(socket_, deadline_);
    if (byte) ++preamble_.received;
    return byte;
  }

  // XML up to a text in it.
  Result<std::string> up_to(std::string_view end) {
    std::string text;
    while (!text.ends_with(end)) {
      if (text.size() > kMaxXml) return fail("no {} in {} bytes", end, kMaxXml);
      auto byte = this->byte();
      if (!byte) return std::unexpected(byte.error());
      text += *byte;
    }
    return text;
  }

  Preamble preamble() const { return preamble_; }

 private:
  int socket_;
  Nanos deadline_;
  Preamble preamble_;
};

std::unexpected<Error> unexpected_answer(std::string_view what, std::string_view line) {
  std::string shown;
  append_text_escaped(shown, line.substr(0, 120));
  return fail("{}: the server said \"{}\"", what, shown);
}

// Lines up to the last of an SMTP answer (RFC 5321 4.2.1); all of them, joined.
Result<std::string> smtp_answer(Talk& talk, std::string_view code) {
  std::string all;
  for (size_t i = 0; i < kMaxReplyLines; ++i) {
    auto line = talk.line();
    if (!line) return line;
    if (!line->starts_with(code)) return unexpected_answer("SMTP", *line);
    all += *line + "\n";
    if (line->size() < 4 || (*line)[3] != '-') return all;
  }
  return fail("SMTP: an answer without an end");
}

Result<void> smtp(Talk& talk) {
  if (auto greeting = smtp_answer(talk, "220"); !greeting) return std::unexpected(greeting.error());
  if (auto sent = talk.send("EHLO pqcost.invalid\r\n"); !sent) return sent;
  auto offers = smtp_answer(talk, "250");
  if (!offers) return std::unexpected(offers.error());
  if (!to_lower(*offers).contains("starttls")) return fail("SMTP: the server offers no STARTTLS");
  if (auto sent = talk.send("STARTTLS\r\n"); !sent) return sent;
  if (auto ready = smtp_answer(talk, "220"); !ready) return std::unexpected(ready.error());
  return {};
}

Result<void> imap(Talk& talk) {
  auto greeting = talk.line();
  if (!greeting) return std::unexpected(greeting.error());
  if (!greeting->starts_with("* OK")) return unexpected_answer("IMAP", *greeting);
  if (auto sent = talk.send("a1 STARTTLS\r\n"); !sent) return sent;
  for (size_t i = 0; i < kMaxReplyLines; ++i) {
    auto line = talk.line();
    if (!line) return std::unexpected(line.error());
    if (line->starts_with("a1 OK")) return {};
    if (line->starts_with("a1 ")) return unexpected_answer("IMAP", *line);
  }
  return fail("IMAP: no answer to STARTTLS");
}

Result<void> pop3(Talk& talk) {
  for (const std::string_view command : {""sv, "STLS\r\n"sv}) {
    if (auto sent = talk.send(command); !sent) return sent;
    auto line = talk.line();
    if (!line) return std::unexpected(line.error());
    if (!line->starts_with("+OK")) return unexpected_answer("POP3", *line);
  }
  return {};
}

// An ExtendedRequest for StartTLS (RFC 4511 4.14), and the result code of its answer.
Result<void> ldap(Talk& talk) {
  constexpr auto kRequest =
      "\x30\x1d\x02\x01\x01\x77\x18\x80\x16"
      "1.3.6.1.4.1.1466.20037"sv;
  if (auto sent = talk.send(kRequest); !sent) return sent;
  std::string answer;
  size_t length = 2;  // until the real one is known
  while (answer.size() < length) {
    auto byte = talk.byte();
    if (!byte) return std::unexpected(byte.error());
    answer += *byte;
    if (answer.size() == 2) {
      if (answer[0] != '\x30' || static_cast<unsigned char>(answer[1]) > 0x84 ||
          answer[1] == '\x80') {
        return unexpected_answer("LDAP", answer);
      }
      const auto form = static_cast<unsigned char>(answer[1]);
      length += form < 0x80 ? form : size_t{form} - 0x80;
    }
    const auto form = answer.size() < 2 ? 0 : static_cast<unsigned char>(answer[1]);
    if (form > 0x80 && answer.size() == size_t{2} + (form - 0x80)) {
      size_t size = 0;
      for (const char c : std::string_view(answer).substr(2)) {
        size = size << 8 | static_cast<unsigned char>(c);
      }
      if (size > kMaxReplyLine) return unexpected_answer("LDAP", answer);
      length = answer.size() + size;
    }
  }
  // resultCode is the ENUMERATED of one byte in the ExtendedResponse; success is 0.
  if (!answer.contains("\x0a\x01\x00"sv)) return fail("LDAP: the server refused StartTLS");
  return {};
}

Result<void> xmpp(Talk& talk, const std::string& host) {
  const std::string stream =
      "<?xml version='1.0'?><stream:stream xmlns='jabber:client' "
      "xmlns:stream='http://etherx.jabber.org/streams' version='1.0' to='" +
      host + "'>";
  if (auto sent = talk.send(stream); !sent) return sent;
  auto features = talk.up_to("</stream:features>");
  if (!features) return std::unexpected(features.error());
  if (!features->contains("urn:ietf:params:xml:ns:xmpp-tls")) {
    return fail("XMPP: the server offers no STARTTLS");
  }
  if (auto sent = talk.send("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"); !sent) {
    return sent;
  }
  auto answer = talk.up_to(">");
  if (!answer) return std::unexpected(answer.error());
  if (!answer->contains("<proceed")) return unexpected_answer("XMPP", *answer);
  return {};
}

// SSLRequest of PostgreSQL's protocol (its manual, "SSL Session Encryption").
Result<void> postgres(Talk& talk) {
  if (auto sent = talk.send("\x00\x00\x00\x08\x04\xd2\x16\x2f"sv); !sent) return sent;
  auto answer = talk.byte();
  if (!answer) return std::unexpected(answer.error());
  if (*answer != 'S') return fail("PostgreSQL: the server takes no TLS");
  return {};
}

}  // namespace

Result<Preamble> start_tls(int socket, StartTls protocol, const std::string& host, Nanos deadline) {
  Talk talk(socket, deadline);
  Result<void> done;
  switch (protocol) {
    case StartTls::kNone: break;
    case StartTls::kSmtp: done = smtp(talk); break;
    case StartTls::kImap: done = imap(talk); break;
    case StartTls::kPop3: done = pop3(talk); break;
    case StartTls::kLdap: done = ldap(talk); break;
    case StartTls::kXmpp: done = xmpp(talk, host); break;
    case StartTls::kPostgres: done = postgres(talk); break;
  }
  if (!done) return std::unexpected(done.error());
  return talk.preamble();
}

}  // namespace pqedge::measure::live
