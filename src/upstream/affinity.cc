#include "upstream/affinity.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <format>
#include <functional>
#include <span>

#include "base/bytes.h"
#include "base/text.h"
#include "upstream/hash.h"

namespace pqedge::upstream {
namespace {

constexpr size_t kIdDigits = 16;

std::string_view find_crumb(std::string_view crumbs, std::string_view name) {
  while (!crumbs.empty()) {
    const size_t end = std::min(crumbs.find(';'), crumbs.size());
    const std::string_view crumb = trim_ows(crumbs.substr(0, end));
    crumbs.remove_prefix(std::min(end + 1, crumbs.size()));
    if (crumb.size() > name.size() && crumb[name.size()] == '=' && crumb.starts_with(name)) {
      return crumb.substr(name.size() + 1);
    }
  }
  return {};
}

uint64_t ip_hash(std::string_view ip) {
  const auto address = net::Address::from_ip(ip, 0);
  return address ? address_hash(*address) : stable_hash(ip);
}

bool read_hex(std::string_view text, uint64_t& out) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out, 16);
  return error == std::errc{} && stop == end;
}

// Of this process: that nobody can choose keys which fall into one bucket.
uint64_t table_seed() {
  static const uint64_t seed = [] {
    uint64_t s = 0;
    if (getrandom(&s, sizeof s, 0) != static_cast<ssize_t>(sizeof s)) s = monotonic_now();
    return s;
  }();
  return seed;
}

uint64_t place_key(uint64_t key) { return std::max<uint64_t>(mix(key ^ table_seed()), 1); }
uint64_t key_of_place(uint64_t place) { return unmix(place) ^ table_seed(); }

}  // namespace

std::string_view cookie_value(const http::Fields& fields, std::string_view name) {
  std::string_view found;
  fields.for_each([&](const http::Field& f) {
    if (f.id == http::Name::cookie && found.data() == nullptr) found = find_crumb(f.value, name);
  });
  return found;
}

uint64_t address_hash(const net::Address& address) {
  const std::array<uint8_t, 16> bytes = address.ip16();
  const size_t counted = address.family() == AF_INET6 ? 8 : 16;
  return stable_hash(as_text(std::span(bytes).first(counted)));
}

uint64_t key_hash(const KeySource& source, const http::Request& request,
                  std::string_view client_ip) {
  std::string_view text;
  switch (source.kind) {
    case KeySource::Kind::none: return 0;
    case KeySource::Kind::client_ip:
      return client_ip.empty() ? 0 : std::max<uint64_t>(ip_hash(client_ip), 1);
    case KeySource::Kind::cookie: text = cookie_value(request.fields, source.name); break;
    case KeySource::Kind::header:
      if (iequals(source.name, "host")) {
        text = request.host;
      } else if (const http::Field* f = const_cast<http::Fields&>(request.fields).find(source.name);
                 f != nullptr) {
        text = f->value;
      }
      break;
  }
  return text.empty() ? 0 : std::max<uint64_t>(stable_hash(text), 1);
}

uint64_t member_of_cookie(std::string_view value, uint64_t wall) {
  uint64_t id = 0;
  if (value.size() < kIdDigits || !read_hex(value.substr(0, kIdDigits), id)) return 0;
  value.remove_prefix(kIdDigits);
  if (value.empty()) return id;
  uint64_t until = 0;
  if (value[0] != '-' || !read_hex(value.substr(1), until) || until <= wall) return 0;
  return id;
}

std::string_view make_tie_cookie(std::string_view name, uint64_t member, Nanos ttl, uint64_t wall,
                                 bool secure, Arena& arena) {
  std::string text = std::format("{}={:016x}", name, member);
  const uint64_t seconds = ttl == 0 ? 0 : std::max<uint64_t>(ttl / kSecond, 1);
  if (ttl != 0) text += std::format("-{:x}", wall + seconds);
  text += "; Path=/; HttpOnly; SameSite=Lax";
  if (ttl != 0) text += std::format("; Max-Age={}", seconds);
  if (secure) text += "; Secure";
  return arena.copy(text);
}

Ties::Ties(uint32_t entries)
    : entries_(entries),
      buckets_(std::bit_ceil(std::max<size_t>(1, (entries + kWays - 1) / kWays))),
      locks_(std::make_unique<std::mutex[]>(kLocks)) {}

// With its bucket's lock held.
Ties::Entry* Ties::look_up(uint64_t key, Nanos now, Nanos ttl) {
  for (Entry& e : buckets_[index(key)].entries) {
    if (e.key != key) continue;
    if (now < e.seen + ttl) return &e;
    e = {};
    return nullptr;
  }
  return nullptr;
}

void Ties::put(const Entry& entry) {
  Bucket& b = buckets_[index(entry.key)];
  Entry* const oldest = std::ranges::min_element(b.entries, {}, &Entry::seen);  // a free one: 0
  *oldest = entry;
}

uint64_t Ties::find(uint64_t key, Nanos now, Nanos ttl) {
  key = place_key(key);
  const std::lock_guard lock(lock_of(key));
  Entry* const e = look_up(key, now, ttl);
  if (e == nullptr) return 0;
  e->seen = now;
  return e->member;
}

uint64_t Ties::claim(uint64_t key, uint64_t member, uint64_t instead_of, Nanos now, Nanos ttl) {
  key = place_key(key);
  const std::lock_guard lock(lock_of(key));
  Entry* const e = look_up(key, now, ttl);
  if (e == nullptr) {
    put({key, member, now});
    return member;
  }
  e->seen = now;
  if (e->member == instead_of) e->member = member;
  return e->member;
}

void Ties::take_from(Ties& other) {
  for (size_t i = 0; i < other.buckets_.size(); ++i) {
    for (size_t way = 0; way < kWays; ++way) {
      Entry e;
      {
        const std::lock_guard lock(other.locks_[i % kLocks]);
        e = other.buckets_[i].entries[way];
      }
      if (e.key == 0) continue;
      const std::lock_guard lock(lock_of(e.key));
      put(e);
    }
  }
}

std::vector<Ties::Tie> Ties::known(size_t most) {
  std::vector<Tie> ties;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const std::lock_guard lock(locks_[i % kLocks]);
    for (const Entry& e : buckets_[i].entries) {
      if (e.key != 0) ties.push_back({key_of_place(e.key), e.member, e.seen});
    }
  }
  if (ties.size() > most) {
    const auto end = ties.begin() + static_cast<ptrdiff_t>(most);
    std::ranges::nth_element(ties, end, std::ranges::greater{}, &Tie::seen);
    ties.erase(end, ties.end());
  }
  return ties;
}

void Ties::add(const std::vector<Tie>& ties) {
  for (const Tie& tie : ties) {
    const uint64_t key = place_key(tie.key);
    const std::lock_guard lock(lock_of(key));
    if (!std::ranges::contains(buckets_[index(key)].entries, key, &Entry::key)) {
      put({key, tie.member, tie.seen});
    }
  }
}

}  // namespace pqedge::upstream
