#include "edge/handover.h"

#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "edge/handover_message.h"
#include "net/fd_message.h"

namespace pqedge::edge {
namespace handover {
namespace {

constexpr uint16_t kFormat = 1;
// The old process may be busy with a reload.
constexpr Nanos kVerdictTimeout = 60 * kSecond;

Result<void> send_keys(int channel, const Handover& h) {
  Writer secret(kQuicSecret);
  secret.raw(h.quic_secret);
  if (auto ok = secret.send(channel); !ok) return ok;
  for (const crypto::TicketKey& key : h.ticket_keys) {
    Writer w(kTicketKey);
    w.raw(key.name);
    w.raw(key.key);
    w.raw(key.mac);
    w.raw(key.seed);
    w.number(key.created, 8);
    if (auto ok = w.send(channel); !ok) return ok;
  }
  return {};
}

Result<void> send_sockets(int channel, const Handover& h) {
  for (const PassedSocket& s : h.sockets) {
    Writer w(kSocket);
    w.number(static_cast<uint8_t>(s.use), 1);
    w.number(s.worker, 2);
    w.text(s.address.to_string());
    const int fd = s.fd.get();
    if (auto ok = w.send(channel, {&fd, 1}); !ok) return ok;
  }
  for (const net::InheritedSocket& s : h.inherited) {
    Writer w(kInherited);
    w.number(s.udp ? 1 : 0, 1);
    w.text(s.address.to_string());
    w.text(s.name);
    const int fd = s.fd.get();
    if (auto ok = w.send(channel, {&fd, 1}); !ok) return ok;
  }
  for (size_t i = 0; i < h.links.size(); i += net::kMaxMessageDescriptors) {
    std::vector<int> some;
    const size_t end = std::min(h.links.size(), i + net::kMaxMessageDescriptors);
    for (size_t at = i; at < end; ++at) some.push_back(h.links[at].get());
    if (auto ok = Writer(kLinks).send(channel, some); !ok) return ok;
  }
  return {};
}

void take_ticket_key(Reader& r, Handover& h) {
  crypto::TicketKey key;
  r.raw(key.name);
  r.raw(key.key);
  r.raw(key.mac);
  r.raw(key.seed);
  key.created = r.number(8);
  if (r.ok() && h.ticket_keys.size() < h.ticket_keys.capacity()) h.ticket_keys.push_back(key);
  crypto::forget(key);
}

Result<void> take_socket(Reader& r, net::Message& message, Handover& h) {
  PassedSocket s;
  s.use = static_cast<PassedSocket::Use>(r.number(1));
  s.worker = static_cast<uint16_t>(r.number(2));
  const auto address = net::Address::parse(r.text());
  if (!r.ok() || !address || message.descriptors.size() != 1) return fail("a socket is damaged");
  s.address = *address;
  s.fd = std::move(message.descriptors[0]);
  h.sockets.push_back(std::move(s));
  return {};
}

Result<void> take_inherited(Reader& r, net::Message& message, Handover& h) {
  net::InheritedSocket s;
  s.udp = r.number(1) != 0;
  const auto address = net::Address::parse(r.text());
  s.name = r.text();
  if (!r.ok() || !address || message.descriptors.size() != 1) return fail("a socket is damaged");
  s.address = *address;
  s.fd = std::move(message.descriptors[0]);
  h.inherited.push_back(std::move(s));
  return {};
}

Result<void> take_begin(Reader& r, Handover& h) {
  const uint64_t format = r.number(2);
  h.process = static_cast<pid_t>(r.number(4));
  h.generation = static_cast<uint16_t>(r.number(2));
  h.workers = static_cast<uint16_t>(r.number(2));
  if (!r.ok() || h.workers == 0) return fail("its first message is damaged");
  if (format != kFormat) {
    return fail("it speaks format {} of the hand-over, this program {}: restart instead", format,
                kFormat);
  }
  return {};
}

Result<void> take_item(uint8_t kind, Reader& r, net::Message& message, Handover& h) {
  switch (kind) {
    case kBegin: return take_begin(r, h);
    case kWorkersAsked: h.workers_asked = static_cast<uint32_t>(r.number(4)); return {};
    case kQuicSecret: r.raw(h.quic_secret); return {};
    case kTicketKey: take_ticket_key(r, h); return {};
    case kSocket: return take_socket(r, message, h);
    case kInherited: return take_inherited(r, message, h);
    case kLinks: std::ranges::move(message.descriptors, std::back_inserter(h.links)); return {};
    case kPool: take_pool(r, h.state); return {};
    case kAddedServer: return take_added(r, h.state);
    case kChangedServer: return take_changed(r, h.state);
    case kStanding: return take_standing(r, h.state);
    case kCanary: take_canary(r, h.state); return {};
    case kTies: return take_ties(r, h.state);
    default:
      if ((kind & kMustKnow) == 0) return {};
      return fail("its message of kind {} is not known to this program: restart instead", kind);
  }
}

}  // namespace
}  // namespace handover

Handover::~Handover() {
  OPENSSL_cleanse(quic_secret.data(), quic_secret.size());
  for (crypto::TicketKey& key : ticket_keys) crypto::forget(key);
}

Result<void> send_handover(int channel, const Handover& h) {
  using namespace handover;
  Writer begin(kBegin);
  begin.number(kFormat, 2);
  begin.number(static_cast<uint32_t>(h.process), 4);
  begin.number(h.generation, 2);
  begin.number(h.workers, 2);
  if (auto ok = begin.send(channel); !ok) return ok;
  Writer asked(kWorkersAsked);
  asked.number(h.workers_asked, 4);
  if (auto ok = asked.send(channel); !ok) return ok;
  if (auto ok = send_keys(channel, h); !ok) return ok;
  if (auto ok = send_sockets(channel, h); !ok) return ok;
  if (auto ok = send_state(channel, h.state); !ok) return ok;
  return Writer(kEnd).send(channel);
}

Result<Handover> receive_handover(int channel) {
  using namespace handover;
  constexpr size_t kMostKeys = 64;
  Handover h;
  h.ticket_keys.reserve(kMostKeys);  // never moved: no copies left in memory
  bool begun = false;
  while (true) {
    auto message = net::receive_message(channel, kHandoverTimeout);
    if (!message) return std::unexpected(message.error());
    if (message->bytes.empty()) return fail("the process to take over from has ended");
    const uint8_t kind = message->bytes[0];
    if (kind == kEnd) break;
    Reader reader(Bytes(message->bytes).subspan(1));
    Result<void> taken = begun || kind == kBegin ? take_item(kind, reader, *message, h)
                                                 : fail("its first message is damaged");
    OPENSSL_cleanse(message->bytes.data(), message->bytes.size());
    if (taken && !reader.ok()) taken = fail("a message is damaged");
    if (!taken) return fail("cannot take over from the running process: {}", taken.error().message);
    begun = true;
  }
  if (!begun || h.links.size() != h.workers) {
    return fail("cannot take over from the running process: what it gave is not whole");
  }
  return h;
}

Result<void> send_ready(int channel, const std::vector<std::string>& udp) {
  using namespace handover;
  Writer w(kReady);
  w.number(udp.size(), 2);
  for (const std::string& address : udp) w.text(address);
  return w.send(channel);
}

Result<std::vector<std::string>> receive_ready(int channel) {
  using namespace handover;
  const auto message = net::receive_message(channel, kHandoverTimeout);
  if (!message) return std::unexpected(message.error());
  if (message->bytes.empty()) return fail("it has ended");
  Reader r(Bytes(message->bytes).subspan(1));
  if (message->bytes[0] == kFailure) return fail("{}", r.text());
  if (message->bytes[0] != kReady) return fail("what it says is not understood");
  std::vector<std::string> udp;
  for (uint64_t n = r.number(2); n > 0 && r.ok(); --n) udp.push_back(r.text());
  if (!r.ok()) return fail("what it says is damaged");
  return udp;
}

void send_failure(int channel, std::string_view why) {
  using namespace handover;
  Writer w(kFailure);
  w.text(why.substr(0, 4096));
  // Where it cannot be told, the end of this process tells enough.
  [[maybe_unused]] const auto sent = w.send(channel);
}

Result<void> send_verdict(int channel, bool go) {
  using namespace handover;
  Writer w(kVerdict);
  w.number(go ? 1 : 0, 1);
  return w.send(channel);
}

Result<bool> receive_verdict(int channel) {
  using namespace handover;
  const auto message = net::receive_message(channel, kVerdictTimeout);
  if (!message) return std::unexpected(message.error());
  if (message->bytes.empty()) return true;
  Reader r(Bytes(message->bytes).subspan(1));
  const bool go = r.number(1) != 0;
  if (message->bytes[0] != kVerdict || !r.ok()) return fail("the other process is not understood");
  return go;
}

}  // namespace pqedge::edge
