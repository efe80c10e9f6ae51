// One request at a time over HTTP/1.1.
#pragma once

#include "measure/load/connection.h"
#include "measure/load/http1_answer.h"
#include "measure/load/tcp_stream.h"

namespace pqedge::measure::load {

class Http1Connection : public Connection {
 public:
  explicit Http1Connection(Context& context);

  Result<void> open(Nanos now) override;
  int descriptor() const override { return stream_.descriptor(); }
  void on_events(uint32_t epoll_events, Nanos now) override;
  void on_deadline(Nanos) override {}
  void submit(Nanos intended, Nanos now) override;
  void flush(Nanos now) override;
  void close(Nanos now) override;

 private:
  void take_all(bool from_socket, Nanos now);
  bool take_bytes(std::span<const uint8_t> bytes, Nanos now);
  bool uploading() const;
  void push_upload();

  TcpStream stream_;
  Http1Answer answer_;
  Exchange* exchange_ = nullptr;
};

}  // namespace pqedge::measure::load
