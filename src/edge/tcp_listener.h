// One worker's listening socket.
#pragma once

#include <memory>

#include "edge/listener_view.h"
#include "net/loop.h"
#include "net/socket.h"

namespace pqedge::edge {

class Worker;

class TcpListener final : public net::EventSource {
 public:
  static Result<std::unique_ptr<TcpListener>> create(Worker& worker,
                                                     std::shared_ptr<const ListenerView> view,
                                                     net::Fd fd);
  ~TcpListener();

  void update(std::shared_ptr<const ListenerView> view) { view_ = std::move(view); }
  const ListenerView& view() const { return *view_; }
  int fd() const { return fd_.get(); }

  // Takes all that the kernel has accepted for us, then closes: none of them is reset.
  void close();

 private:
  TcpListener(Worker& worker, std::shared_ptr<const ListenerView> view, net::Fd fd);
  void on_events(uint32_t events) override;
  bool accept_one();  // false: nothing waits, or no descriptor is left
  void rest(int code);

  Worker& worker_;
  std::shared_ptr<const ListenerView> view_;
  net::Fd fd_;
  net::Timer resume_;
};

}  // namespace pqedge::edge
