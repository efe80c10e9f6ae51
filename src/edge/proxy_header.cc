#include "edge/proxy_header.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace pqedge::edge {

ProxyHeaderReader::ProxyHeaderReader(net::Loop& loop, net::Fd fd, ProxyHeaderHandler& handler)
    : loop_(loop), fd_(std::move(fd)), handler_(handler) {}

ProxyHeaderReader::~ProxyHeaderReader() {
  if (fd_) loop_.remove(fd_.get(), *this);
}

Result<void> ProxyHeaderReader::start() { return loop_.add(fd_.get(), *this, true); }

void ProxyHeaderReader::on_events(uint32_t) {
  std::array<uint8_t, proxy_protocol::kMaxVersion2> bytes;
  const ssize_t n = recv(fd_.get(), bytes.data(), bytes.size(), MSG_PEEK);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return handler_.on_proxy_failed("the connection ended before its PROXY header");
  auto parsed = proxy_protocol::parse({bytes.data(), static_cast<size_t>(n)});
  if (!parsed) return handler_.on_proxy_failed(parsed.error().message);
  if (!*parsed) return;  // more is to come
  const proxy_protocol::Parsed& header = **parsed;
  // What was seen is there to be taken, at once and whole.
  if (recv(fd_.get(), bytes.data(), header.size, 0) != static_cast<ssize_t>(header.size)) {
    return handler_.on_proxy_failed("the PROXY header could not be read");
  }
  loop_.remove(fd_.get(), *this);
  handler_.on_proxy_header(std::move(fd_), header.header);
}

}  // namespace pqedge::edge
