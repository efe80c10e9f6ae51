#include "measure/link/link.h"

#include <algorithm>

namespace pqedge::measure::link {

namespace {

// SplitMix64's finaliser (Steele, Lea and Flood, 2014): neighbouring inputs become unrelated.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

Nanos share_of(Nanos most, double share) {
  return static_cast<Nanos>(static_cast<double>(most) * share);
}

}  // namespace

Link::Link(const Direction& settings, uint64_t seed, uint64_t direction)
    : settings_(settings), seed_(mix(mix(seed) ^ direction)), watcher_(settings) {}

double Link::draw(uint64_t packet, Chance what) const {
  const uint64_t bits = mix(mix(seed_ ^ packet) ^ static_cast<uint64_t>(what));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

void Link::offer(Bytes packet, Nanos now) {
  ++counters_.offered;
  HelloWatcher::Verdict verdict = watcher_.judge(packet);
  if (verdict.dropped) ++counters_.middlebox_dropped;
  for (Packet& answer : verdict.answers) answers_.push_back(std::move(answer));
  for (HelloWatcher::Piece& piece : verdict.pass) pass_mtu(std::move(piece), now);
}

void Link::pass_mtu(HelloWatcher::Piece piece, Nanos now) {
  const auto ip = parse_ipv4(piece.packet);
  if (ip && ip->fragment() && !settings_.fragments) {
    ++counters_.fragments_dropped;
    return;
  }
  if (piece.packet.size() <= settings_.mtu) return transmit(std::move(piece), now);
  if (!ip || ip->dont_fragment) {
    ++counters_.too_big;
    if (ip && settings_.too_big_messages) {
      answers_.push_back(too_big_message(piece.packet, settings_.mtu));
    }
    return;
  }
  ++counters_.fragmented;
  for (Packet& part : fragment(piece.packet, settings_.mtu)) {
    if (settings_.fragments) {
      transmit({std::move(part), piece.wait}, now);
    } else {
      ++counters_.fragments_dropped;
    }
  }
}

void Link::transmit(HelloWatcher::Piece piece, Nanos now) {
  const uint64_t number = number_++;
  if (draw(number, Chance::kLoss) < settings_.loss) {
    ++counters_.lost;
    return;
  }
  Nanos sent = now;
  if (settings_.rate != 0) {
    const auto bytes_a_nano = static_cast<double>(settings_.rate) / 8e9;
    free_at_ = std::max(free_at_, now);
    const double waiting = static_cast<double>(free_at_ - now) * bytes_a_nano;
    if (waiting + static_cast<double>(piece.packet.size()) > static_cast<double>(settings_.queue)) {
      ++counters_.overflowed;
      return;
    }
    free_at_ += static_cast<Nanos>(static_cast<double>(piece.packet.size()) / bytes_a_nano);
    sent = free_at_;
  }
  Nanos due = sent + settings_.delay + share_of(settings_.jitter, draw(number, Chance::kJitter));
  if (draw(number, Chance::kReorder) < settings_.reorder) {
    due += settings_.reorder_by;
    ++counters_.reordered;
  } else if (piece.wait == 0) {
    due = latest_due_ = std::max(due, latest_due_);
  }
  due += piece.wait;
  if (draw(number, Chance::kDuplicate) < settings_.duplicate) {
    ++counters_.duplicated;
    queue_.emplace(due, piece.packet);
  }
  queue_.emplace(due, std::move(piece.packet));
}

std::optional<Link::Delivery> Link::take(Nanos now) {
  if (queue_.empty() || queue_.begin()->first > now) return std::nullopt;
  auto first = queue_.extract(queue_.begin());
  ++counters_.delivered;
  return Delivery{std::move(first.mapped()), first.key()};
}

std::optional<Packet> Link::take_answer() {
  if (answers_.empty()) return std::nullopt;
  Packet answer = std::move(answers_.front());
  answers_.erase(answers_.begin());
  return answer;
}

}  // namespace pqedge::measure::link
