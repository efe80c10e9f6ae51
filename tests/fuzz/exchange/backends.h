// The fuzz target as the backends of a script: what they are sent is kept and judged, what they say
// is the script's.
#pragma once

#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/exchange/http2_message.h"
#include "fuzz/exchange/ledger.h"
#include "fuzz/exchange/script.h"
#include "fuzz/exchange/world.h"
#include "unit/wire/http2_support.h"

namespace pqedge::fuzz {

inline std::string http2_headers(const ScriptFrame& f) {
  std::string block;
  for (const auto& [name, value] : read_script_fields(f.rest)) {
    block += http2::test::literal(name, value);
  }
  const unsigned flags = http2::flag::kEndHeaders | (f.end ? http2::flag::kEndStream : 0u);
  return http2::test::frame(http2::FrameType::headers, static_cast<uint8_t>(flags), f.stream,
                            block);
}

inline std::string http2_data(const ScriptFrame& f) {
  return http2::test::frame(http2::FrameType::data, f.end ? http2::flag::kEndStream : uint8_t{0},
                            f.stream, f.rest);
}

class Backends {
 public:
  // `prefaces`: one that speaks HTTP/2 sends its SETTINGS by itself.
  explicit Backends(bool prefaces) : prefaces_(prefaces) {}

  // The steps of a script that are a backend's.
  void play(const ScriptStep& step) {
    switch (step.what) {
      case 'b': say(step.payload); break;
      case 'H': say(http2_headers(read_script_frame(step.payload))); break;
      case 'D': say(http2_data(read_script_frame(step.payload))); break;
      case 'N': ++current_; break;
      case 'E':
        if (current_ < links_.size()) close(*links_[current_]);
        break;
      default: break;
    }
  }

  // Takes what has come since.
  void take() {
    for (const Spoken spoken : {Spoken::http1, Spoken::http2, Spoken::bytes}) {
      while (Fd fd = world_.accept(spoken)) begin(std::move(fd), spoken);
    }
    for (auto& link : links_) read(*link);
  }

  void leave() {
    for (auto& link : links_) close(*link);
  }

  void judge(Ledger& ledger) const {
    for (const auto& link : links_) {
      if (link->spoken == Spoken::bytes) continue;
      const bool two = link->spoken == Spoken::http2;
      const bool switched = link->said.find(" 101") != std::string::npos;
      for (const Message& m : two ? read_http2_requests(link->received)
                                  : read_http1_requests(link->received, switched)) {
        ledger.judge_request(m, two);
      }
    }
  }

 private:
  // One connection that the worker made.
  struct Link {
    Fd fd;
    Spoken spoken;
    std::string received;
    std::string said;
  };

  void begin(Fd fd, Spoken spoken) {
    links_.push_back(std::make_unique<Link>(std::move(fd), spoken));
    Link& link = *links_.back();
    if (spoken == Spoken::http2 && prefaces_) {
      send(link, http2::test::frame(http2::FrameType::settings, 0, 0) +
                     http2::test::frame(http2::FrameType::settings, http2::flag::kAck, 0));
    }
    if (links_.size() == current_ + 1) send(link, std::exchange(unasked_, {}));
  }

  // To who is there, or to the next who comes.
  void say(std::string_view bytes) {
    if (current_ < links_.size()) {
      send(*links_[current_], bytes);
    } else {
      unasked_ += bytes;
    }
  }

  static void send(Link& link, std::string_view bytes) {
    if (!link.fd || bytes.empty()) return;
    const ssize_t n = ::send(link.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0) link.said.append(bytes.substr(0, static_cast<size_t>(n)));
  }

  static void read(Link& link) {
    std::array<char, 16384> room;
    while (link.fd) {
      const ssize_t n = ::recv(link.fd.get(), room.data(), room.size(), 0);
      if (n <= 0) return;
      link.received.append(room.data(), static_cast<size_t>(n));
    }
  }

  static void close(Link& link) {
    read(link);
    link.fd.reset();
  }

  World& world_ = World::instance();
  const bool prefaces_;
  std::vector<std::unique_ptr<Link>> links_;
  size_t current_ = 0;
  std::string unasked_;
};

}  // namespace pqedge::fuzz
