// A whole HTTP/2 server connection: whatever a client sends, the handlers are called in the order
// that http/stream.h promises, each hears of its end once, and unread bodies stay within bounds.
//
// Input: three bytes (how handlers behave, how reads are cut, what the transport takes), then what
// a client sends after a good preface, or with bit 7 of the first byte from its first byte.
#include <cstdint>
#include <cstdlib>

#include "unit/wire/http2_support.h"

namespace {

using namespace pqedge;
using namespace pqedge::http2::test;

http::Limits small_limits() {
  http::Limits limits;
  limits.max_head = 4096;
  limits.max_target = 256;
  limits.max_fields = 20;
  limits.max_trailers = 1024;
  limits.max_body = 100'000;
  limits.max_requests = 40;
  limits.max_streams = 8;
  limits.body_window = 40'000;
  limits.connection_window = 160'000;
  return limits;
}

void act(Exchange& e, unsigned behaviour) {
  switch (behaviour) {
    case 0: e.answer(200, "hello"); break;
    case 1: e.answer(404); break;
    case 2:
      e.start();
      e.send(std::string(50'000, 'x'));
      break;
    case 3:
      e.stream().reset(http::Abort::internal_error);
      e.forget();
      break;
    case 4:
      e.ignore_body();
      e.answer(200, "early");
      break;
    default: break;  // says nothing
  }
}

void check(const Server& server) {
  size_t kept = 0;
  for (const auto& e : server.exchanges) {
    if (e->disorder) std::abort();
    if (e->finished && e->reset != http::Abort::none) std::abort();
    if (e->alive()) {
      for (const Slice& s : e->kept) kept += s.size;
    }
  }
  if (kept > server.limits->connection_window) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const unsigned behaviour = data[0];
  Server server(small_limits());
  server.manual = true;
  server.keep_body = (behaviour & 0x40) != 0;
  const auto next = [&](Exchange& e) {
    act(e, (behaviour + static_cast<unsigned>(e.stream().stream_id() / 2)) % 6);
  };
  if ((behaviour & 0x20) != 0) {
    server.at_head = next;
    server.at_end = [](Exchange& e) {
      if (e.response.status == 0 && e.alive()) e.answer(200, "end");
    };
  } else {
    server.at_end = next;
  }
  server.at_bad = [](Exchange& e) {
    if (e.response.status == 0) {
      e.answer(e.bad_status, "refused");
    } else {
      e.stream().reset(http::Abort::too_large);
      e.forget();
    }
  };
  server.at_writable = [](Exchange& e) { e.stream().send_end(nullptr); };
  server.start();
  server.stream->largest_read = data[1] == 0 ? SIZE_MAX : data[1];
  if (data[2] != 0) server.stream->room = size_t{data[2]} * 16;
  if ((behaviour & 0x80) == 0) server.receive(client_preface());
  std::string_view rest(reinterpret_cast<const char*>(data) + 3, size - 3);
  const size_t piece = size_t{data[1]} * 8 + 1;
  while (!rest.empty() && server.stream != nullptr) {
    const size_t n = data[1] == 0 ? rest.size() : std::min(piece, rest.size());
    server.receive(rest.substr(0, n));
    rest.remove_prefix(n);
    check(server);
    if (server.stream != nullptr && server.stream->backlog() > 0) server.stream->make_room(1000);
  }
  if (server.stream != nullptr) {
    server.stream->make_room(SIZE_MAX);
    server.turn();
  }
  check(server);
  if (server.stream != nullptr) {
    server.stream->end_input();
    server.turn();
  }
  check(server);
  if (!server.closed) std::abort();
  for (const auto& e : server.exchanges) {
    if (e->alive()) std::abort();  // forgotten without a word
  }
  return 0;
}
