// One listening socket of the admin side and its connections.
#pragma once

#include <memory>

#include "admin/site.h"
#include "base/intrusive_list.h"
#include "http/limits.h"
#include "net/loop.h"
#include "net/socket.h"

namespace pqedge::admin {

class Connection;

class Listener final : private net::EventSource {
 public:
  static Result<std::unique_ptr<Listener>> create(net::Loop& loop, const Site& site, Side side,
                                                  net::Fd fd);
  // Closes its connections.
  ~Listener();
  int fd() const { return fd_.get(); }
  // Connections go on. What waits is another process's, which has this socket too.
  void stop_accepting();

  // ---- for its connections ----
  net::Loop& loop() { return loop_; }
  const Site& site() const { return site_; }
  Side side() const { return side_; }
  void forget(Connection& connection);

 private:
  // Each listener has its own bound, so that a crowd at the pages does not keep the control away.
  static constexpr size_t kMaxConnections = 64;

  Listener(net::Loop& loop, const Site& site, Side side, net::Fd fd);
  void on_events(uint32_t events) override;
  bool accept_one();
  bool may_control(int fd) const;

  net::Loop& loop_;
  const Site& site_;
  const Side side_;
  net::Fd fd_;
  net::Timer resume_;
  std::shared_ptr<const http::Limits> limits_;
  IntrusiveList<Connection> connections_;
  size_t count_ = 0;
};

}  // namespace pqedge::admin
