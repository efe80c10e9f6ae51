// The table of one worker's connection IDs: each datagram is one look-up here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "base/bytes.h"

namespace pqedge::quic {

// Open addressing with linear probing over IDs of 1 to 20 bytes. Clients choose the ID of their
// first packets, so the hash is keyed: nobody outside can aim at one bucket.
template <typename Value>
class ConnectionIdMap {
 public:
  static constexpr size_t kMaxIdSize = 20;  // RFC 9000 17.2

  ConnectionIdMap() : slots_(kInitialSlots) {
    std::random_device random;
    for (uint64_t& k : key_) k = uint64_t{random()} << 32 | random() | 1;
  }

  size_t size() const { return size_; }

  Value* find(Bytes id) const {
    if (id.empty() || id.size() > kMaxIdSize) return nullptr;
    for (size_t i = home(id);; i = next(i)) {
      const Slot& s = slots_[i];
      if (s.size == 0) return nullptr;
      if (matches(s, id)) return s.value;
    }
  }

  // False when the ID is known already (or has no valid length): nothing changes then.
  bool insert(Bytes id, Value* value) {
    if (id.empty() || id.size() > kMaxIdSize) return false;
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();
    size_t i = home(id);
    for (; slots_[i].size != 0; i = next(i)) {
      if (matches(slots_[i], id)) return false;
    }
    Slot& s = slots_[i];
    s.size = static_cast<uint8_t>(id.size());
    std::memcpy(s.id.data(), id.data(), id.size());
    s.value = value;
    ++size_;
    return true;
  }

  // Removes the ID if it belongs to `value`.
  void erase(Bytes id, const Value* value) {
    if (id.empty() || id.size() > kMaxIdSize) return;
    size_t i = home(id);
    for (;; i = next(i)) {
      if (slots_[i].size == 0) return;
      if (matches(slots_[i], id)) break;
    }
    if (slots_[i].value != value) return;
    // Moves back what probed past the hole, so that no tombstones are needed.
    for (size_t j = next(i); slots_[j].size != 0; j = next(j)) {
      const size_t h = home({slots_[j].id.data(), slots_[j].size});
      if (((j - h) & mask()) < ((j - i) & mask())) continue;
      slots_[i] = slots_[j];
      i = j;
    }
    slots_[i] = Slot{};
    --size_;
  }

 private:
  struct Slot {
    Value* value = nullptr;
    std::array<uint8_t, kMaxIdSize> id{};
    uint8_t size = 0;  // 0: free
  };
  static constexpr size_t kInitialSlots = 256;

  size_t mask() const { return slots_.size() - 1; }
  size_t next(size_t i) const { return (i + 1) & mask(); }
  static bool matches(const Slot& s, Bytes id) {
    return s.size == id.size() && std::memcmp(s.id.data(), id.data(), id.size()) == 0;
  }
  static uint64_t fold(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  size_t home(Bytes id) const {
    uint64_t w[3] = {};
    std::memcpy(w, id.data(), id.size());
    const uint64_t h = fold(w[0] ^ key_[0], w[1] ^ key_[1]) ^ fold(w[2] ^ key_[2], key_[3]);
    return static_cast<size_t>(fold(h ^ id.size(), key_[3])) & mask();
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& s : old) {
      if (s.size == 0) continue;
      size_t i = home({s.id.data(), s.size});
      while (slots_[i].size != 0) i = next(i);
      slots_[i] = s;
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
  uint64_t key_[4];
};

}  // namespace pqedge::quic
