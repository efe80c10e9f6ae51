// What the admin side answers, without sockets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/server.h"
#include "admin/token.h"
#include "http/message.h"
#include "net/facts.h"

namespace pqedge::admin {

// Read-only over TCP; the Unix socket may change state.
enum class Side : uint8_t { pages, control };

struct Answer {
  uint16_t status = 200;
  std::string body;
  std::string_view content_type = "text/plain; charset=utf-8";
  std::string_view allow;    // of a 405
  bool wants_token = false;  // of a 401
};

class Site {
 public:
  Site(Hooks hooks, std::vector<std::string> hosts);

  // `request` has been checked by the codec; host and path are made canonical here.
  Answer respond(http::Request& request, Side side, const net::ConnectionFacts& facts,
                 std::string_view body = {}) const;
  // Whether the body of the request is to be read before it is answered: of orders by those who may
  // give them.
  bool wants_body(const http::Request& request, Side side) const;
  void set_hosts(std::vector<std::string> hosts);
  void set_token(std::optional<Token> token) { token_ = std::move(token); }

 private:
  // Who sent it may do what the control socket does.
  bool may_control(const http::Request& request, Side side) const;
  Answer respond_control(const http::Request& request, std::string_view body) const;
  Answer backends(const http::Request& request, std::string_view body) const;
  // A page a browser was led to by a name of someone else's that resolves to this machine (DNS
  // rebinding) carries that name in Host.
  bool knows_host(const http::Request& request, const net::ConnectionFacts& facts) const;
  Answer page(std::string_view path) const;
  Answer control(std::string_view path) const;
  // POST /canaries/ROUTE?percent=...
  Answer set_canary(std::string_view route, std::string_view query) const;

  Hooks hooks_;
  std::vector<std::string> hosts_;  // lower case
  std::optional<Token> token_;
};

}  // namespace pqedge::admin
