// What came in, beside what went out: the two must tell of the same requests.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "edge/exchange.h"
#include "fuzz/exchange/sections.h"
#include "http/stream.h"

namespace pqedge::fuzz {

// One request as the codec told it.
struct Told {
  std::string id;  // of the exchange: it goes out with the request
  std::string method, target, authority, content_type, upgrade;
  std::set<std::string> connection_options;  // in lower case
  std::string body;
  std::optional<uint64_t> length;  // where it was announced
  uint64_t stream = 0;
  bool head = false;
  bool ended = false;
  bool refused = false;  // by the codec
  int sent = 0;          // times that a backend has got its head
};

// Between a codec and its exchange: writes down what is told, and that it is told in the order that
// http/stream.h promises.
class Tap final : public http::ServerStreamHandler {
 public:
  Tap(edge::Exchange& exchange, http::ServerStream& stream) : exchange_(exchange) {
    told.stream = stream.stream_id();
  }

  http::Request& request() override { return inner().request(); }
  void on_head(bool end) override {
    require(!told.head && !told.refused && !over_, "a head is told once");
    told.head = true;
    told.ended = end;
    note_head(exchange_.request());
    inner().on_head(end);
    // The exchange keeps what it knows until the end of the turn.
    told.id = exchange_.identity().request_id;
  }
  void on_body(Slice bytes) override {
    require(told.head && !told.refused && !over_, "a body follows its head");
    require(!told.ended || !told.upgrade.empty() || told.method == "CONNECT",
            "nothing follows a request's end");
    told.body.append(as_text(bytes.bytes()));
    inner().on_body(std::move(bytes));
  }
  void on_end() override {
    require(told.head && !told.refused && !over_, "an end follows its head");
    told.ended = true;
    inner().on_end();
  }
  void on_bad_request(uint16_t status, std::string_view reason) override {
    require(!told.refused && !over_, "a request is refused once");
    require(status >= 400 && status <= 599 && !reason.empty(), "a refusal says why");
    told.refused = true;
    if (!told.head) note_head(exchange_.request());  // as far as it was read
    inner().on_bad_request(status, reason);
  }
  void on_writable() override { inner().on_writable(); }
  void on_reset(http::Abort why) override {
    require(!over_, "an end is told once");
    over_ = true;
    inner().on_reset(why);
  }
  void on_finished() override {
    require(!over_, "an end is told once");
    over_ = true;
    inner().on_finished();
  }

  Told told;

 private:
  http::ServerStreamHandler& inner() { return exchange_; }

  void note_head(const http::Request& r) {
    told.method = r.method_text;
    told.target = r.target;
    told.authority = r.authority;
    told.upgrade = r.upgrade;
    if (r.body == http::BodyKind::length) told.length = r.content_length;
    told.content_type = lower(r.fields.get(http::Name::content_type));
    r.fields.for_each([&](const http::Field& f) {
      if (f.id != http::Name::connection) return;
      for_each_member(
          f.value, [&](std::string_view option) { told.connection_options.insert(lower(option)); });
    });
  }

  edge::Exchange& exchange_;
  bool over_ = false;
};

class Ledger {
 public:
  // `client`: its address, as backends are to be told.
  explicit Ledger(std::string client) : client_(std::move(client)) {}

  Tap& open(edge::Exchange& exchange, http::ServerStream& stream) {
    return taps_.emplace_back(exchange, stream);
  }

  std::vector<std::string> methods() const {
    std::vector<std::string> all;
    for (const Tap& t : taps_) all.push_back(t.told.method);
    return all;
  }

  // ---- a request on its way to a backend
  // `translates`: the pool's requests may be made of those of gRPC-Web.
  void judge_request(const Message& m, bool translates) {
    require(m.count("x-request-id") == 1, "each request has one ID");
    Told* const told = find(m.get("x-request-id"));
    require(told != nullptr, "a backend gets no request that no client made");
    require(++told->sent <= kMostTries, "a request is sent a few times at most");
    judge_head(m, *told);
    if (m.tunnel || !told->upgrade.empty() || told->method == "CONNECT") return;
    if (translates && told->content_type.starts_with("application/grpc-web")) return;
    require(told->body.starts_with(m.body), "the body is the client's");
    if (!m.complete) return;
    // With a length the last byte is the end, whatever comes after it.
    const bool whole =
        (told->ended && !told->refused) || (told->length && *told->length == told->body.size());
    require(whole, "a request is whole only where the client's was");
    require(m.body.size() == told->body.size(), "the body is whole");
  }

  // ---- an answer on its way to the client
  void judge_answer(const Message& m, size_t request) {
    for (const auto& [name, value] : m.fields) {
      require(!is_of_hop(name), "no field of one hop goes on");
    }
    if (m.status < 200 && m.status != 101) return;
    require(request < taps_.size(), "no answer is there without a request");
    const Told& told = taps_[request].told;
    // What a CONNECT leads to is not read: it has no requests. Of others only what a backend said
    // has passed us.
    if (told.method == "CONNECT") return;
    if (names_us(m.get("via"))) require(told.sent > 0, "an answer of a backend was asked for");
    if (m.tunnel) require(told.sent > 0, "a tunnel has another end");
  }
  void judge_answer_on(const Message& m) {
    size_t at = 0;
    while (at < taps_.size() && taps_[at].told.stream != m.stream) ++at;
    require(at < taps_.size(), "no answer is there without a request");
    judge_answer(m, at);
    const Told& told = taps_[at].told;
    if (told.method != "HEAD" && m.status != 304 && m.status >= 200) check_body_length(m);
  }

 private:
  // One server, one retry, and the few that are free.
  static constexpr int kMostTries = 8;

  static bool names_us(std::string_view via) { return via.ends_with(" pqedge"); }

  Told* find(std::string_view id) {
    for (Tap& t : taps_) {
      if (!id.empty() && t.told.id == id) return &t.told;
    }
    return nullptr;
  }

  void judge_head(const Message& m, const Told& told) const {
    require(m.method == told.method || !told.upgrade.empty(), "the method is the client's");
    if (told.target.starts_with('/')) require(m.target == told.target, "so is the target");
    require(told.authority.empty() || m.authority == told.authority, "so is the authority");
    require(names_us(m.get("via")), "we are the last in Via");
    require(m.count("x-forwarded-for") == 1 && m.get("x-forwarded-for") == client_,
            "the client's address is the one that we saw");
    require(m.count("x-real-ip") == 1 && m.count("forwarded") == 1, "and is said once");
    require(m.count("cookie") <= 1, "cookies are in one field");
    require(m.count("expect") == 0, "expectations are ours to meet");
    for (const auto& [name, value] : m.fields) {
      require(!is_of_hop(name), "no field of one hop goes on");
      if (name == "te") require(value == "trailers", "of TE, trailers alone go on");
      require(!told.connection_options.contains(name) || is_ours(name),
              "no field goes on that Connection names");
    }
  }

  // Said anew by us, whatever the client's Connection names.
  static bool is_ours(std::string_view name) {
    for (const std::string_view s :
         {"host", "via", "forwarded", "x-request-id", "x-real-ip", "content-length", "te",
          "transfer-encoding", "connection", "upgrade", "early-data"}) {
      if (name == s) return true;
    }
    return name.starts_with("x-forwarded-") || name.starts_with("sec-websocket-");
  }

  const std::string client_;
  std::deque<Tap> taps_;  // in the order of the requests
};

}  // namespace pqedge::fuzz
