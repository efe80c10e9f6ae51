#include "route/canary.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <format>
#include <optional>

#include "base/log.h"
#include "base/text.h"
#include "route/template.h"

namespace pqedge::route {
namespace {

// splitmix64 (Steele, Lea and Flood): which client is drawn is no secret.
uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t next_random() {
  thread_local uint64_t state = [] {
    uint64_t seed = monotonic_now();
    if (getrandom(&seed, sizeof seed, 0) != static_cast<ssize_t>(sizeof seed)) {
      seed ^= reinterpret_cast<uintptr_t>(&seed);
    }
    return seed;
  }();
  return mixed(state += 0x9e3779b97f4a7c15);
}

uint32_t draw() { return static_cast<uint32_t>(next_random() % CanarySettings::kWhole); }

// The same number in every process: restarts and other machines leave clients where they are.
uint32_t number_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return static_cast<uint32_t>(mixed(hash) % CanarySettings::kWhole);
}

std::optional<uint32_t> number_in(std::string_view cookie) {
  if (cookie.size() > 4) return std::nullopt;  // below kWhole
  const auto n = parse_decimal(cookie);
  return n ? std::optional(static_cast<uint32_t>(*n)) : std::nullopt;
}

}  // namespace

std::string share_text(uint32_t share) {
  if (share % 100 == 0) return std::format("{}%", share / 100);
  if (share % 10 == 0) return std::format("{}.{}%", share / 100, share / 10 % 10);
  return std::format("{}.{:02}%", share / 100, share % 100);
}

std::optional<uint32_t> parse_share(std::string_view percent) {
  const size_t dot = std::min(percent.find('.'), percent.size());
  const auto whole = parse_decimal(percent.substr(0, dot));
  std::string decimals(percent.substr(std::min(dot + 1, percent.size())));
  if (!whole || *whole > 100 || decimals.size() > 2 || (dot < percent.size() && decimals.empty())) {
    return std::nullopt;
  }
  decimals.resize(2, '0');
  const auto part = parse_decimal(decimals);
  const uint64_t share = *whole * 100 + part.value_or(CanarySettings::kWhole + 1);
  if (share > CanarySettings::kWhole) return std::nullopt;
  return static_cast<uint32_t>(share);
}

Canary::Canary(CanarySettings settings, std::string route)
    : settings_(std::move(settings)),
      route_(std::move(route)),
      slot_length_(std::max<Nanos>(settings_.rollback_window / kSlots, 1)),
      share_(settings_.share),
      canary_requests_("pqedge_canary_requests_total", "Requests that a canary had.",
                       {{"route", route_}}),
      canary_errors_("pqedge_canary_errors_total", "Of these, answered with 5xx or not to the end.",
                     {{"route", route_}}),
      rollbacks_("pqedge_canary_rollbacks_total",
                 "Times that a canary was given no more requests, since too many failed.",
                 {{"route", route_}}) {}

Canary::Side Canary::choose(const http::Request& request, bool secure) const {
  if (!settings_.override_header.empty()) {
    const http::Field* f =
        const_cast<http::Fields&>(request.fields).find(std::string_view(settings_.override_header));
    if (f != nullptr && iequals(f->value, "always")) return {.canary = true, .set_cookie = {}};
    if (f != nullptr && iequals(f->value, "never")) return {};
  }
  const uint32_t share = this->share();
  if (!settings_.sticky_header.empty()) {
    const http::Field* f =
        const_cast<http::Fields&>(request.fields).find(std::string_view(settings_.sticky_header));
    const uint32_t number = f == nullptr ? draw() : number_of(f->value);
    return {.canary = number < share, .set_cookie = {}};
  }
  if (settings_.sticky_cookie.empty()) return {.canary = draw() < share, .set_cookie = {}};
  if (const auto number = number_in(cookie(request.fields, settings_.sticky_cookie))) {
    return {.canary = *number < share, .set_cookie = {}};
  }
  const uint32_t number = draw();
  char text[10];
  char age[20];
  const auto digits = [](char* begin, char* end, uint64_t n) {
    return std::string_view(begin, static_cast<size_t>(std::to_chars(begin, end, n).ptr - begin));
  };
  return {
      .canary = number < share,
      .set_cookie = request.arena->concat(
          settings_.sticky_cookie, "=", digits(text, text + sizeof text, number),
          "; Path=/; Max-Age=", digits(age, age + sizeof age, settings_.cookie_lifetime / kSecond),
          "; HttpOnly; SameSite=Lax", secure ? "; Secure" : "")};
}

Canary::Window Canary::sum(uint64_t newest) const {
  Window total;
  for (const Slot& slot : slots_) {
    if (slot.number > newest || newest - slot.number >= kSlots) continue;
    total.requests += slot.count.requests;
    total.errors += slot.count.errors;
  }
  return total;
}

Canary::Window Canary::window(Nanos now) const {
  const std::scoped_lock lock(mutex_);
  return sum(slot_number(now));
}

void Canary::note(Window one, Nanos now) {
  canary_requests_.add(one.requests);
  canary_errors_.add(one.errors);
  if (settings_.rollback_errors == 0) return;
  Window seen;
  {
    const std::scoped_lock lock(mutex_);
    const uint64_t number = slot_number(now);
    Slot& slot = slots_[number % kSlots];
    if (slot.number != number) slot = {.number = number, .count = {}};
    slot.count.requests += one.requests;
    slot.count.errors += one.errors;
    seen = sum(number);
    if (one.errors == 0 || seen.requests < settings_.rollback_min_requests ||
        uint64_t{seen.errors} * CanarySettings::kWhole <
            uint64_t{seen.requests} * settings_.rollback_errors) {
      return;
    }
    if (share_.exchange(0, std::memory_order_relaxed) == 0) return;  // already, or by hand
    rolled_back_.store(true, std::memory_order_relaxed);
  }
  rollbacks_.add();
  log::error("canary",
             "route {}: rolled back: {} of the last {} requests to pool {} failed. No request goes "
             "there until the share is set again",
             route_, seen.errors, seen.requests, settings_.pool);
}

void Canary::set_share(uint32_t share) {
  {
    const std::scoped_lock lock(mutex_);
    for (Slot& slot : slots_) slot = {};  // what failed before is no reason to roll back again
    share_.store(std::min(share, CanarySettings::kWhole), std::memory_order_relaxed);
    rolled_back_.store(false, std::memory_order_relaxed);
  }
  log::info("canary", "route {}: {} of its requests go to pool {}", route_, share_text(share),
            settings_.pool);
}

void Canary::go_on_with(uint32_t share, bool rolled_back) {
  share_.store(std::min(share, CanarySettings::kWhole), std::memory_order_relaxed);
  rolled_back_.store(rolled_back, std::memory_order_relaxed);
  log::info("canary", "route {}: {} of its requests go to pool {}, as before the upgrade{}", route_,
            share_text(this->share()), settings_.pool, rolled_back ? ": it is rolled back" : "");
}

}  // namespace pqedge::route
