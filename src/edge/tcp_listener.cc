#include "edge/tcp_listener.h"

#include <sys/socket.h>

#include "base/memory.h"
#include "edge/client_connection.h"
#include "edge/worker.h"

namespace pqedge::edge {
namespace {

constexpr int kAcceptsPerTurn = 64;  // so that one burst does not hold the loop
constexpr Nanos kRest = 100 * kMillisecond;

const counters::Counter kAccepted("pqedge_accepted_total", "Connections accepted over TCP.");
const counters::Counter kRefused("pqedge_refused_connections_total",
                                 "Connections closed at accept: the process is at its maximum.");
const counters::Counter kOutOfDescriptors(
    "pqedge_accept_pauses_total", "Times accepting rested because descriptors or memory ran out.");

}  // namespace

Result<std::unique_ptr<TcpListener>> TcpListener::create(Worker& worker,
                                                         std::shared_ptr<const ListenerView> view,
                                                         net::Fd fd) {
  std::unique_ptr<TcpListener> l(new TcpListener(worker, std::move(view), std::move(fd)));
  if (auto ok = worker.loop().add(l->fd_.get(), *l, true); !ok) return std::unexpected(ok.error());
  return l;
}

TcpListener::TcpListener(Worker& worker, std::shared_ptr<const ListenerView> view, net::Fd fd)
    : worker_(worker), view_(std::move(view)), fd_(std::move(fd)) {
  resume_.set(
      [](void* self) {
        auto* l = static_cast<TcpListener*>(self);
        l->worker_.loop().set_interest(l->fd_.get(), *l, true);
      },
      this);
}

TcpListener::~TcpListener() {
  if (fd_) worker_.loop().remove(fd_.get(), *this);
}

void TcpListener::on_events(uint32_t) {
  for (int i = 0; i < kAcceptsPerTurn && accept_one(); ++i) {
  }
}

bool TcpListener::accept_one() {
  if (memory::refusing()) [[unlikely]] {
    rest(ENOMEM);
    return false;
  }
  sockaddr_storage storage;
  socklen_t size = sizeof storage;
  net::Fd fd(accept4(fd_.get(), reinterpret_cast<sockaddr*>(&storage), &size,
                     SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd) {
    if (errno == ECONNABORTED || errno == EINTR) return true;
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      rest(errno);
    }
    return false;
  }
  kAccepted.add();
  if (!worker_.may_open_connection()) {
    kRefused.add();
    return true;  // closed here, before memory for TLS is taken
  }
  ClientConnection::accept(
      worker_, view_, std::move(fd),
      net::Address::from_sockaddr(reinterpret_cast<sockaddr*>(&storage), size));
  return true;
}

// The listener stays readable while nothing can be accepted: without a rest the loop would spin.
void TcpListener::rest(int code) {
  kOutOfDescriptors.add();
  worker_.warn_out_of_descriptors(code);
  worker_.loop().set_interest(fd_.get(), *this, false);
  resume_.arm(worker_.loop(), kRest);
}

void TcpListener::close() {
  while (accept_one()) {
  }
  resume_.disarm();
  worker_.loop().remove(fd_.get(), *this);
  fd_.reset();
}

}  // namespace pqedge::edge
