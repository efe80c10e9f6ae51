// Requests over HTTP/2, by nghttp2.
#pragma once

#include <nghttp2/nghttp2.h>

#include <memory>
#include <string>
#include <vector>

#include "measure/load/connection.h"
#include "measure/load/tcp_stream.h"

namespace pqedge::measure::load {

class Http2Connection : public Connection {
 public:
  explicit Http2Connection(Context& context);

  Result<void> open(Nanos now) override;
  int descriptor() const override { return stream_.descriptor(); }
  void on_events(uint32_t epoll_events, Nanos now) override;
  void on_deadline(Nanos) override {}
  void submit(Nanos intended, Nanos now) override;
  void flush(Nanos now) override;
  void close(Nanos now) override;

 private:
  friend struct Http2Callbacks;
  struct SessionFree {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };

  Result<void> begin_session();
  void take_all(bool from_socket);
  // Moves nghttp2's frames into the TLS stream, up to a bound on what waits there. False when that
  // fails.
  bool gather();

  TcpStream stream_;
  std::unique_ptr<nghttp2_session, SessionFree> session_;
  std::vector<nghttp2_nv> fields_;  // point into the plan
  std::string frames_;              // of this turn
  Nanos now_ = 0;                   // of this turn, for callbacks
};

}  // namespace pqedge::measure::load
