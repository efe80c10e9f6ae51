// The fields of a head or a trailer section, in the order they came.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/arena.h"
#include "http/names.h"

namespace pqedge::http {

// Name and value are views into the exchange's arena (or static). The name keeps the case it came
// in (HTTP/1.1 peers may care); comparisons go by `id`, or without case for `other`.
struct Field {
  std::string_view name;
  std::string_view value;
  Name id = Name::other;
  bool removed = false;
  bool sensitive = false;  // never to be indexed by HPACK or QPACK (RFC 7541 7.1.3)
};

class Fields {
 public:
  explicit Fields(Arena& arena) : arena_(&arena) {}

  // The views must live as long as the arena: use copy() for others.
  // Named in canonical case, for HTTP/1.1; HTTP/2 and 3 write lower_name(id).
  void add(Name id, std::string_view value) { push({canonical_name(id), value, id}); }
  void add(std::string_view name, std::string_view value) { push({name, value, known_name(name)}); }
  void push(Field f) {
    if (size_ == capacity_) grow();
    items_[size_++] = f;
  }

  // The first field of that name, or null. Values that came in several fields stay apart.
  Field* find(Name id);
  const Field* find(Name id) const { return const_cast<Fields*>(this)->find(id); }
  Field* find(std::string_view name);
  std::string_view get(Name id) const {
    const Field* f = find(id);
    return f == nullptr ? std::string_view{} : f->value;
  }
  bool has(Name id) const { return find(id) != nullptr; }
  size_t count(Name id) const;
  void remove(Name id);
  void remove(std::string_view name);
  void set(Name id, std::string_view value) {
    remove(id);
    add(id, value);
  }
  // All values of that name joined by ", " in the arena (RFC 9110 5.3); no copy for one.
  std::string_view joined(Name id) const;

  void clear() { size_ = 0; }
  Arena& arena() const { return *arena_; }

  // Iteration skips removed fields.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (size_t i = 0; i < size_; ++i) {
      if (!items_[i].removed) visit(items_[i]);
    }
  }
  template <typename Visit>
  void for_each_mutable(Visit&& visit) {
    for (size_t i = 0; i < size_; ++i) {
      if (!items_[i].removed) visit(items_[i]);
    }
  }
  // All entries, the removed ones included.
  std::span<const Field> raw() const { return {items_, size_}; }
  bool empty() const;
  size_t size() const;  // without the removed

 private:
  void grow();
  Arena* arena_;
  Field* items_ = nullptr;
  uint32_t size_ = 0;
  uint32_t capacity_ = 0;
};

}  // namespace pqedge::http
