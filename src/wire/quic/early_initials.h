// Initial packets with a later part of a hello that came before its start. ngtcp2 would have the
// client validated before it keeps such data, or drops them; we keep a few, for a moment, since the
// start is likely right behind them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "net/address.h"
#include "wire/quic/keys.h"

namespace pqedge::quic {

class EarlyInitials {
 public:
  static constexpr size_t kMost = 64;  // datagrams of an endpoint; the oldest goes first
  static constexpr size_t kMostBytes = 2048;
  static constexpr Nanos kLifetime = 2 * kSecond;

  struct Kept {
    std::string id;
    std::string bytes;
    net::Address peer;
    net::Address local;
    uint8_t ecn;
    Nanos until;
    ReceivedDatagram view() const { return {as_bytes(bytes), peer, local, ecn}; }
  };

  // `id`: the ID that the client chose for us.
  void keep(Bytes id, const ReceivedDatagram& d, Nanos now) {
    if (d.bytes.size() > kMostBytes) return;
    if (kept_.size() == kMost) kept_.pop_front();
    kept_.push_back({std::string(as_text(id)), std::string(as_text(d.bytes)), d.peer, d.local,
                     d.ecn, now + kLifetime});
  }

  // Those of the connection that has begun now, in the order they came.
  std::vector<Kept> take(Bytes id, const net::Address& peer, Nanos now) {
    std::vector<Kept> taken;
    if (kept_.empty()) return taken;
    std::erase_if(kept_, [&](Kept& k) {
      const bool mine = k.id == as_text(id) && k.peer == peer;
      if (mine && now < k.until) taken.push_back(std::move(k));
      return mine || now >= k.until;
    });
    return taken;
  }

 private:
  std::deque<Kept> kept_;
};

}  // namespace pqedge::quic
