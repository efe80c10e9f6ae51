#include "upstream/backend.h"

#include "base/log.h"
#include "wire/http1/client.h"

namespace pqedge::upstream {
namespace {

constexpr Nanos kPassOver = 1 * kSecond;

}  // namespace

// ---- Lease ---------------------------------------------------------------------------------------

void Lease::expect(Nanos timeout) {
  if (connection_ == nullptr) return;
  connection_->timer_.arm(connection_->backend_->loop_, timeout);
}

void Lease::expect_nothing() {
  if (connection_ == nullptr) return;
  // Far in the future instead of disarmed: arming it again is then cheap.
  connection_->timer_.arm(connection_->backend_->loop_, 3600 * kSecond);
}

void Lease::finish() {
  if (connection_ == nullptr) return;
  connection_->detach_lease();
}

void Lease::abandon() {
  if (connection_ == nullptr) return;
  Connection& c = *connection_;
  http::ClientStream* stream = std::exchange(c.stream_, nullptr);
  c.detach_lease();
  if (c.state_ == Connection::State::connecting) {
    c.state_ = Connection::State::closing;
    c.backend_->loop_.defer(c.destroy_);
  } else if (stream != nullptr) {
    stream->cancel();
  }
}

// ---- Connection ----------------------------------------------------------------------------------

Connection::Connection(Backend& backend, net::Fd fd, std::string preface)
    : backend_(backend.shared_from_this()),
      connecting_(backend.make_stream(std::move(fd), std::move(preface), *this)),
      began_(backend.loop_.now()),
      tls_fingerprint_(backend.tls_fingerprint()),
      tls_timeout_(backend.tls_ == nullptr ? 0 : backend.tls_->settings().handshake_timeout),
      timer_([](void* self) { static_cast<Connection*>(self)->on_timer(); }, this),
      destroy_([](void* self) { delete static_cast<Connection*>(self); }, this) {
  connecting_->set_handler(this);
  timer_.arm(backend.loop_, backend.connect_timeout_);
  backend.state_->connections.fetch_add(1, std::memory_order_relaxed);
  backend.state_->count.open.add();
}

Connection::~Connection() {
  detach_lease();
  if (state_ == State::idle) --backend_->idle_count_;
  backend_->state_->connections.fetch_sub(1, std::memory_order_relaxed);
  backend_->state_->count.open.subtract();
}

void Connection::detach_lease() {
  stream_ = nullptr;
  if (lease_ == nullptr) return;
  lease_->connection_ = nullptr;
  lease_ = nullptr;
  backend_->state_->active.fetch_sub(1, std::memory_order_relaxed);
}

void Connection::on_connected() {
  backend_->state_->count.connects.add();
  backend_->state_->passed_over_until.store(0, std::memory_order_relaxed);
  const bool plain = tls_fingerprint_ == 0;  // over TLS it went out before the handshake
  if (plain && backend_->send_proxy_ != 0 && lease_ != nullptr) write_proxy_header();
  connection_ = http1::make_client(backend_->loop_, std::move(connecting_), backend_->limits_, *this);
  if (lease_ == nullptr) return;  // closing: destroy_ is on its way
  lease_->connect_time_ = backend_->loop_.now() - began_;
  serve(*lease_);
}

// It leaves in one segment with the request that follows in the same turn.
void Connection::write_proxy_header() {
  connecting_->write_copy(as_bytes(proxy_text(backend_->send_proxy_, *lease_->requester_)));
}

void Connection::on_tls_begun() {
  tls_begun_ = true;
  timer_.arm(backend_->loop_, tls_timeout_);
}

void Connection::on_tls_done(const crypto::BackendTlsFacts& facts) {
  tls_ = facts;
  backend_->tls_counters_.count(*backend_->state_, facts);
}

void Connection::on_tls_failed(crypto::BackendFault fault, const Error& error) {
  if (state_ == State::closing) return;
  note_tls_failure(*backend_->state_, fault, error.message, backend_->loop_.now());
  if (state_ == State::connecting) fail_connect(Failure::tls_failed, "TLS: " + error.message);
}

void Connection::serve(Lease& lease) {
  state_ = State::in_use;
  lease.tls_ = tls_;
  timer_.arm(backend_->loop_, 3600 * kSecond);
  backend_->state_->count.requests.add();
  stream_ = &connection_->open_stream(lease.requester_->client_handler());
  lease.requester_->on_backend_ready(*stream_);
}

void Connection::fail_connect(Failure why, std::string_view detail) {
  state_ = State::closing;
  ServerState& server = *backend_->state_;
  server.count.connect_failures.add();
  server.passed_over_until.store(backend_->loop_.now() + kPassOver, std::memory_order_relaxed);
  backend_->loop_.defer(destroy_);
  Lease* lease = lease_;
  detach_lease();
  if (lease != nullptr) lease->requester_->on_backend_failed(why, detail);
}

void Connection::on_stream_error(const Error& error) {
  if (state_ == State::connecting) fail_connect(Failure::connect_failed, error.message);
}

void Connection::on_timer() {
  switch (state_) {
    case State::connecting: return on_connect_timeout();
    case State::idle: connection_->close(); return;
    case State::closing: return;
    case State::in_use: break;
  }
  if (lease_ == nullptr) return;
  Requester& requester = *lease_->requester_;
  lease_->abandon();
  requester.on_backend_timeout();
}

void Connection::on_connect_timeout() {
  if (!tls_begun_) return fail_connect(Failure::connect_timeout, "connect timed out");
  const std::string why(crypto::text(crypto::BackendFault::timeout));
  note_tls_failure(*backend_->state_, crypto::BackendFault::timeout, why, backend_->loop_.now());
  fail_connect(Failure::tls_timeout, "TLS: " + why);
}

void Connection::on_available() {
  detach_lease();
  if (state_ == State::in_use) backend_->put_idle(*this);
}

void Connection::on_client_connection_closed(std::string_view) {
  // The codec has already told the stream's handler. Called from the end of a turn.
  delete this;
}

// ---- Backend -------------------------------------------------------------------------------------

Backend::~Backend() = default;

void Backend::configure(const PoolSettings& settings, uint32_t max_idle,
                        std::shared_ptr<const http::Limits> limits,
                        std::shared_ptr<const crypto::BackendTls> tls) {
  use_tls(std::move(tls));
  connect_timeout_ = settings.connect_timeout;
  idle_timeout_ = settings.idle_timeout;
  max_connections_ = settings.max_connections;
  max_idle_ = max_idle;
  send_proxy_ = settings.send_proxy;
  limits_ = std::move(limits);
}

// Connections and sessions that were made with other settings are used no more: what they were held
// to may not be what holds now.
void Backend::use_tls(std::shared_ptr<const crypto::BackendTls> tls) {
  const uint64_t fingerprint = tls == nullptr ? 0 : tls->fingerprint();
  const bool same = tls_sessions_ != nullptr && fingerprint == tls_fingerprint();
  tls_ = std::move(tls);
  if (same) return;
  tls_context_.reset();
  tls_sessions_ = std::make_shared<crypto::BackendSessions>();
  close_idle();
  if (tls_ == nullptr) return;
  auto made = tls_->make_context();
  if (!made) {  // one was made when the configuration was loaded: there is no memory
    log::error("backend", "pool '{}': {}", state_->pool, made.error().message);
    return;
  }
  tls_context_ = std::shared_ptr<SSL_CTX>(made->release(), SSL_CTX_free);
}

std::unique_ptr<net::Stream> Backend::make_stream(net::Fd fd, std::string preface,
                                                  crypto::BackendTlsHandler& handler) {
  if (tls_ == nullptr) return net::make_plain_stream(loop_, std::move(fd));
  return crypto::make_tls_client_stream(loop_, std::move(fd),
                                        {.context = tls_context_,
                                         .tls = tls_,
                                         .address = state_->address,
                                         .sessions = tls_sessions_,
                                         .learned = &state_->tls_group,
                                         .preface = std::move(preface)},
                                        handler);
}

bool Backend::acquire(Lease& lease, bool fresh) {
  while (!fresh && send_proxy_ == 0 && !idle_.empty()) {
    Connection& c = idle_.pop_front();
    --idle_count_;
    others_.push_back(c);
    c.state_ = Connection::State::in_use;
    if (!c.connection_->available()) {  // it died while idle; the codec reports it in its time
      c.state_ = Connection::State::closing;
      continue;
    }
    lease.connection_ = &c;
    lease.server_ = state_;
    lease.reused_ = true;
    lease.connect_time_ = 0;
    c.lease_ = &lease;
    state_->active.fetch_add(1, std::memory_order_relaxed);
    c.serve(lease);
    return true;
  }
  if (max_connections_ != 0 &&
      state_->connections.load(std::memory_order_relaxed) >= max_connections_) {
    return false;
  }
  open(lease);
  return true;
}

void Backend::open(Lease& lease) {
  lease.server_ = state_;
  lease.reused_ = false;
  lease.connect_time_ = 0;
  lease.tls_ = {};
  auto fd = net::connect_stream(state_->address);
  if (!fd) {
    state_->count.connect_failures.add();
    state_->passed_over_until.store(loop_.now() + kPassOver, std::memory_order_relaxed);
    lease.requester_->on_backend_failed(Failure::connect_failed, fd.error().message);
    return;
  }
  std::string preface;
  if (tls_ != nullptr && send_proxy_ != 0) preface = proxy_text(send_proxy_, *lease.requester_);
  auto* c = new Connection(*this, std::move(*fd), std::move(preface));
  others_.push_back(*c);
  c->lease_ = &lease;
  lease.connection_ = c;
  state_->active.fetch_add(1, std::memory_order_relaxed);
}

void Backend::put_idle(Connection& connection) {
  connection.state_ = Connection::State::idle;
  connection.unlink();
  idle_.push_front(connection);
  ++idle_count_;
  connection.timer_.arm(loop_, idle_timeout_);
  // A connection that was opened in one client's name is not for the next one.
  if (send_proxy_ != 0 || connection.tls_fingerprint_ != tls_fingerprint()) {
    return connection.connection_->close();
  }
  if (idle_count_ > max_idle_) {
    Connection& oldest = idle_.back();
    oldest.connection_->close();
  }
}

void Backend::close_all() {
  const auto self = shared_from_this();  // the connections hold the rest of the references
  for (auto* list : {&idle_, &others_}) {
    while (!list->empty()) delete &list->front();
  }
}

void Backend::close_idle() {
  idle_.for_each([](Connection& c) { c.connection_->close(); });
}

}  // namespace pqedge::upstream
