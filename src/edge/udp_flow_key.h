// What tells the flows of clients apart: both addresses, and the connection IDs seen in clear.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <random>

#include "base/bytes.h"
#include "net/address.h"

namespace pqedge::edge {

// Clients choose their ports and connection IDs: the hash is keyed, so that nobody can aim at one
// bucket.
class KeyedHash {
 public:
  KeyedHash() {
    std::random_device random;
    for (uint64_t& k : key_) k = uint64_t{random()} << 32 | random() | 1;
  }
  uint64_t operator()(Bytes bytes) const {
    uint64_t h = key_[0] ^ bytes.size();
    while (!bytes.empty()) {
      uint64_t word = 0;
      const size_t n = bytes.size() < 8 ? bytes.size() : 8;
      std::memcpy(&word, bytes.data(), n);
      h = fold(h ^ word, key_[1]);
      bytes = bytes.subspan(n);
    }
    return fold(h ^ key_[2], key_[3]);
  }

 private:
  static uint64_t fold(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  uint64_t key_[4];
};

// A client's address and the local one it sent to. The local port is the listener's.
struct PathKey {
  PathKey() = default;
  PathKey(const net::Address& peer, const net::Address& local) {
    std::memcpy(bytes.data(), peer.ip16().data(), 16);
    store_be16(bytes.data() + 16, peer.port());
    std::memcpy(bytes.data() + 18, local.ip16().data(), 16);
  }
  std::array<uint8_t, 34> bytes{};
  friend bool operator==(const PathKey&, const PathKey&) = default;
};

struct PathHash {
  size_t operator()(const PathKey& k) const { return keyed(k.bytes); }
  KeyedHash keyed;
};

// A connection ID as it stands in a packet.
struct PlainId {
  PlainId() = default;
  explicit PlainId(Bytes id) : size(static_cast<uint8_t>(id.size() < 20 ? id.size() : 20)) {
    if (size != 0) std::memcpy(data.data(), id.data(), size);
  }
  Bytes view() const { return {data.data(), size}; }
  bool is(Bytes id) const {
    return id.size() == size && (size == 0 || std::memcmp(id.data(), data.data(), size) == 0);
  }
  // Whether `bytes` begin with the ID.
  bool begins(Bytes bytes) const {
    return bytes.size() >= size && (size == 0 || std::memcmp(bytes.data(), data.data(), size) == 0);
  }
  std::array<uint8_t, 20> data{};
  uint8_t size = 0;
};

// The last few IDs of one end. A handshake shows two or three: with a Retry, and after it.
class RecentIds {
 public:
  void add(Bytes id) {
    if (contains(id)) return;
    ids_[next_ % ids_.size()] = PlainId(id);
    ++next_;
  }
  bool contains(Bytes id) const {
    for (size_t i = 0; i < count(); ++i) {
      if (ids_[i].is(id)) return true;
    }
    return false;
  }
  // Whether one of them stands at the front of `bytes`.
  bool any_begins(Bytes bytes) const {
    for (size_t i = 0; i < count(); ++i) {
      if (ids_[i].begins(bytes)) return true;
    }
    return false;
  }

 private:
  size_t count() const { return next_ < ids_.size() ? next_ : ids_.size(); }
  std::array<PlainId, 4> ids_;
  size_t next_ = 0;
};

}  // namespace pqedge::edge
