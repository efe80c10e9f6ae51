// What the emulated link does to packets, each direction by itself (M19).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace pqedge::measure::link {

// What a middlebox on the way does to TCP connections that begin with a TLS ClientHello.
enum class Middlebox : uint8_t {
  kNone,
  kSplit,  // the segment with the hello's begin is cut in two after `middlebox_bytes`
  kDelay,  // segments that go on with a hello, after its first one, wait `middlebox_delay` more
  kDrop,   // a hello whose record is longer than `middlebox_bytes` is dropped, without a word
  kWhole,  // a hello that is not whole in its first segment is answered by a reset
};

struct Direction {
  Nanos delay = 0;
  Nanos jitter = 0;      // more, evenly from 0 to this; it keeps the order
  double loss = 0;       // chances, from 0 to 1
  double duplicate = 0;  // a second copy right behind the first
  double reorder = 0;    // held `reorder_by` longer, so that others overtake
  Nanos reorder_by = kMillisecond;
  uint64_t rate = 0;         // bits a second; 0: no limit
  size_t queue = 64 * 1024;  // bytes that may wait for the rate; more are dropped
  size_t mtu = 1500;
  bool too_big_messages = true;  // ICMP "fragmentation needed" to the sender of what does not fit
  bool fragments = true;         // false: IP fragments are dropped
  Middlebox middlebox = Middlebox::kNone;
  size_t middlebox_bytes = 0;
  Nanos middlebox_delay = 0;

  bool operator==(const Direction&) const = default;
};

struct Settings {
  Direction up;    // client to server
  Direction down;  // server to client
  uint64_t seed = 1;

  bool operator==(const Settings&) const = default;
};

// "delay=20ms,loss=1%,down.rate=10mbit,mtu=1400,icmp=drop,middlebox=split:100,seed=7": KEY=VALUE by
// commas, for both directions, or for one with "up." or "down." before the key. A middlebox looks
// at what the client sends: without a direction it stands in `up`.
//   delay, jitter        a time: 20ms, 1.5s, 300us
//   loss, duplicate      a share: 1%, 0.01
//   reorder              a share, or share:time
//   rate                 bits a second: 10mbit, 500kbit, 1gbit
//   queue                bytes: 64k, 100000
//   mtu                  68 to 65535
//   icmp, fragments      pass or drop
//   middlebox            none, split:BYTES, delay:TIME, drop:BYTES, whole
//   seed                 a number
// Applied over `base`.
Result<Settings> parse_settings(std::string_view text, const Settings& base = {});

// By the same names, for the record: only what is not the default, and the seed.
std::map<std::string, std::string> describe(const Settings& settings);

}  // namespace pqedge::measure::link
