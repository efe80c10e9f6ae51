#include "http/fields.h"

#include <cstring>

#include "base/text.h"

namespace pqedge::http {
namespace {

constexpr uint32_t kFirstCapacity = 16;

}  // namespace

void Fields::grow() {
  const uint32_t larger = capacity_ == 0 ? kFirstCapacity : capacity_ * 2;
  auto* items = arena_->make_array<Field>(larger);
  if (size_ != 0) std::memcpy(static_cast<void*>(items), items_, size_ * sizeof(Field));
  items_ = items;
  capacity_ = larger;
}

Field* Fields::find(Name id) {
  for (size_t i = 0; i < size_; ++i) {
    if (items_[i].id == id && !items_[i].removed) return &items_[i];
  }
  return nullptr;
}

Field* Fields::find(std::string_view name) {
  const Name id = known_name(name);
  if (id != Name::other) return find(id);
  for (size_t i = 0; i < size_; ++i) {
    Field& f = items_[i];
    if (f.id == Name::other && !f.removed && iequals(f.name, name)) return &f;
  }
  return nullptr;
}

size_t Fields::count(Name id) const {
  size_t n = 0;
  for_each([&](const Field& f) { n += f.id == id; });
  return n;
}

void Fields::remove(Name id) {
  for (size_t i = 0; i < size_; ++i) items_[i].removed |= items_[i].id == id;
}

void Fields::remove(std::string_view name) {
  const Name id = known_name(name);
  if (id != Name::other) return remove(id);
  for_each_mutable([&](Field& f) { f.removed = f.id == Name::other && iequals(f.name, name); });
}

std::string_view Fields::joined(Name id) const {
  constexpr std::string_view kSeparator = ", ";
  const Field* first = find(id);
  if (first == nullptr) return {};
  size_t size = 0;
  size_t fields = 0;
  for_each([&](const Field& f) {
    if (f.id != id) return;
    size += f.value.size();
    ++fields;
  });
  if (fields == 1) return first->value;
  size += (fields - 1) * kSeparator.size();
  char* const text = static_cast<char*>(arena_->allocate(size));
  char* p = text;
  for_each([&](const Field& f) {
    if (f.id != id) return;
    if (p != text) {
      std::memcpy(p, kSeparator.data(), kSeparator.size());
      p += kSeparator.size();
    }
    if (!f.value.empty()) std::memcpy(p, f.value.data(), f.value.size());
    p += f.value.size();
  });
  return {text, size};
}

bool Fields::empty() const {
  for (const Field& f : raw()) {
    if (!f.removed) return false;
  }
  return true;
}

size_t Fields::size() const {
  size_t n = 0;
  for_each([&](const Field&) { ++n; });
  return n;
}

}  // namespace pqedge::http
