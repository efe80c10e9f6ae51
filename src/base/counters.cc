#include "base/counters.h"

#include <algorithm>
#include <format>
#include <map>
#include <memory>
#include <mutex>

namespace pqedge::counters {
namespace {

constexpr size_t kBlock = 256;  // slots a block; blocks are made as indices are used

struct Block {
  std::array<std::atomic<uint64_t>, kBlock> slots{};
};

// One thread's slots. Only its thread writes; any thread may read a slot or a block pointer.
struct Shard {
  std::array<std::atomic<Block*>, Counter::kMaxSeries / kBlock> blocks{};
  ~Shard() {
    for (auto& b : blocks) delete b.load(std::memory_order_relaxed);
  }
};

struct Entry {
  std::string name;
  std::string help;
  Labels labels;
  Kind kind;
};

std::string key_of(std::string_view name, const Labels& labels) {
  std::string key(name);
  for (const Label& l : labels) {
    key += '\0';
    key += l.name;
    key += '\0';
    key += l.value;
  }
  return key;
}

class Registry {
 public:
  static Registry& get() {
    static auto* registry = new Registry;  // outlives every thread
    return *registry;
  }

  uint32_t add(std::string_view name, std::string_view help, Labels labels, Kind kind) {
    const std::lock_guard lock(mutex_);
    std::string key = key_of(name, labels);
    if (const auto it = index_.find(key); it != index_.end()) return it->second;
    // Index 0 takes what nobody reads, index 1 what is past the cap.
    if (entries_.size() >= Counter::kMaxSeries) return 1;
    const auto index = static_cast<uint32_t>(entries_.size());
    entries_.push_back({std::string(name), std::string(help), std::move(labels), kind});
    index_.emplace(std::move(key), index);
    return index;
  }

  Shard* new_shard() {
    const std::lock_guard lock(mutex_);
    shards_.push_back(std::make_unique<Shard>());
    return shards_.back().get();
  }

  // Keeps the ended thread's counts.
  void retire(Shard* shard) {
    const std::lock_guard lock(mutex_);
    for (uint32_t i = 0; i < entries_.size(); ++i) retired_[i] += slot_value(*shard, i);
    std::erase_if(shards_, [&](const auto& s) { return s.get() == shard; });
  }

  uint64_t value(uint32_t index) {
    const std::lock_guard lock(mutex_);
    return value_locked(index);
  }

  void for_each(const std::function<void(const Series&)>& take) {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, index] : index_) {
      const Entry& e = entries_[index];
      take({e.name, e.help, &e.labels, e.kind, value_locked(index)});
    }
  }

 private:
  Registry() : retired_(Counter::kMaxSeries) {
    entries_.push_back({"", "", {}, Kind::counter});
    entries_.push_back(
        {"pqedge_series_other", "Counts of series beyond the limit.", {}, Kind::counter});
    index_.emplace(key_of("pqedge_series_other", {}), 1);
  }

  static uint64_t slot_value(const Shard& shard, uint32_t index) {
    const Block* b = shard.blocks[index / kBlock].load(std::memory_order_acquire);
    return b == nullptr ? 0 : b->slots[index % kBlock].load(std::memory_order_relaxed);
  }

  uint64_t value_locked(uint32_t index) {
    uint64_t sum = retired_[index];
    for (const auto& s : shards_) sum += slot_value(*s, index);
    return sum;
  }

  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::map<std::string, uint32_t> index_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<uint64_t> retired_;
};

struct ThreadShard {
  Shard* shard = Registry::get().new_shard();
  ~ThreadShard() { Registry::get().retire(shard); }
};

Shard& local_shard() {
  thread_local ThreadShard local;
  return *local.shard;
}

}  // namespace

Counter::Counter(std::string_view name, std::string_view help, Labels labels, Kind kind)
    : index_(Registry::get().add(name, help, std::move(labels), kind)) {}

void Counter::add(uint64_t n) const {
  std::atomic<Block*>& place = local_shard().blocks[index_ / kBlock];
  Block* b = place.load(std::memory_order_relaxed);
  if (b == nullptr) [[unlikely]] {
    b = new Block;
    place.store(b, std::memory_order_release);
  }
  auto& slot = b->slots[index_ % kBlock];
  slot.store(slot.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

uint64_t Counter::value() const { return Registry::get().value(index_); }

Histogram::Histogram(std::string_view name, std::string_view help, const Labels& labels) {
  const std::string bucket_name = std::string(name) + "_bucket";
  for (size_t i = 0; i < buckets_.size(); ++i) {
    Labels with_bound = labels;
    const std::string bound =
        i < kBoundsMicros.size()
            ? std::format("{:.6g}", static_cast<double>(kBoundsMicros[i]) / 1e6)
            : "+Inf";
    with_bound.push_back({"le", bound});
    buckets_[i] = Counter(bucket_name, help, std::move(with_bound));
  }
  sum_micros_ = Counter(std::string(name) + "_sum_micros", help, labels);
}

void Histogram::observe_micros(uint64_t micros) const {
  size_t i = 0;
  while (i < kBoundsMicros.size() && micros > kBoundsMicros[i]) ++i;
  buckets_[i].add();
  sum_micros_.add(micros);
}

SizeHistogram::SizeHistogram(std::string_view name, std::string_view help, const Labels& labels) {
  const std::string bucket_name = std::string(name) + "_bucket";
  for (size_t i = 0; i < buckets_.size(); ++i) {
    Labels with_bound = labels;
    with_bound.push_back({"le", i < kBounds.size() ? std::to_string(kBounds[i]) : "+Inf"});
    buckets_[i] = Counter(bucket_name, help, std::move(with_bound));
  }
  sum_ = Counter(std::string(name) + "_sum_bytes", help, labels);
}

void SizeHistogram::observe(uint64_t bytes) const {
  size_t i = 0;
  while (i < kBounds.size() && bytes > kBounds[i]) ++i;
  buckets_[i].add();
  sum_.add(bytes);
}

void for_each(const std::function<void(const Series&)>& take) { Registry::get().for_each(take); }

}  // namespace pqedge::counters
