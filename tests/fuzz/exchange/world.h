// One worker of the real edge, run by hand: its routes, its pools, and the sockets at which the
// fuzz target is the backend. The client's end is in memory.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "edge/listener_view.h"
#include "edge/snapshot.h"
#include "edge/worker.h"
#include "net/socket.h"

namespace pqedge::fuzz {

enum class Spoken : uint8_t { http1, http2, bytes };  // with a pool

template <typename T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "the fuzz target cannot begin: %s\n", result.error().message.c_str());
  std::abort();
}

class World {
 public:
  static World& instance() {
    static World& world = *new World;  // never destroyed: threads of its logs would outlive it
    return world;
  }

  edge::Worker& worker() { return *shared_.workers.front(); }
  net::Loop& loop() { return worker().loop(); }
  const std::shared_ptr<const edge::ListenerView>& view() const { return view_; }
  const std::shared_ptr<const http::Limits>& limits() const { return limits_; }
  const net::ConnectionFacts& facts() const { return facts_; }

  // The next connection that waits at that pool's socket; empty: there is none.
  Fd accept(Spoken spoken) {
    return Fd(accept4(listeners_[static_cast<size_t>(spoken)].get(), nullptr, nullptr,
                      SOCK_NONBLOCK | SOCK_CLOEXEC));
  }

 private:
  World() {
    char folder[] = "/tmp/pqedge-fuzz-XXXXXX";
    if (mkdtemp(folder) == nullptr) std::abort();
    folder_ = folder;
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(instance().folder_, ignored);
    });
    shared_.access_log = must(record::AccessLog::open({}, 1));
    shared_.max_connections = 1000;
    shared_.workers.push_back(must(edge::Worker::create(shared_, 0, 1)));
    edge::Settings settings = make_settings();
    auto snapshot = must(edge::Snapshot::build(std::move(settings), nullptr));
    limits_ = snapshot->limits;
    worker().apply(snapshot, nullptr, {}, [](Result<void> made) {
      if (!made) std::abort();
      return true;
    });
    edge::ListenerSettings listener;
    listener.name = "fuzz";
    listener.tls = listener.http3 = false;
    facts_.local = must(net::Address::parse("198.51.100.1:80"));
    facts_.peer = must(net::Address::parse("192.0.2.7:50000"));
    view_ = edge::make_listener_view(listener, facts_.local);
  }

  upstream::PoolSettings make_pool(std::string name, Spoken spoken) {
    upstream::PoolSettings pool;
    pool.name = std::move(name);
    if (spoken == Spoken::http2) pool.protocol = upstream::Protocol::h2c;
    pool.retry.backoff = 1;  // nanoseconds: nothing waits here
    const net::Address address = must(net::Address::parse("unix:" + folder_ + "/" + pool.name));
    pool.servers.push_back({.address = address, .name = pool.name});
    listeners_[static_cast<size_t>(spoken)] = must(net::listen_stream(address, {.backlog = 128}));
    return pool;
  }

  // What a client asks for decides which of them it is: the input has all of them.
  edge::Settings make_settings() {
    edge::Settings s;
    s.limits = {.max_target = 1024,
                .max_head = 8192,
                .max_fields = 48,
                .max_trailers = 1024,
                .max_body = 64 * 1024,
                .max_requests = 64,
                .max_streams = 16,
                .max_response_head = 8192,
                .body_window = 16 * 1024,
                .connection_window = 128 * 1024};
    s.pools = {make_pool("one", Spoken::http1), make_pool("two", Spoken::http2),
               make_pool("tunnel", Spoken::bytes)};
    const auto add = [&](std::string name, std::string host, std::string prefix,
                         std::string pool) -> route::RouteSettings& {
      route::RouteSettings& r = s.routes.emplace_back();
      r.name = std::move(name);
      if (!host.empty()) r.hosts = {std::move(host)};
      r.path_prefix = std::move(prefix);
      r.pool = std::move(pool);
      return r;
    };
    s.routes.reserve(8);
    add("two", "two.test", "", "two");
    for (const char* pool : {"one", "two"}) {
      const std::string host = pool == std::string_view("two") ? "two.test" : "";
      route::RouteSettings& held = add(std::string("held-") + pool, host, "/held", pool);
      held.forward.buffer_request = 2048;
      held.forward.buffer_response = 2048;
    }
    route::RouteSettings& tunnel = add("tunnel", "", "", "tunnel");
    tunnel.methods = {"CONNECT"};
    tunnel.tunnel.connect = {{.host = "tunnel.test", .port = 80}};
    add("one", "", "", "one");
    return s;
  }

  std::string folder_;
  edge::Shared shared_;
  std::array<Fd, 3> listeners_;  // by what is spoken
  std::shared_ptr<const edge::ListenerView> view_;
  std::shared_ptr<const http::Limits> limits_;
  net::ConnectionFacts facts_;
};

}  // namespace pqedge::fuzz
