#include "wire/quic/crypto_pieces.h"

#include <algorithm>

namespace pqedge::quic {

CryptoPieces::Added CryptoPieces::add(uint64_t offset, Bytes bytes) {
  if (offset > most_ || bytes.size() > most_ - offset) return Added::beyond;
  if (bytes.empty()) return Added::ok;
  Range fresh{static_cast<size_t>(offset), static_cast<size_t>(offset) + bytes.size()};
  // The ranges that the new one touches: they become one.
  const auto first = std::ranges::lower_bound(ranges_, fresh.begin, {}, &Range::end);
  auto last = first;
  for (; last != ranges_.end() && last->begin <= fresh.end; ++last) {
    const size_t from = std::max(last->begin, fresh.begin);
    const size_t to = std::min(last->end, fresh.end);
    if (from < to && !std::equal(bytes_.data() + from, bytes_.data() + to,
                                 bytes.data() + (from - fresh.begin))) {
      return Added::conflict;
    }
  }
  if (first == last && ranges_.size() == kMaxRanges) return Added::scattered;
  if (bytes_.size() < fresh.end) bytes_.resize(fresh.end);
  std::ranges::copy(bytes, bytes_.data() + fresh.begin);
  if (first == last) {
    ranges_.insert(first, fresh);
    return Added::ok;
  }
  first->begin = std::min(first->begin, fresh.begin);
  first->end = std::max((last - 1)->end, fresh.end);
  ranges_.erase(first + 1, last);
  return Added::ok;
}

Bytes CryptoPieces::front() const {
  if (ranges_.empty() || ranges_.front().begin != 0) return {};
  return Bytes(bytes_).first(ranges_.front().end);
}

}  // namespace pqedge::quic
