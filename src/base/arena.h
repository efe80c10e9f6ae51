// A bump allocator for what lives as long as one exchange: heads and decisions, never body bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pqedge {

// The first block is inside the object, so a usual request allocates nothing. Later blocks come
// from the heap and are freed by reset(). Destructors of what is made here are not run.
// Not thread safe. Memory handed out is aligned to 8 bytes.
class Arena {
 public:
  static constexpr size_t kFirstBlock = 4096;

  Arena() = default;
  ~Arena() { reset(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* allocate(size_t size) {
    size = (size + 7) & ~size_t{7};
    if (size <= static_cast<size_t>(end_ - at_)) [[likely]] {
      void* p = at_;
      at_ += size;
      return p;
    }
    return allocate_slow(size);
  }

  template <typename T, typename... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>, "destructors are not run");
    return new (allocate(sizeof(T))) T(std::forward<Args>(args)...);
  }

  template <typename T>
  T* make_array(size_t n) {
    static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);
    return static_cast<T*>(allocate(n * sizeof(T)));
  }

  std::string_view copy(std::string_view s) {
    if (s.empty()) return {};
    char* p = static_cast<char*>(allocate(s.size()));
    std::memcpy(p, s.data(), s.size());
    return {p, s.size()};
  }

  // Joins the parts into one string in the arena.
  template <typename... Parts>
  std::string_view concat(Parts... parts) {
    const std::string_view views[] = {std::string_view(parts)...};
    size_t n = 0;
    for (auto v : views) n += v.size();
    if (n == 0) return {};
    char* p = static_cast<char*>(allocate(n));
    char* w = p;
    for (auto v : views) {
      if (!v.empty()) std::memcpy(w, v.data(), v.size());
      w += v.size();
    }
    return {p, n};
  }

  // Frees every later block and starts the first again. All that was handed out is invalid.
  void reset();

  // Bytes taken from the heap beyond the first block.
  size_t heap_bytes() const { return heap_bytes_; }

 private:
  struct Block {
    Block* next;
    size_t size;
  };
  void* allocate_slow(size_t size);

  uint8_t* at_ = first_;
  uint8_t* end_ = first_ + kFirstBlock;
  Block* blocks_ = nullptr;
  size_t heap_bytes_ = 0;
  alignas(16) uint8_t first_[kFirstBlock];
};

}  // namespace pqedge
