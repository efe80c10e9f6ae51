#include "probe/starttls.h"

#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <string_view>

#include "base/text.h"
#include "probe/dial.h"

namespace pqedge::probe {
namespace {

constexpr size_t kMaxLine = 4096;
constexpr size_t kMaxLines = 200;

std::unexpected<Error> unexpected_answer(std::string_view what, std::string_view line) {
  std::string shown;
  append_text_escaped(shown, line.substr(0, 120));
  return fail("{}: the server said \"{}\"", what, shown);
}

// Byte by byte, so that nothing of what follows is taken along.
Result<std::string> read_line(int socket, Nanos deadline) {
  std::string text;
  while (text.size() < kMaxLine) {
    char byte = 0;
    const ssize_t size = ::recv(socket, &byte, 1, 0);
    if (size == 0) return fail("the server closed the connection");
    if (size < 0) {
      if (errno != EAGAIN && errno != EINTR) return fail_errno(errno, "the connection broke");
      if (auto ready = wait_for(socket, POLLIN, deadline); !ready) {
        return std::unexpected(ready.error());
      }
    } else if (byte == '\n') {
      if (text.ends_with('\r')) text.pop_back();
      return text;
    } else {
      text += byte;
    }
  }
  return fail("the server's line is longer than {} bytes", kMaxLine);
}

// Lines up to the last of an SMTP answer (RFC 5321 4.2.1), joined.
Result<std::string> smtp_answer(int socket, Nanos deadline, std::string_view code) {
  std::string all;
  for (size_t i = 0; i < kMaxLines; ++i) {
    auto line = read_line(socket, deadline);
    if (!line) return line;
    if (!line->starts_with(code)) return unexpected_answer("SMTP", *line);
    all += *line + "\n";
    if (line->size() < 4 || (*line)[3] != '-') return all;
  }
  return fail("SMTP: an answer without an end");
}

Result<void> smtp(int socket, Nanos deadline) {
  const auto say = [&](std::string_view text) {
    return send_all(socket, as_bytes(text), deadline);
  };
  const auto greeting = smtp_answer(socket, deadline, "220");
  if (!greeting) return std::unexpected(greeting.error());
  if (auto sent = say("EHLO probe.invalid\r\n"); !sent) return sent;
  const auto offers = smtp_answer(socket, deadline, "250");
  if (!offers) return std::unexpected(offers.error());
  if (!to_lower(*offers).contains("starttls")) return fail("SMTP: the server offers no STARTTLS");
  if (auto sent = say("STARTTLS\r\n"); !sent) return sent;
  const auto ready = smtp_answer(socket, deadline, "220");
  if (!ready) return std::unexpected(ready.error());
  return {};
}

Result<void> imap(int socket, Nanos deadline) {
  const auto greeting = read_line(socket, deadline);
  if (!greeting) return std::unexpected(greeting.error());
  if (!greeting->starts_with("* OK")) return unexpected_answer("IMAP", *greeting);
  if (auto sent = send_all(socket, as_bytes("a1 STARTTLS\r\n"), deadline); !sent) return sent;
  for (size_t i = 0; i < kMaxLines; ++i) {
    const auto line = read_line(socket, deadline);
    if (!line) return std::unexpected(line.error());
    if (line->starts_with("a1 OK")) return {};
    if (line->starts_with("a1 ")) return unexpected_answer("IMAP", *line);
  }
  return fail("IMAP: no answer to STARTTLS");
}

}  // namespace

Result<void> start_tls(int socket, StartTls protocol, Nanos deadline) {
  switch (protocol) {
    case StartTls::smtp: return smtp(socket, deadline);
    case StartTls::imap: return imap(socket, deadline);
    case StartTls::none: break;
  }
  return {};
}

}  // namespace pqedge::probe
