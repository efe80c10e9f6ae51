#include "wire/quic/endpoint.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>

#include "wire/quic/counters.h"
#include "wire/quic/path.h"

namespace pqedge::quic {
namespace {

// System calls of one turn: the other work of the worker is not to wait behind a flood.
constexpr int kReceiveCalls = 4;
// Half-open handshakes beyond this multiple of retry_above are not begun at all.
constexpr size_t kHalfOpenFactor = 8;
constexpr Nanos kRetryGoesOn = 2 * kSecond;
// Ended connections that are remembered to answer late packets.
constexpr size_t kMaxEnded = 8192;
// Answers to packets without a connection, a second.
constexpr uint64_t kStatelessRate = 1000;
constexpr uint64_t kStatelessBurst = 1000;

}  // namespace

Endpoint::Endpoint(net::Loop& loop, Options options, EndpointHandler& handler)
    : loop_(loop),
      options_(std::move(options)),
      handler_(handler),
      receiver_(options_.socket.fd.get(), options_.local),
      sender_(
          loop, options_.socket, options_.local, options_.settings.gso,
          [](void* self) {
            auto& e = *static_cast<Endpoint*>(self);
            e.loop_.defer(e.turn_end_);
            if (e.filter_ != nullptr) e.filter_->on_room();
          },
          this),
      turn_end_([](void* self) { static_cast<Endpoint*>(self)->run_turn_end(); }, this),
      stateless_rate_(kStatelessRate, kStatelessBurst) {}

Result<std::unique_ptr<Endpoint>> Endpoint::create(net::Loop& loop, Options options,
                                                   EndpointHandler& handler) {
  if (auto ready = initialise_tls(); !ready) return std::unexpected(ready.error());
  const int fd = options.socket.fd.get();
  if (const int off = 0; options.socket.gro && !options.settings.gro) {
    setsockopt(fd, IPPROTO_UDP, UDP_GRO, &off, sizeof off);
  }
  const bool reading = options.reading;
  std::unique_ptr<Endpoint> endpoint(new Endpoint(loop, std::move(options), handler));
  if (auto set = endpoint->set_reading(reading); !set) return std::unexpected(set.error());
  return endpoint;
}

Result<void> Endpoint::set_reading(bool on) {
  if (on == reading_) return {};
  const int fd = options_.socket.fd.get();
  if (!on) {
    loop_.remove(fd, *this);
  } else if (auto added = loop_.add(fd, *this, true); !added) {
    return added;
  }
  reading_ = on;
  return {};
}

Endpoint::~Endpoint() {
  if (reading_) loop_.remove(options_.socket.fd.get(), *this);
  for (auto& [connection, owned] : connections_) connection->abandon();
  connections_.clear();
}

void Endpoint::update(std::shared_ptr<crypto::ServerContexts> contexts, const Settings& settings,
                      uint64_t max_streams) {
  options_.contexts = std::move(contexts);
  options_.settings = settings;
  options_.max_streams = max_streams;
}

uint64_t Endpoint::next_connection_id() {
  // The highest bit is for QUIC: connections over TCP are numbered elsewhere. A worker has an
  // endpoint for each of its listeners.
  static thread_local uint64_t made = 0;
  return uint64_t{1} << 63 | uint64_t{options_.self.worker} << 48 | ++made;
}

// ---- what comes ---------------------------------------------------------------------------------

void Endpoint::on_events(uint32_t) {
  bool more = true;
  for (int i = 0; i < kReceiveCalls && more; ++i) {
    more = receiver_.receive(
        [this](Bytes bytes, const net::Address& peer, const net::Address& local, uint8_t ecn) {
          dispatch({.bytes = bytes, .peer = peer, .local = local, .ecn = ecn}, Source::socket);
        });
    if (filter_ != nullptr) filter_->end_of_batch();
  }
  after_batch();
}

void Endpoint::receive_handed_over(const ReceivedDatagram& datagram) {
  counters::received_handed_over.add();
  dispatch(datagram, Source::handed_over);
  if (filter_ != nullptr) filter_->end_of_batch();
  loop_.defer(turn_end_);  // several may come in a row: they are acted on together
}

void Endpoint::receive_unfiltered(const ReceivedDatagram& datagram) {
  dispatch(datagram, Source::filter);
  loop_.defer(turn_end_);
}

// What of dispatch() is for connections that are here already.
bool Endpoint::receive_from_successor(const ReceivedDatagram& datagram) {
  ngtcp2_version_cid header;
  const int status = ngtcp2_pkt_decode_version_cid(&header, datagram.bytes.data(),
                                                   datagram.bytes.size(), kConnectionIdSize);
  if (status != 0) return false;
  counters::received_handed_over.add();
  loop_.defer(turn_end_);
  const Bytes id{header.dcid, header.dcidlen};
  if (Connection* connection = ids_.find(id); connection != nullptr) {
    connection->receive(datagram);
    received_.push_back(*connection);
    return true;
  }
  if (filter_ != nullptr && filter_->take(datagram, id, true)) {
    filter_->end_of_batch();
    return true;
  }
  // The ID that a Retry of ours gave begins a connection there; any other was once one here.
  const bool is_long = (datagram.bytes[0] & 0x80) != 0;
  if (is_long || options_.keys->owner_of(id, kServerId) != options_.self) return false;
  send_stateless_reset(datagram, id);
  return true;
}

void Endpoint::receive_returned(const ReceivedDatagram& datagram) {
  dispatch(datagram, Source::returned);
  if (filter_ != nullptr) filter_->end_of_batch();
  loop_.defer(turn_end_);
}

void Endpoint::after_batch() {
  while (!received_.empty()) received_.pop_front().after_receive();
}

void Endpoint::dispatch(const ReceivedDatagram& datagram, Source source) {
  counters::datagrams_received.add();
  ngtcp2_version_cid header;
  const int status = ngtcp2_pkt_decode_version_cid(&header, datagram.bytes.data(),
                                                   datagram.bytes.size(), kConnectionIdSize);
  if (status != 0 && status != NGTCP2_ERR_VERSION_NEGOTIATION) {
    counters::dropped_malformed.add();
    return;
  }
  const Bytes id{header.dcid, header.dcidlen};
  if (Connection* connection = ids_.find(id); connection != nullptr) {
    connection->receive(datagram);
    received_.push_back(*connection);
    return;
  }
  if (source == Source::socket && is_predecessors(datagram, id)) return;
  if (filter_ != nullptr && source != Source::filter &&
      filter_->take(datagram, id, source == Source::handed_over)) {
    return;
  }
  const bool is_long = (datagram.bytes[0] & 0x80) != 0;
  if (is_long && header.version == 0) {  // Version Negotiation, which nobody answers (RFC 9000 6.1)
    counters::dropped_malformed.add();
    return;
  }
  if (is_long && header.version != NGTCP2_PROTO_VER_V1) {
    send_version_negotiation(datagram, {header.scid, header.scidlen}, id);
    return;
  }
  no_connection(datagram, id, source);
}

bool Endpoint::is_predecessors(const ReceivedDatagram& datagram, Bytes id) {
  return handler_.has_predecessor() && !options_.keys->owner_of(id, kServerId) &&
         handler_.ask_predecessor(datagram);
}

void Endpoint::no_connection(const ReceivedDatagram& datagram, Bytes id, Source source) {
  const bool is_long = (datagram.bytes[0] & 0x80) != 0;
  const std::optional<Owner> owner = options_.keys->owner_of(id, kServerId);
  if (owner && *owner != options_.self && source != Source::returned) {
    if (source == Source::handed_over) {
      counters::dropped_unknown.add();
      return;
    }
    if (handler_.hand_over(*owner, datagram)) {
      counters::handed_over.add();
      return;
    }
    // Its worker or its process is gone, and the connection with it.
  }
  if (is_long) {
    first_packet(datagram);
  } else if (owner) {
    send_stateless_reset(datagram, id);
  } else {
    counters::dropped_unknown.add();
  }
}

void Endpoint::first_packet(const ReceivedDatagram& datagram) {
  ngtcp2_pkt_hd header;
  if (ngtcp2_accept(&header, datagram.bytes.data(), datagram.bytes.size()) != 0 ||
      header.type != NGTCP2_PKT_INITIAL) {
    counters::dropped_unknown.add();
    return;
  }
  if (!accepting_) {
    send_refusal(header, datagram, NGTCP2_CONNECTION_REFUSED);
    return;
  }
  const auto verdict = handler_.admit(datagram.peer);
  if (verdict == EndpointHandler::Verdict::drop) {
    counters::dropped_admission.add();
    return;
  }
  Connection::Initial initial{.header = header, .datagram = datagram};
  switch (check_token(initial)) {
    case TokenVerdict::invalid: send_refusal(header, datagram, NGTCP2_INVALID_TOKEN); return;
    case TokenVerdict::none:
      if (verdict == EndpointHandler::Verdict::retry || wants_retry()) {
        send_retry(header, datagram);
        return;
      }
      break;
    case TokenVerdict::valid: break;
  }
  if (half_open_ >= kHalfOpenFactor * std::max<size_t>(options_.settings.retry_above, 16)) {
    counters::dropped_half_open.add();
    return;
  }
  make_connection(initial);
}

// Under load it goes on for a while after the crowd has gone: the datagrams of one hello have to be
// answered alike. After a Retry for the first, the second would begin a connection that never gets
// the rest of the hello.
bool Endpoint::wants_retry() {
  const Settings& settings = options_.settings;
  if (settings.retry != Settings::Retry::under_load) {
    return settings.retry == Settings::Retry::always;
  }
  if (half_open_ >= settings.retry_above) retry_until_ = loop_.now() + kRetryGoesOn;
  return loop_.now() < retry_until_;
}

void Endpoint::make_connection(const Connection::Initial& initial) {
  auto made = Connection::accept(*this, initial);
  if (!made) {
    counters::handshakes_failed.add();
    return;
  }
  Connection* connection = made->get();
  connections_.emplace(connection, std::move(*made));
  connection->receive(initial.datagram);
  const Bytes id{initial.header.dcid.data, initial.header.dcid.datalen};
  if (connection->lacks_start()) {
    connection->withdraw();
    connections_.erase(connection);
    early_.keep(id, initial.datagram, loop_.now());
    return;
  }
  received_.push_back(*connection);
  for (const EarlyInitials::Kept& early : early_.take(id, initial.datagram.peer, loop_.now())) {
    connection->receive(early.view());
  }
}

// ---- the end of a turn --------------------------------------------------------------------------

void Endpoint::mark_dirty(Connection& connection) {
  if (static_cast<ListNode<DirtyTag>&>(connection).linked()) return;
  dirty_.push_back(connection);
  loop_.defer(turn_end_);
}

void Endpoint::run_turn_end() {
  after_batch();
  IntrusiveList<Connection, DirtyTag> batch;
  batch.splice_back(dirty_);
  while (!batch.empty()) {
    if (sender_.blocked()) {  // it defers the end of a turn again when there is room
      sender_.room(1);
      break;
    }
    Connection& connection = batch.pop_front();
    connection.flush();
    const bool forgettable = connection.ended() && ended_ > kMaxEnded;
    if (connection.finished() || forgettable) connections_.erase(&connection);
  }
  dirty_.splice_back(batch);
}

void Endpoint::send(const ngtcp2_path& path, uint8_t ecn, size_t size, size_t segment) {
  counters::datagrams_sent.add((size + segment - 1) / segment);
  sender_.commit(size, segment, address_of(path.remote), address_of(path.local), ecn);
}

void Endpoint::send_copy(const net::Address& local, const net::Address& peer, Bytes packet) {
  const MutableBytes room = sender_.room(packet.size());
  if (room.empty()) return;  // lost, as on any full path
  counters::datagrams_sent.add();
  std::ranges::copy(packet, room.begin());
  sender_.commit(packet.size(), packet.size(), peer, local, 0);
}

bool Endpoint::can_send() { return !sender_.room(1).empty(); }

bool Endpoint::send_datagram(const net::Address& local, const net::Address& peer, Bytes packet,
                             uint8_t ecn) {
  const MutableBytes room = sender_.room(packet.size());
  if (room.empty()) return false;
  std::ranges::copy(packet, room.begin());
  sender_.commit(packet.size(), packet.size(), peer, local, ecn);
  return true;
}

}  // namespace pqedge::quic
