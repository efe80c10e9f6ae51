// Where connections go that are passed on without being decrypted: made ready from the
// configuration, shared by all workers. Connections keep what they began with over a reload.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/result.h"
#include "edge/passthrough_settings.h"
#include "net/address.h"
#include "route/table.h"
#include "upstream/picker.h"
#include "upstream/server_state.h"
#include "upstream/settings.h"

namespace pqedge::edge {

struct ListenerSettings;
struct Settings;

enum class PassthroughTransport : uint8_t { tcp, udp };

// One [[passthrough]] and its pool.
class Passthrough {
 public:
  Passthrough(PassthroughSettings settings, upstream::PoolSettings pool,
              upstream::Registry& registry);

  const PassthroughSettings settings;
  const upstream::PoolSettings pool;

  // The server for a new connection of `client`, by the pool's algorithm; one that failed lately
  // only when no other is left. Null: all others are in `tried`, at their maximum, or take nothing.
  std::shared_ptr<upstream::ServerState> pick(Nanos now,
                                              std::span<upstream::ServerState* const> tried,
                                              const net::Address& client) const {
    return picker_->pick(now, tried, client);
  }
  // The server of that address, or null.
  std::shared_ptr<upstream::ServerState> server(const net::Address& address) const;

  struct Count {
    counters::Counter connections;
    counters::Counter open;  // gauge
    counters::Counter failed;
    counters::Counter bytes_in;   // from clients
    counters::Counter bytes_out;  // to clients
  };
  const Count& count(PassthroughTransport t) const { return count_[static_cast<size_t>(t)]; }

 private:
  std::unique_ptr<upstream::Picker> picker_;
  Count count_[2];
};

using PassthroughRef = std::shared_ptr<const Passthrough>;

// One connection's hold on a server: counted there from opening to the end.
class PassthroughLease {
 public:
  PassthroughLease() = default;
  explicit PassthroughLease(std::shared_ptr<upstream::ServerState> server);
  PassthroughLease(PassthroughLease&& o) noexcept : server_(std::move(o.server_)) {}
  PassthroughLease& operator=(PassthroughLease&& o) noexcept;
  ~PassthroughLease() { release(); }
  void release();
  // The server could not be connected to: it is passed over for a moment.
  void note_failure(Nanos now);
  explicit operator bool() const { return server_ != nullptr; }
  upstream::ServerState* operator->() const { return server_.get(); }
  upstream::ServerState* get() const { return server_.get(); }

 private:
  std::shared_ptr<upstream::ServerState> server_;
};

// What one listener passes on.
class PassthroughTable {
 public:
  static Result<PassthroughTable> compile(std::vector<PassthroughRef> entries);

  bool has(PassthroughTransport t) const { return !entries_[static_cast<size_t>(t)].empty(); }
  // By the rule of routes: an exact host, then the longest wildcard. `host` is in lower case and
  // without a dot at its end. Null: the connection is ours.
  PassthroughRef find(PassthroughTransport t, std::string_view host) const;

  // UDP: the server that a connection ID names, for clients whose address changed. `id` begins with
  // the ID and may go on after it.
  struct Followed {
    PassthroughRef passthrough;
    std::shared_ptr<upstream::ServerState> server;
    size_t known = 0;  // bytes of the ID that told
  };
  Followed follow(Bytes id) const;

 private:
  std::vector<PassthroughRef> entries_[2];
  route::Table hosts_[2];
};

// What the listeners of a configuration pass on. A listener that passes nothing on has none.
class PassthroughSet {
 public:
  PassthroughSet(const Settings& settings, upstream::Registry& registry);
  Result<std::shared_ptr<const PassthroughTable>> table_of(const ListenerSettings& listener) const;

 private:
  std::vector<PassthroughRef> all_;
};

// Whether the passthrough holds on that listener, as far as the settings tell.
bool holds_on(const PassthroughSettings& passthrough, const ListenerSettings& listener);

// The name in a ClientHello that find() looks up. A hello that is malformed, or names something
// else than a host, is left to the TLS stack, which refuses it by the same reader.
std::string host_of_hello(Bytes message);

}  // namespace pqedge::edge
