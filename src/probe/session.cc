#include "probe/session.h"

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <format>

#include "base/text.h"
#include "crypto/code_names.h"

namespace pqedge::probe {
namespace {

constexpr size_t kMaxHead = 32 * 1024;  // of an answer to HEAD
constexpr Nanos kTicketPatience = 700 * kMillisecond;

// In words: an alert of the server's, or what OpenSSL says.
std::string why_failed(int error) {
  const unsigned long first = ERR_peek_error();
  if (error == SSL_ERROR_SYSCALL || (error == SSL_ERROR_SSL && first == 0)) {
    crypto::clear_errors();
    return "the server closed the connection";
  }
  const int reason = ERR_GET_REASON(first);
  if (ERR_GET_LIB(first) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET) {
    crypto::clear_errors();
    return "the alert " + crypto::alert_name(static_cast<uint8_t>(reason - SSL_AD_REASON_OFFSET));
  }
  const bool ended =
      ERR_GET_LIB(first) == ERR_LIB_SSL && reason == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  std::string text = crypto::take_openssl_error();
  return ended ? "the server closed the connection" : text;
}

// Waits as the last call on `ssl` wants; false: it failed or took too long, `error` says which.
bool wait_as_wanted(SSL* ssl, int result, const Connection& connection, Nanos deadline,
                    std::string& error) {
  const int wanted = SSL_get_error(ssl, result);
  if (wanted != SSL_ERROR_WANT_READ && wanted != SSL_ERROR_WANT_WRITE) {
    error = why_failed(wanted);
    return false;
  }
  const short events = wanted == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
  if (auto ready = wait_for(connection.socket.get(), events, deadline); !ready) {
    error = ready.error().message;
    return false;
  }
  return true;
}

bool shake_hands(SSL* ssl, const Connection& connection, std::string& error) {
  for (;;) {
    crypto::clear_errors();
    const int result = SSL_do_handshake(ssl);
    if (result == 1) return true;
    if (!wait_as_wanted(ssl, result, connection, connection.deadline, error)) return false;
  }
}

// Reads until the head of an HTTP/1.1 answer is there, or until a ticket came and nothing is asked.
std::string read_after(SSL* ssl, const Connection& connection, bool head,
                       const SessionPtr& ticket) {
  std::string text;
  std::string error;
  const Nanos patience = std::min(connection.deadline, monotonic_now() + kTicketPatience);
  const Nanos deadline = head ? connection.deadline : patience;
  std::array<char, 4096> buffer;
  while (text.size() < kMaxHead && !text.contains("\r\n\r\n") && monotonic_now() < deadline) {
    if (!head && ticket != nullptr) break;
    crypto::clear_errors();
    size_t n = 0;
    const int result = SSL_read_ex(ssl, buffer.data(), buffer.size(), &n);
    if (result == 1) {
      if (head) text.append(buffer.data(), n);
    } else if (!wait_as_wanted(ssl, result, connection, deadline, error)) {
      break;
    }
  }
  return text;
}

bool send_request(SSL* ssl, const Connection& connection, const Options& options) {
  std::string name = server_name(options);
  if (name.empty()) name = options.host.contains(':') ? "[" + options.host + "]" : options.host;
  const std::string request = std::format(
      "HEAD / HTTP/1.1\r\nHost: {}\r\nUser-Agent: pqedge-probe\r\nConnection: close\r\n\r\n", name);
  std::string error;
  for (;;) {
    crypto::clear_errors();
    size_t n = 0;
    const int result = SSL_write_ex(ssl, request.data(), request.size(), &n);
    if (result == 1) return true;
    if (!wait_as_wanted(ssl, result, connection, connection.deadline, error)) return false;
  }
}

void read_end(SSL* ssl, SessionResult& result) {
  const unsigned char* alpn = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl, &alpn, &size);
  if (size > 0) append_text_escaped(result.alpn, as_text(Bytes(alpn, size)));
  result.resumed = SSL_session_reused(ssl) == 1;
  result.chain = read_chain(ssl, result.seen);
}

}  // namespace

SessionResult open_session(Dialer& dialer, const SessionAsk& asked) {
  SessionResult result;
  auto context = make_context(dialer.options(), asked);
  if (!context) {
    result.error = context.error().message;
    return result;
  }
  auto made = make_client(context->get(), dialer.options(), asked, result.seen);
  if (!made) {
    result.error = made.error().message;
    return result;
  }
  auto connection = dialer.connect();
  if (!connection) {
    result.error = connection.error().message;
    return result;
  }
  result.connected = true;
  SSL* ssl = made->get();
  SSL_set_fd(ssl, connection->socket.get());
  SSL_set_ex_data(ssl, ticket_index(), &result.ticket);
  result.completed = shake_hands(ssl, *connection, result.error);
  if (result.completed) {
    read_end(ssl, result);
    const bool head = asked.http_request && send_request(ssl, *connection, dialer.options());
    if (head || asked.wait_for_ticket) {
      const std::string answer = read_after(ssl, *connection, head, result.ticket);
      append_text_escaped(result.alt_svc, find_alt_svc(answer));
    }
    crypto::clear_errors();
    SSL_shutdown(ssl);  // the server is told that nothing was cut short
  }
  crypto::clear_errors();
  // Both point into the result, which moves away.
  SSL_set_msg_callback(ssl, nullptr);
  SSL_set_ex_data(ssl, ticket_index(), nullptr);
  return result;
}

}  // namespace pqedge::probe
