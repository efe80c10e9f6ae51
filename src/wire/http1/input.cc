#include "wire/http1/input.h"

#include <cstring>

namespace pqedge::http1 {
namespace {

// With less room than this behind what is pending, a read is better made elsewhere.
constexpr size_t kLeastRoom = 4096;

}  // namespace

MutableBytes Input::space() {
  if (!chunk_) {
    chunk_ = ChunkRef::make();
    begin_ = end_ = 0;
  } else if (empty() && !chunk_->shared()) {
    begin_ = end_ = 0;
  } else if (Chunk::kCapacity - end_ < kLeastRoom) {
    if (!long_head_.empty()) {  // all of it is kept there
      begin_ = end_ = 0;
    } else if (begin_ > 0) {
      move_to_front();
    } else if (end_ == Chunk::kCapacity) {
      long_head_ = as_text(pending());
      begin_ = end_ = 0;
    }
  }
  return {data() + end_, Chunk::kCapacity - end_};
}

void Input::move_to_front() {
  const size_t n = end_ - begin_;
  if (chunk_->shared()) {
    ChunkRef fresh = ChunkRef::make();
    std::memcpy(fresh->data(), data() + begin_, n);
    chunk_ = std::move(fresh);
  } else {
    std::memmove(data(), data() + begin_, n);
  }
  begin_ = 0;
  end_ = static_cast<uint32_t>(n);
}

void Input::filled(size_t n) {
  if (!long_head_.empty()) long_head_.append(reinterpret_cast<const char*>(data() + end_), n);
  end_ += static_cast<uint32_t>(n);
}

void Input::consume_head(size_t n) {
  if (long_head_.empty()) {
    consume(n);
    return;
  }
  // The end was found among the bytes read last, and those are pending.
  begin_ = end_ - static_cast<uint32_t>(long_head_.size() - n);
  consumed_ += n;
  std::string().swap(long_head_);
}

void Input::clear() {
  consumed_ += long_head_.empty() ? end_ - begin_ : long_head_.size();
  chunk_ = {};
  begin_ = end_ = 0;
  std::string().swap(long_head_);
}

}  // namespace pqedge::http1
