#include "measure/link/settings.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/problem.h"
#include "base/text.h"

namespace pqedge::measure::link {

namespace {

constexpr std::array<std::string_view, 12> kKeys{"delay",   "jitter",    "loss",      "duplicate",
                                                 "reorder", "rate",      "queue",     "mtu",
                                                 "icmp",    "fragments", "middlebox", "seed"};

// A number and the unit behind it.
std::optional<std::pair<double, std::string_view>> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  return std::pair(value, text.substr(static_cast<size_t>(end - text.data())));
}

struct Unit {
  std::string_view name;
  double factor;
};

template <size_t N>
std::optional<double> with_unit(std::string_view text, const std::array<Unit, N>& units) {
  const auto read = number(text);
  if (!read) return std::nullopt;
  for (const Unit& unit : units) {
    if (iequals(unit.name, read->second)) return read->first * unit.factor;
  }
  return std::nullopt;
}

constexpr std::array kTimes{Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}};
constexpr std::array kRates{Unit{"bit", 1}, Unit{"", 1}, Unit{"kbit", 1e3}, Unit{"mbit", 1e6},
                            Unit{"gbit", 1e9}};
constexpr std::array kSizes{Unit{"", 1}, Unit{"k", 1024}, Unit{"m", 1024.0 * 1024}};
constexpr std::array kShares{Unit{"%", 0.01}, Unit{"", 1}};

Result<Nanos> read_time(std::string_view text) {
  const auto value = with_unit(text, kTimes);
  if (!value || *value > 600e9) return fail("a time like 20ms is meant, at most 600s");
  return static_cast<Nanos>(*value);
}

Result<double> read_share(std::string_view text) {
  const auto value = with_unit(text, kShares);
  if (!value || *value > 1) return fail("a share like 1% or 0.01 is meant");
  return *value;
}

Result<size_t> read_size(std::string_view text, size_t least, size_t most) {
  const auto value = with_unit(text, kSizes);
  if (!value || *value < static_cast<double>(least) || *value > static_cast<double>(most)) {
    return fail("from {} to {} bytes", least, most);
  }
  return static_cast<size_t>(*value);
}

Result<bool> read_pass(std::string_view text) {
  if (text == "pass") return true;
  if (text == "drop") return false;
  return fail("pass or drop is meant");
}

template <typename T>
Result<void> store(Result<T> value, T& to) {
  if (!value) return std::unexpected(value.error());
  to = *value;
  return {};
}

Result<void> read_reorder(std::string_view text, Direction& direction) {
  const size_t colon = text.find(':');
  const auto share = store(read_share(text.substr(0, colon)), direction.reorder);
  if (!share) return share;
  if (colon == std::string_view::npos) return {};
  return store(read_time(text.substr(colon + 1)), direction.reorder_by);
}

Result<void> read_middlebox(std::string_view text, Direction& direction) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view value =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  direction.middlebox_bytes = 0;
  direction.middlebox_delay = 0;
  if (kind == "none" || kind == "whole") {
    if (colon != std::string_view::npos) return fail("{} takes no value", kind);
    direction.middlebox = kind == "none" ? Middlebox::kNone : Middlebox::kWhole;
    return {};
  }
  if (kind == "split" || kind == "drop") {
    direction.middlebox = kind == "split" ? Middlebox::kSplit : Middlebox::kDrop;
    return store(read_size(value, 1, 65535), direction.middlebox_bytes);
  }
  if (kind == "delay") {
    direction.middlebox = Middlebox::kDelay;
    return store(read_time(value), direction.middlebox_delay);
  }
  return fail("none, split:BYTES, delay:TIME, drop:BYTES or whole is meant");
}

Result<void> set(std::string_view key, std::string_view value, Direction& d) {
  if (key == "delay") return store(read_time(value), d.delay);
  if (key == "jitter") return store(read_time(value), d.jitter);
  if (key == "loss") return store(read_share(value), d.loss);
  if (key == "duplicate") return store(read_share(value), d.duplicate);
  if (key == "reorder") return read_reorder(value, d);
  if (key == "queue") return store(read_size(value, 1, size_t{1} << 30), d.queue);
  if (key == "mtu") return store(read_size(value, 68, 65535), d.mtu);
  if (key == "icmp") return store(read_pass(value), d.too_big_messages);
  if (key == "fragments") return store(read_pass(value), d.fragments);
  if (key == "middlebox") return read_middlebox(value, d);
  if (key == "rate") {
    const auto rate = with_unit(value, kRates);
    if (!rate || *rate > 1e12) return fail("bits a second like 10mbit are meant");
    d.rate = static_cast<uint64_t>(*rate);
    return {};
  }
  const std::string hint = did_you_mean(key, kKeys);
  return fail("no such setting{}{}", hint.empty() ? "" : ": ", hint);
}

Result<void> apply(std::string_view key, std::string_view value, Settings& settings) {
  if (key == "seed") {
    const auto seed = parse_decimal(value);
    if (!seed) return fail("a number is meant");
    settings.seed = *seed;
    return {};
  }
  const bool up = key.starts_with("up.");
  const bool down = key.starts_with("down.");
  const std::string_view name = key.substr(up ? 3 : down ? 5 : 0);
  if (!down) {
    if (auto done = set(name, value, settings.up); !done) return done;
  }
  if (!up && (down || name != "middlebox")) return set(name, value, settings.down);
  return {};
}

std::string time_text(Nanos time) {
  return time % kMillisecond == 0 ? std::format("{}ms", time / kMillisecond)
                                  : std::format("{}us", time / kMicrosecond);
}

std::string share_text(double share) { return std::format("{:g}%", share * 100); }

std::string middlebox_text(const Direction& d) {
  switch (d.middlebox) {
    case Middlebox::kNone: return "none";
    case Middlebox::kSplit: return std::format("split:{}", d.middlebox_bytes);
    case Middlebox::kDelay: return "delay:" + time_text(d.middlebox_delay);
    case Middlebox::kDrop: return std::format("drop:{}", d.middlebox_bytes);
    case Middlebox::kWhole: return "whole";
  }
  return "?";
}

std::map<std::string, std::string> describe_direction(const Direction& d) {
  const Direction plain;
  std::map<std::string, std::string> out;
  if (d.delay != 0) out["delay"] = time_text(d.delay);
  if (d.jitter != 0) out["jitter"] = time_text(d.jitter);
  if (d.loss != 0) out["loss"] = share_text(d.loss);
  if (d.duplicate != 0) out["duplicate"] = share_text(d.duplicate);
  if (d.reorder != 0) out["reorder"] = share_text(d.reorder) + ":" + time_text(d.reorder_by);
  if (d.rate != 0) {
    out["rate"] = std::format("{}bit", d.rate);
    out["queue"] = std::format("{}", d.queue);
  }
  if (d.mtu != plain.mtu) out["mtu"] = std::format("{}", d.mtu);
  if (!d.too_big_messages) out["icmp"] = "drop";
  if (!d.fragments) out["fragments"] = "drop";
  if (d.middlebox != Middlebox::kNone) out["middlebox"] = middlebox_text(d);
  return out;
}

}  // namespace

Result<Settings> parse_settings(std::string_view text, const Settings& base) {
  Settings settings = base;
  Result<void> done;
  for_each_member(text, [&](std::string_view member) {
    if (!done) return;
    const size_t equals = member.find('=');
    if (equals == std::string_view::npos) {
      done = fail("link \"{}\": KEY=VALUE is meant", member);
      return;
    }
    done = apply(member.substr(0, equals), member.substr(equals + 1), settings);
    if (!done) done = fail("link \"{}\": {}", member, done.error().message);
  });
  if (!done) return std::unexpected(done.error());
  return settings;
}

std::map<std::string, std::string> describe(const Settings& settings) {
  const auto up = describe_direction(settings.up);
  const auto down = describe_direction(settings.down);
  std::map<std::string, std::string> out{{"seed", std::format("{}", settings.seed)}};
  for (const auto& [name, value] : up) {
    const auto other = down.find(name);
    const bool both = other != down.end() && other->second == value;
    out[both ? name : "up." + name] = value;
  }
  for (const auto& [name, value] : down) {
    const auto other = up.find(name);
    if (other == up.end() || other->second != value) out["down." + name] = value;
  }
  return out;
}

}  // namespace pqedge::measure::link
