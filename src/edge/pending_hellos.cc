#include "edge/pending_hellos.h"

namespace pqedge::edge {
namespace {

std::string key_of(const PathKey& path, Bytes id) {
  std::string key(as_text(path.bytes));
  key += as_text(id);
  return key;
}

}  // namespace

PendingHello* PendingHellos::find(const PathKey& path, Bytes id) {
  if (by_key_.empty()) return nullptr;
  const auto it = by_key_.find(key_of(path, id));
  return it == by_key_.end() ? nullptr : it->second.get();
}

PendingHello& PendingHellos::make(const PathKey& path, Bytes id, Nanos now) {
  if (by_key_.size() >= kMaxHellos) drop_oldest();
  auto made = std::make_unique<PendingHello>();
  PendingHello& hello = *made;
  hello.key_ = key_of(path, id);
  hello.deadline = now + lifetime_;
  oldest_first_.push_back(hello);
  by_key_.emplace(hello.key_, std::move(made));
  return hello;
}

bool PendingHellos::keep(PendingHello& hello, const quic::ReceivedDatagram& datagram,
                         bool initial) {
  if (hello.initials.size() + hello.others.size() >= kMaxDatagrams) return false;
  const size_t size = datagram.bytes.size();
  while (bytes_ + size > kMaxBytes && &oldest_first_.front() != &hello) drop_oldest();
  if (bytes_ + size > kMaxBytes) return false;
  (initial ? hello.initials : hello.others).emplace_back(datagram);
  hello.bytes += size;
  bytes_ += size;
  return true;
}

std::unique_ptr<PendingHello> PendingHellos::take(PendingHello& hello) {
  bytes_ -= hello.bytes;
  hello.unlink();
  auto node = by_key_.extract(hello.key_);
  return std::move(node.mapped());
}

void PendingHellos::drop_oldest() {
  if (oldest_first_.empty()) return;
  ++evicted_;
  take(oldest_first_.front());
}

size_t PendingHellos::expire(Nanos now) {
  size_t count = 0;
  for (; !oldest_first_.empty() && oldest_first_.front().deadline <= now; ++count) {
    take(oldest_first_.front());
  }
  return count;
}

Nanos PendingHellos::next_deadline() {
  return oldest_first_.empty() ? kNever : oldest_first_.front().deadline;
}

void PendingHellos::clear() {
  while (!oldest_first_.empty()) take(oldest_first_.front());
}

}  // namespace pqedge::edge
