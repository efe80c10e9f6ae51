// One client of the admin side: one request after the other.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "admin/site.h"
#include "base/arena.h"
#include "base/intrusive_list.h"
#include "http/limits.h"
#include "http/stream.h"
#include "net/facts.h"
#include "net/socket.h"

namespace pqedge::admin {

class Listener;

// Destroys itself when the codec says that the connection is finished, or is destroyed by its
// listener.
class Connection final : public ListNode<Connection>,
                         private http::ServerConnectionHandler,
                         private http::ServerStreamHandler {
 public:
  Connection(Listener& listener, net::Fd fd, const net::Address& peer,
             std::shared_ptr<const http::Limits> limits);

 private:
  // http::ServerConnectionHandler
  http::ServerStreamHandler& on_stream(http::ServerStream& stream) override;
  void on_closed(std::string_view reason) override;
  // http::ServerStreamHandler
  http::Request& request() override { return *request_; }
  void on_head(bool end) override;
  void on_body(Slice bytes) override;
  void on_end() override;
  void on_bad_request(uint16_t status, std::string_view reason) override;
  void on_writable() override {}
  void on_reset(http::Abort) override { stream_ = nullptr; }
  void on_finished() override { stream_ = nullptr; }

  void respond();
  void send(const Answer& answer);

  Listener& listener_;
  net::ConnectionFacts facts_;
  Arena arena_;
  std::optional<http::Request> request_;
  http::ServerStream* stream_ = nullptr;
  std::string body_;  // of an order
  bool waits_for_body_ = false;
  std::unique_ptr<http::ServerConnection> codec_;
};

}  // namespace pqedge::admin
