#include "admin/listener.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "admin/connection.h"
#include "base/counters.h"
#include "base/log.h"

namespace pqedge::admin {
namespace {

constexpr int kAcceptsPerTurn = 16;
constexpr Nanos kRest = 100 * kMillisecond;

const counters::Counter g_refused("pqedge_admin_refused_connections_total",
                                  "Admin connections closed at accept: too many, or another user.");

std::shared_ptr<const http::Limits> admin_limits() {
  http::Limits limits;
  limits.max_target = 2048;
  limits.max_head = 16 * 1024;
  limits.max_body = 1024 * 1024;  // kept in memory only of those who may give orders
  limits.header_timeout = 5 * kSecond;
  limits.idle_timeout = 10 * kSecond;
  limits.body_timeout = 5 * kSecond;
  limits.send_timeout = 10 * kSecond;
  return std::make_shared<const http::Limits>(limits);
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::create(net::Loop& loop, const Site& site, Side side,
                                                   net::Fd fd) {
  std::unique_ptr<Listener> l(new Listener(loop, site, side, std::move(fd)));
  if (const auto ok = loop.add(l->fd_.get(), *l, true); !ok) return std::unexpected(ok.error());
  return l;
}

Listener::Listener(net::Loop& loop, const Site& site, Side side, net::Fd fd)
    : loop_(loop), site_(site), side_(side), fd_(std::move(fd)), limits_(admin_limits()) {
  resume_.set(
      [](void* self) {
        auto* l = static_cast<Listener*>(self);
        l->loop_.set_interest(l->fd_.get(), *l, true);
      },
      this);
}

Listener::~Listener() {
  if (fd_) loop_.remove(fd_.get(), *this);
  while (!connections_.empty()) delete &connections_.pop_front();
}

void Listener::stop_accepting() {
  resume_.disarm();
  loop_.remove(fd_.get(), *this);
  fd_.reset();
}

void Listener::forget(Connection& connection) {
  connection.unlink();
  --count_;
}

void Listener::on_events(uint32_t) {
  for (int i = 0; i < kAcceptsPerTurn && accept_one(); ++i) {
  }
}

bool Listener::accept_one() {
  sockaddr_storage storage;
  socklen_t size = sizeof storage;
  net::Fd fd(::accept4(fd_.get(), reinterpret_cast<sockaddr*>(&storage), &size,
                       SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd) {
    if (errno == ECONNABORTED || errno == EINTR) return true;
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      // The socket stays readable: without a rest the loop would spin.
      loop_.set_interest(fd_.get(), *this, false);
      resume_.arm(loop_, kRest);
    }
    return false;
  }
  if (count_ >= kMaxConnections || (side_ == Side::control && !may_control(fd.get()))) {
    g_refused.add();
    return true;
  }
  const auto peer = net::Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage), size);
  connections_.push_back(*new Connection(*this, std::move(fd), peer, limits_));
  ++count_;
  return true;
}

// The mode of the socket keeps others away; this holds also where its directory lets them change
// it.
bool Listener::may_control(int fd) const {
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return false;
  if (who.uid == 0 || who.uid == ::geteuid()) return true;
  log::warning("admin", "the user with ID {} was refused at the control socket", who.uid);
  return false;
}

}  // namespace pqedge::admin
