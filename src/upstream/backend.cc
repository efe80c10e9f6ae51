#include "upstream/backend.h"

#include <utility>

#include "base/log.h"

namespace pqedge::upstream {
namespace {

// A kept connection that was used a moment ago is not asked whether it lives.
constexpr Nanos kTrusted = 500 * kMillisecond;

bool always_multiplexes(Protocol protocol) {
  return protocol == Protocol::h2 || protocol == Protocol::h2c || protocol == Protocol::h3;
}

}  // namespace

Backend::Backend(net::Loop& loop, std::shared_ptr<ServerState> state, Pins& pins)
    : loop_(loop),
      state_(std::move(state)),
      pins_(pins),
      room_([](void* self) { static_cast<Backend*>(self)->tell_room(); }, this) {}

Backend::~Backend() = default;

// ---- settings ----------------------------------------------------------------------------------

void Backend::configure(const PoolSettings& settings, uint32_t max_idle,
                        std::shared_ptr<const http::Limits> limits,
                        std::shared_ptr<const crypto::BackendTls> tls) {
  use_protocol(settings.protocol);
  use_tls(std::move(tls));
  connect_timeout_ = settings.connect_timeout;
  idle_timeout_ = settings.idle_timeout;
  max_age_ = settings.max_connection_age;
  max_connections_ = settings.max_connections;
  max_requests_ = settings.max_connection_requests;
  max_streams_ = std::max<uint32_t>(1, settings.max_streams);
  max_idle_ = max_idle;
  send_proxy_ = settings.send_proxy;
  limits_ = std::move(limits);
}

void Backend::use_protocol(Protocol protocol) {
  if (protocol == protocol_) return;
  protocol_ = protocol;
  http11_required_ = false;
  multiplexing_ = always_multiplexes(protocol)      ? Multiplexing::yes
                  : protocol == Protocol::automatic ? Multiplexing::unknown
                                                    : Multiplexing::no;
  outdate_connections();
}

// Connections and sessions that were made with other settings are used no more: what they were held
// to may not be what holds now.
void Backend::use_tls(std::shared_ptr<const crypto::BackendTls> tls) {
  const uint64_t before = tls_ == nullptr ? 0 : tls_->fingerprint();
  const uint64_t fingerprint = tls == nullptr ? 0 : tls->fingerprint();
  const bool same = tls_sessions_ != nullptr && fingerprint == before;
  tls_ = std::move(tls);
  if (same) return;
  tls_context_.reset();
  tls_sessions_ = std::make_shared<crypto::BackendSessions>();
  outdate_connections();
  if (tls_ == nullptr) return;
  auto made = tls_->make_context();
  if (!made) {  // one was made when the configuration was loaded: there is no memory
    log::error("backend", "pool '{}': {}", state_->pool, made.error().message);
    return;
  }
  tls_context_ = std::shared_ptr<SSL_CTX>(made->release(), SSL_CTX_free);
}

// What runs on them goes on.
void Backend::outdate_connections() {
  ++generation_;
  close_idle();
  others_.splice_back(shared_);
  others_.splice_back(connecting_);
}

// ---- to a connection ---------------------------------------------------------------------------

bool Backend::acquire(Lease& lease, bool fresh) {
  Requester& requester = lease.requester();
  if (Connection* c = find(requester, fresh); c != nullptr) {
    const bool open = c->state_ != Connection::State::connecting;
    if (open) {
      c->state_ = Connection::State::in_use;
      (c->multiplexes_ ? shared_ : others_).push_back(*c);
    }
    if (requester.authenticates_connection()) c->pin(requester.client_connection());
    c->add(lease, open);
    return true;
  }
  if (at_maximum()) return false;
  open(lease);
  return true;
}

bool Backend::at_maximum() const {
  return max_connections_ != 0 &&
         state_->connections.load(std::memory_order_relaxed) >= max_connections_;
}

Connection* Backend::find(const Requester& requester, bool fresh) {
  const Purpose purpose = requester.purpose();
  if (send_proxy_ != 0 || purpose == Purpose::bytes) return nullptr;
  // One that speaks HTTP/1.1 is not looked for among others.
  if (purpose == Purpose::upgrade && protocol_ != Protocol::http1) return nullptr;
  // It must be nobody else's.
  const bool alone = requester.authenticates_connection();
  if (!alone) {
    if (Connection* c = find_shared(); c != nullptr) return c;
  }
  if (!fresh) {
    if (Connection* c = find_idle(); c != nullptr) return c;
  }
  return alone ? nullptr : find_connecting();
}

Connection* Backend::find_idle() {
  // Those that are passed by go to the back: each is looked at once.
  for (uint32_t left = idle_count_; left > 0 && !idle_.empty(); --left) {
    Connection& c = idle_.front();
    if (!c.can_serve()) {  // it died while idle, or is worn; its end is under way, or comes now
      c.state_ = Connection::State::closing;
      --idle_count_;
      others_.push_back(c);
      c.connection_->close();
      continue;
    }
    if (loop_.now() - c.idle_since_ > kTrusted && !c.connection_->quiet()) {
      idle_.push_back(c);  // what waits there is read in this turn or the next
      continue;
    }
    --idle_count_;
    return &c;
  }
  return nullptr;
}

Connection* Backend::find_shared() {
  while (!shared_.empty()) {
    Connection& c = shared_.front();
    if (c.lease_count_ < streams_each() && c.can_serve()) return &c;
    others_.push_back(c);  // until a stream ends or it says that it is available
  }
  return nullptr;
}

Connection* Backend::find_connecting() {
  // Who waits in vain for one that turns out to serve a single request opens another then: the
  // number of connections must allow it.
  const bool may = multiplexing_ == Multiplexing::yes ||
                   (multiplexing_ == Multiplexing::unknown && max_connections_ == 0);
  if (!may || connecting_.empty()) return nullptr;
  Connection& c = connecting_.front();
  return c.lease_count_ < streams_each() ? &c : nullptr;
}

void Backend::open(Lease& lease) {
  Requester& requester = lease.requester();
  const Purpose purpose = requester.purpose();
  lease.tls_ = {};
  std::string preface;
  if (send_proxy_ != 0) preface = proxy_text(send_proxy_, requester);
  auto* c = new Connection(*this, purpose, std::move(preface));
  const bool alone = requester.authenticates_connection();
  const bool joinable = purpose == Purpose::requests && send_proxy_ == 0 && !alone;
  (joinable ? connecting_ : others_).push_front(*c);
  if (alone) c->pin(requester.client_connection());
  c->add(lease, false);
  c->begin();
}

std::unique_ptr<Connector> Backend::make_connector(Purpose purpose, std::string preface,
                                                   http::ClientConnectionHandler& owner,
                                                   ConnectorHandler& handler) {
  const bool http11 = purpose != Purpose::requests || http11_required_;
  ConnectOptions options{.loop = loop_,
                         .server = *state_,
                         .protocol = http11 ? Protocol::http1 : protocol_,
                         .purpose = purpose,
                         .max_streams = max_streams_,
                         .probe_timeout = 2 * connect_timeout_,
                         .limits = limits_,
                         .tls = tls_,
                         .tls_context = tls_context_,
                         .tls_sessions = tls_sessions_,
                         .preface = std::move(preface),
                         .owner = owner};
  return upstream::make_connector(std::move(options), handler);
}

// ---- from a connection -------------------------------------------------------------------------

void Backend::note_connected(Connection& connection) {
  state_->count.connects.add();
  state_->passed_over_until.store(0, std::memory_order_relaxed);
  if (!connection.tls_.version.empty()) tls_counters_.count(*state_, connection.tls_);
  if (protocol_ == Protocol::automatic && connection.purpose_ == Purpose::requests) {
    multiplexing_ = connection.multiplexes_ ? Multiplexing::yes : Multiplexing::no;
  }
  const bool shared = connection.multiplexes_ && connection.pinned_to_ == 0;
  (shared ? shared_ : others_).push_back(connection);
}

// A server that takes more requests on a connection than it was thought to is given more at a time.
void Backend::note_served(const Connection& connection) {
  if (usable_streams_ < max_streams_ && connection.requests_ > 2 * usable_streams_) {
    usable_streams_ *= 2;
  }
}

// What it refused goes elsewhere, and would be refused there again if a new connection were given
// as much at once: some servers take few requests on each (nginx's keepalive_requests).
void Backend::note_going_away(uint64_t processed, uint64_t refused) {
  if (refused == 0) return;
  usable_streams_ = static_cast<uint32_t>(
      std::clamp<uint64_t>(processed, 1, std::min(usable_streams_, max_streams_)));
}

void Backend::note_http11_required() {
  if (protocol_ != Protocol::automatic || http11_required_) return;
  log::info("backend", "pool '{}', server {}: it wants HTTP/1.1 instead of HTTP/2", state_->pool,
            state_->name);
  http11_required_ = true;
  multiplexing_ = Multiplexing::no;
  outdate_connections();
}

bool Backend::keeps(const Connection& connection) const {
  if (connection.worn() || connection.single_use()) return false;
  // Opened for an upgrade that was not made, in a pool that speaks something else.
  return connection.purpose_ == Purpose::requests || protocol_ == Protocol::http1;
}

void Backend::put_idle(Connection& connection) {
  connection.state_ = Connection::State::idle;
  connection.idle_since_ = loop_.now();
  ++idle_count_;
  connection.timer_.arm(loop_, idle_timeout_);
  if (connection.pinned_to_ != 0) {
    others_.push_back(connection);  // it is found by its client alone
  } else {
    idle_.push_front(connection);
  }
  note_room();
  if (!keeps(connection)) return connection.connection_->close();
  if (idle_count_ > max_idle_) {
    Connection& oldest = idle_.empty() ? connection : idle_.back();
    oldest.connection_->close();
  }
}

void Backend::note_room() {
  if (!watchers_.empty()) loop_.defer(room_);
}

void Backend::tell_room() {
  watchers_.for_each([this](RoomWatcher& watcher) { watcher.on_backend_room(*this); });
}

// ---- the end -----------------------------------------------------------------------------------

void Backend::close_all() {
  const auto self = shared_from_this();  // the connections hold the rest of the references
  for (auto* list : {&idle_, &shared_, &connecting_, &others_}) {
    while (!list->empty()) delete &list->front();
  }
}

void Backend::close_idle() {
  idle_.for_each([](Connection& c) { c.connection_->close(); });
  others_.for_each([](Connection& c) {
    if (c.state_ == Connection::State::idle) c.connection_->close();
  });
}

}  // namespace pqedge::upstream
