#include "upstream/connection.h"

#include <utility>

#include "base/counters.h"
#include "base/log.h"
#include "upstream/backend.h"

namespace pqedge::upstream {
namespace {

constexpr Nanos kPassOver = 1 * kSecond;
constexpr Nanos kFar = 3600 * kSecond;

const counters::Counter kOwnShortages(
    "pqedge_backend_connect_shortages_total",
    "Connections to servers that were not made for want of descriptors or memory here.");

void note_own_shortage(std::string_view detail, Nanos now) {
  thread_local Nanos told = 0;
  kOwnShortages.add();
  if (told != 0 && now - told < kSecond) return;
  told = now;
  log::error("upstream",
             "{}. Raise RLIMIT_NOFILE (LimitNOFILE=) or the memory, or lower "
             "server.max_connections",
             detail);
}

}  // namespace

Connection::Connection(Backend& backend, Purpose purpose, std::string preface)
    : backend_(backend.shared_from_this()),
      purpose_(purpose),
      opened_for_one_(!preface.empty()),
      began_(backend.loop_.now()),
      generation_(backend.generation_),
      timer_([](void* self) { static_cast<Connection*>(self)->on_timer(); }, this),
      destroy_([](void* self) { delete static_cast<Connection*>(self); }, this) {
  connector_ = backend.make_connector(purpose, std::move(preface), *this, *this);
  timer_.arm(backend.loop_, backend.connect_timeout_);
  ++backend.connection_count_;
  backend.state_->connections.fetch_add(1, std::memory_order_relaxed);
  backend.state_->count.open.add();
}

Connection::~Connection() {
  while (!leases_.empty()) detach(leases_.front());
  if (state_ == State::idle) --backend_->idle_count_;
  if (pinned_to_ != 0) backend_->pins_.remove(*this, pinned_to_);
  --backend_->connection_count_;
  backend_->state_->connections.fetch_sub(1, std::memory_order_relaxed);
  backend_->state_->count.open.subtract();
  backend_->note_room();
}

net::Loop& Connection::loop() const { return backend_->loop_; }

// ---- leases
// --------------------------------------------------------------------------------------

void Connection::add(Lease& lease, bool reused) {
  leases_.push_back(lease);
  ++lease_count_;
  lease.connection_ = this;
  lease.server_ = backend_->state_;
  lease.reused_ = reused;
  lease.connect_time_ = 0;
  if (!std::exchange(lease.counted_, false)) {
    backend_->state_->active.fetch_add(1, std::memory_order_relaxed);
  }
  if (state_ != State::connecting) serve(lease, reused);
}

void Connection::detach(Lease& lease) {
  lease.unlink();
  lease.connection_ = nullptr;
  lease.stream_ = nullptr;
  --lease_count_;
  backend_->state_->active.fetch_sub(1, std::memory_order_relaxed);
}

void Connection::serve(Lease& lease, bool reused) {
  lease.tls_ = tls_;
  if (!reused) lease.connect_time_ = loop().now() - began_;
  lease.timer_.arm(loop(), kFar);
  ++requests_;
  backend_->note_served(*this);
  backend_->state_->count.requests.add();
  Requester& requester = *lease.requester_;
  lease.stream_ = &connection_->open_stream(requester.client_handler());
  requester.on_backend_ready(*lease.stream_);
}

void Connection::release(Lease& lease) {
  detach(lease);
  switch (state_) {
    case State::connecting:
      if (lease_count_ > 0) return;
      state_ = State::closing;
      loop().defer(destroy_);
      return;
    case State::in_use:
      if (!multiplexes_) return;  // the codec says when its answer was whole: on_available()
      if (lease_count_ == 0) return on_unused();
      if (can_serve()) backend_->shared_.push_back(*this);
      backend_->note_room();
      return;
    case State::idle:
    case State::closing: return;
  }
}

void Connection::on_available() {
  if (state_ != State::in_use) return;
  if (multiplexes_) {
    if (lease_count_ == 0) return on_unused();
    if (can_serve()) backend_->shared_.push_back(*this);
    backend_->note_room();
    return;
  }
  while (!leases_.empty()) detach(leases_.front());
  on_unused();
}

void Connection::on_unused() {
  if (connection_->available()) return backend_->put_idle(*this);
  // Not for now (a PING is out), or its end is under way. What it says next decides.
  backend_->others_.push_back(*this);
  if (worn() || single_use()) connection_->close();
  backend_->note_room();
}

bool Connection::worn() const {
  const Backend& b = *backend_;
  return retired_ || generation_ != b.generation_ ||
         (b.max_requests_ != 0 && requests_ >= b.max_requests_) ||
         (b.max_age_ != 0 && b.loop_.now() - began_ >= b.max_age_);
}

bool Connection::can_serve() const {
  return pinned_to_ == 0 && !single_use() && !worn() && connection_->available();
}

void Connection::pin(uint64_t client) {
  if (client == 0 || pinned_to_ == client) return;
  if (pinned_to_ != 0 || lease_count_ > 1) {  // it serves others already: it must not go on
    retired_ = true;
    return;
  }
  pinned_to_ = client;
  backend_->pins_.add(*this, client);
  if (state_ != State::connecting) backend_->others_.push_back(*this);  // nobody finds it there
}

bool Connection::serves_client_again() const {
  const bool free = state_ == State::idle || (state_ == State::in_use && multiplexes_);
  return free && !worn() && !single_use() && connection_->available();
}

void Connection::serve_client_again(Lease& lease) {
  if (state_ == State::idle) --backend_->idle_count_;
  state_ = State::in_use;
  add(lease, true);
}

void Connection::doubt() {
  if (connection_ == nullptr || !multiplexes_) return;
  connection_->probe();
}

void Connection::retire() {
  retired_ = true;
  if (state_ == State::idle) connection_->close();
}

// ---- connecting
// ----------------------------------------------------------------------------------

void Connection::begin() {
  if (auto begun = connector_->begin(); !begun) {
    fail_connect(failure_of(begun.error()), begun.error().message);
  }
}

void Connection::on_handshake_begun() {
  handshake_begun_ = true;
  if (backend_->tls_ != nullptr) timer_.arm(loop(), backend_->tls_->settings().handshake_timeout);
}

void Connection::on_connected(std::unique_ptr<http::ClientConnection> connection,
                              const crypto::BackendTlsFacts& facts) {
  connection_ = std::move(connection);
  if (state_ != State::connecting) return;  // nobody wants it any more: destroy_ is on its way
  tls_ = facts;
  multiplexes_ = connection_->multiplexes();
  state_ = State::in_use;
  timer_.arm(loop(), kFar);
  backend_->note_connected(*this);
  serve_waiting();
}

// The lists were made for a connection that multiplexes, or the first lease is alone.
void Connection::serve_waiting() {
  IntrusiveList<Lease> waiting;
  waiting.splice_back(leases_);
  bool served = false;
  while (!waiting.empty()) {
    Lease& lease = waiting.pop_front();
    if (served ? multiplexes_ && can_serve() : connection_->available()) {
      served = true;
      leases_.push_back(lease);
      serve(lease, false);
      continue;
    }
    Requester& requester = *lease.requester_;
    detach(lease);
    if (!served) {
      requester.on_backend_failed(Failure::connect_failed, "the connection ended as it began");
      continue;
    }
    // It takes fewer than was thought. The others look for another connection.
    if (!backend_->acquire(lease, false)) {
      requester.on_backend_failed(Failure::no_capacity,
                                  "the server is at its maximum of connections");
    }
  }
}

void Connection::on_connect_failed(Failure why, std::string_view detail) {
  if (state_ == State::connecting) fail_connect(why, detail);
}

void Connection::on_tls_failed(crypto::BackendFault fault, const Error& error) {
  if (state_ == State::closing) return;
  note_tls_failure(*backend_->state_, fault, error.message, loop().now());
  if (state_ == State::connecting) fail_connect(Failure::tls_failed, "TLS: " + error.message);
}

void Connection::fail_connect(Failure why, std::string_view detail) {
  state_ = State::closing;
  backend_->others_.push_back(*this);
  if (why == Failure::own_shortage) {  // it says nothing of the server
    note_own_shortage(detail, loop().now());
  } else {
    ServerState& server = *backend_->state_;
    server.count.connect_failures.add();
    server.passed_over_until.store(loop().now() + kPassOver, std::memory_order_relaxed);
  }
  loop().defer(destroy_);
  IntrusiveList<Lease> failed;
  failed.splice_back(leases_);
  while (!failed.empty()) {
    Lease& lease = failed.front();
    detach(lease);
    lease.requester_->on_backend_failed(why, detail);
  }
}

void Connection::on_connect_timeout() {
  const bool tls = handshake_begun_ && backend_->tls_ != nullptr;
  if (!tls) return fail_connect(Failure::connect_timeout, "connect timed out");
  const std::string why(crypto::text(crypto::BackendFault::timeout));
  note_tls_failure(*backend_->state_, crypto::BackendFault::timeout, why, loop().now());
  fail_connect(Failure::tls_timeout, "TLS: " + why);
}

void Connection::on_timer() {
  switch (state_) {
    case State::connecting: return on_connect_timeout();
    case State::idle: return connection_->close();
    case State::in_use:
    case State::closing: return;
  }
}

// ---- the end
// -------------------------------------------------------------------------------------

void Connection::on_going_away(uint64_t processed, uint64_t refused) {
  backend_->note_going_away(processed, refused);
}

void Connection::on_http11_required() { backend_->note_http11_required(); }

void Connection::on_client_connection_closed(std::string_view) {
  // The codec has already told the streams' handlers. Called from the end of a turn.
  delete this;
}

}  // namespace pqedge::upstream
