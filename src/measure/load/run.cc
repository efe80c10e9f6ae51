#include "measure/load/run.h"

#include <netdb.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <deque>
#include <format>
#include <limits>
#include <memory>
#include <optional>

#include "measure/load/connection.h"
#include "measure/load/pacing.h"
#include "net/socket.h"

namespace pqedge::measure::load {

namespace {

volatile std::sig_atomic_t interrupted = 0;

void interrupt(int) { interrupted = 1; }

constexpr size_t kEvents = 256;  // a turn
constexpr size_t kBuffer = 256 * 1024;
constexpr Nanos kExpiryScan = 100 * kMillisecond;
constexpr Nanos kReconnectPause = 50 * kMillisecond;

Result<net::Address> resolve(const std::string& host, uint16_t port) {
  std::string name = host;
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return fail("{}: {}", host, gai_strerror(error));
  const auto address = net::Address::from_sockaddr(found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

Result<net::Address> server_address(const Options& options) {
  if (options.connect.empty()) return resolve(options.host, options.port);
  const size_t colon = options.connect.rfind(':');
  if (colon == std::string::npos) return fail("--connect {}: not ADDRESS:PORT", options.connect);
  const int port = std::atoi(options.connect.c_str() + colon + 1);
  if (port <= 0 || port > 65535) return fail("--connect {}: not a port", options.connect);
  return resolve(options.connect.substr(0, colon), static_cast<uint16_t>(port));
}

class Runner {
 public:
  Runner(const Options& options, TlsClient* tls, net::Address server,
         std::vector<net::Address> local)
      : options_(options),
        plan_(options),
        context_{.options = options,
                 .plan = plan_,
                 .tls = tls,
                 .tally = result_.tally,
                 .server = server,
                 .local = std::move(local),
                 .buffer = std::vector<uint8_t>(kBuffer)},
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        slots_(options.connections) {}

  RunResult run();

 private:
  // A place for one connection at a time.
  struct Slot {
    std::unique_ptr<Connection> connection;
    std::optional<Nanos> assigned;  // the one request of a connection in handshake mode
    Nanos reconnect_at = 0;
    bool wants_write = false;  // as epoll knows it
    bool touched = false;      // in this turn: to be looked at when it ends
    bool unflushed = false;    // and it may have something to send
  };

  void turn();
  Nanos next_wake() const;
  void touch(size_t index);
  void on_time(Nanos now);
  void supply(Nanos now);
  void supply_slot(Slot& slot, Nanos now);
  void supply_in_turn(Nanos now);
  static void flush(Slot& slot, Nanos now);
  void open_connections(Nanos now);
  bool open(Slot& slot, Nanos now);
  void settle(Nanos now);
  void watch(size_t index);

  bool offering() const { return phase_ == Phase::kWarmUp || phase_ == Phase::kWindow; }
  bool more_wanted() const { return options_.requests == 0 || submitted_ < options_.requests; }
  bool may_submit() const { return offering() && more_wanted(); }
  bool open_loop() const { return options_.rate > 0; }
  bool idle() const;
  bool all_ready() const;
  void begin_offering(Nanos now);
  std::optional<Nanos> next_request(Nanos now);
  void begin_window(Nanos now);
  void end_window(Nanos now);
  Traffic traffic() const;
  void say_progress(Nanos now);

  // No request goes out before all connections stand: handshakes that compete with a saturating
  // load would make another run of it. With a connection for each request there is nothing to wait
  // for.
  enum class Phase : uint8_t { kConnect, kWarmUp, kWindow, kDrain, kDone };

  const Options& options_;
  RunResult result_;
  RequestPlan plan_;
  Context context_;
  net::Fd epoll_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> touched_;
  std::deque<Nanos> waiting_;  // appointed times of requests without a connection
  std::optional<Schedule> schedule_;
  Phase phase_ = Phase::kConnect;
  Nanos connect_end_ = 0;
  Nanos window_begin_ = 0;
  Nanos window_end_ = 0;
  Nanos planned_end_ = 0;  // of the offering
  Nanos next_scan_ = 0;
  Nanos next_progress_ = kNever;
  uint64_t submitted_ = 0;
  size_t cursor_ = 0;  // of the open loop's turn through the slots
  bool ever_ready_ = false;
  Traffic closed_traffic_;  // of connections that are gone
  Traffic traffic_at_begin_;
  CpuTime own_at_begin_;
  std::map<std::string, CpuTime> watched_at_begin_;
  std::map<int, CoreTime> cores_at_begin_;
};

RunResult Runner::run() {
  const Nanos start = monotonic_now();
  connect_end_ = start + options_.timeout;
  next_scan_ = start + kExpiryScan;
  if (options_.progress) next_progress_ = start + kSecond;
  if (options_.handshake_each) begin_offering(start);
  open_connections(start);
  settle(start);
  while (phase_ != Phase::kDone) turn();
  const Nanos end = monotonic_now();
  for (Slot& slot : slots_) {
    if (slot.connection) slot.connection->close(end);
    if (slot.assigned) result_.tally.failed(Failure::kUnanswered, "the run is over");
  }
  result_.tls = context_.facts;
  return std::move(result_);
}

Nanos Runner::next_wake() const {
  Nanos wake = std::min(next_scan_, next_progress_);
  if (phase_ == Phase::kConnect) wake = std::min(wake, connect_end_);
  if (phase_ == Phase::kWarmUp) wake = std::min(wake, window_begin_);
  if (phase_ == Phase::kWindow) wake = std::min(wake, window_end_);
  if (schedule_ && may_submit()) wake = std::min(wake, schedule_->next());
  for (const Slot& slot : slots_) {
    if (slot.connection) {
      wake = std::min(wake, slot.connection->deadline());
    } else if ((phase_ == Phase::kConnect || may_submit()) && slot.reconnect_at != 0) {
      wake = std::min(wake, slot.reconnect_at);
    }
  }
  return wake;
}

void Runner::turn() {
  std::array<epoll_event, kEvents> events;
  const Nanos before = monotonic_now();
  const Nanos wake = next_wake();
  const Nanos pause = wake > before ? wake - before : 0;
  const timespec timeout{static_cast<time_t>(pause / kSecond), static_cast<long>(pause % kSecond)};
  const int count = epoll_pwait2(epoll_.get(), events.data(), kEvents, &timeout, nullptr);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    Slot& slot = slots_[event.data.u32];
    if (!slot.connection) continue;
    // Read for each connection: the turn's first answer must not pay for its last one's decryption.
    const Nanos at = monotonic_now();
    slot.connection->on_events(event.events, at);
    touch(event.data.u32);
    // Its next request goes out at once, and not with those of the others at the end of the turn:
    // a server that saw all clients of a run move in step would be woken less often than by real
    // ones.
    supply_slot(slot, at);
    flush(slot, at);
  }
  const Nanos now = monotonic_now();
  on_time(now);
  supply(now);
  settle(now);
}

void Runner::touch(size_t index) {
  Slot& slot = slots_[index];
  slot.unflushed = true;
  if (slot.touched) return;
  slot.touched = true;
  touched_.push_back(static_cast<uint32_t>(index));
}

void Runner::on_time(Nanos now) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    Connection* connection = slots_[i].connection.get();
    if (connection == nullptr || connection->deadline() > now) continue;
    connection->on_deadline(now);
    touch(i);
  }
  if (now >= next_scan_) {
    next_scan_ = now + kExpiryScan;
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (!slots_[i].connection) continue;
      slots_[i].connection->expire(now);
      if (slots_[i].connection->state() == Connection::State::kClosed) touch(i);
    }
  }
  if (phase_ == Phase::kConnect && (now >= connect_end_ || all_ready())) begin_offering(now);
  if (phase_ == Phase::kWarmUp && now >= window_begin_) begin_window(now);
  if (interrupted != 0 && phase_ == Phase::kWindow) window_end_ = planned_end_ = now;
  if (interrupted != 0 && phase_ < Phase::kWindow) phase_ = Phase::kDone;
  if (phase_ == Phase::kWindow && now >= window_end_) end_window(now);
  if (now >= next_progress_) say_progress(now);
}

// Requests to send again go first; they keep the time from which their latency counts.
std::optional<Nanos> Runner::next_request(Nanos now) {
  std::deque<Nanos>& again = context_.again;
  if (!again.empty()) {
    const Nanos intended = again.front();
    again.pop_front();
    return intended;
  }
  if (open_loop()) {
    if (waiting_.empty()) return std::nullopt;
    const Nanos intended = waiting_.front();
    waiting_.pop_front();
    return intended;
  }
  if (!may_submit()) return std::nullopt;
  ++submitted_;
  return now;
}

void Runner::supply(Nanos now) {
  if (schedule_) {
    // Up to the planned end, also when this turn comes after it.
    while (schedule_->next() < planned_end_ && more_wanted()) {
      const Nanos appointed = schedule_->take(now);
      if (appointed == kNever) break;
      waiting_.push_back(appointed);
      ++submitted_;
    }
    result_.backlog = std::max(result_.backlog, waiting_.size());
  }
  // Slots of this turn's events have theirs already; deadlines and the beginning touch more.
  for (const uint32_t index : touched_) supply_slot(slots_[index], now);
  if (!options_.handshake_each) supply_in_turn(now);
}

// The connection's own request, or in a closed loop as many as it has room for.
void Runner::supply_slot(Slot& slot, Nanos now) {
  Connection* connection = slot.connection.get();
  if (connection == nullptr) return;
  if (slot.assigned && connection->room() > 0) {
    connection->submit(*slot.assigned, now);
    slot.assigned.reset();
    slot.unflushed = true;
  }
  if (options_.handshake_each || open_loop()) return;
  while (connection->room() > 0) {
    const auto intended = next_request(now);
    if (!intended) return;
    connection->submit(*intended, now);
    slot.unflushed = true;
  }
}

void Runner::flush(Slot& slot, Nanos now) {
  if (!slot.connection || !slot.unflushed) return;
  slot.unflushed = false;
  slot.connection->flush(now);
}

// What waits for a connection: one request for each in turn.
void Runner::supply_in_turn(Nanos now) {
  size_t without_room = 0;
  while ((!waiting_.empty() || !context_.again.empty()) && without_room < slots_.size()) {
    const size_t index = cursor_;
    cursor_ = (cursor_ + 1) % slots_.size();
    Connection* connection = slots_[index].connection.get();
    if (connection == nullptr || connection->room() == 0) {
      ++without_room;
      continue;
    }
    without_room = 0;
    connection->submit(*next_request(now), now);
    touch(index);
  }
}

void Runner::open_connections(Nanos now) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.connection || slot.reconnect_at > now) continue;
    if (options_.handshake_each) {
      // A connection for each request: without a request, none.
      if (!slot.assigned) slot.assigned = next_request(now);
      if (!slot.assigned) return;
    } else if (phase_ != Phase::kConnect && !may_submit() && waiting_.empty() &&
               context_.again.empty()) {
      return;
    }
    if (open(slot, now)) {
      epoll_event event{};
      event.events = EPOLLIN | (slot.wants_write ? static_cast<uint32_t>(EPOLLOUT) : 0U);
      event.data.u32 = static_cast<uint32_t>(i);
      epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, slot.connection->descriptor(), &event);
      touch(i);
    }
  }
}

bool Runner::open(Slot& slot, Nanos now) {
  slot.connection = make_connection(context_);
  const auto opened = slot.connection->open(now);
  if (!opened) {
    result_.tally.failed(Failure::kConnect, opened.error().message);
    slot.connection.reset();
    slot.assigned.reset();
    slot.reconnect_at = now + kReconnectPause;
    return false;
  }
  slot.wants_write = slot.connection->wants_write();
  return true;
}

// The end of a turn: sends, buries what is closed, connects anew.
void Runner::settle(Nanos now) {
  // Opening a connection touches it; its first flight goes out with the same turn.
  for (size_t i = 0; i < touched_.size(); ++i) {
    Slot& slot = slots_[touched_[i]];
    slot.touched = false;
    Connection* connection = slot.connection.get();
    if (connection == nullptr) continue;
    flush(slot, now);
    if (connection->state() == Connection::State::kReady) ever_ready_ = true;
    if (connection->state() == Connection::State::kLeaving && connection->in_flight() == 0) {
      connection->close(now);
    }
    if (connection->state() == Connection::State::kClosed) {
      closed_traffic_ += connection->transport_traffic();
      // A request that never got onto its connection went down with it and was counted there.
      if (slot.assigned) slot.reconnect_at = now + kReconnectPause;
      slot.assigned.reset();
      slot.connection.reset();
      continue;
    }
    watch(touched_[i]);
  }
  touched_.clear();
  open_connections(now);
  for (size_t i = 0; i < touched_.size(); ++i) {
    Slot& slot = slots_[touched_[i]];
    slot.touched = false;
    flush(slot, now);
  }
  touched_.clear();

  // Nothing answers at all: no use in waiting for the end.
  if (!ever_ready_ && result_.tally.failures() >= 2 * slots_.size() + 8) phase_ = Phase::kDone;
  if (options_.requests != 0 && submitted_ >= options_.requests && idle()) {
    if (phase_ == Phase::kWarmUp) begin_window(now);
    if (phase_ == Phase::kWindow) end_window(now);
  }
  if (phase_ == Phase::kDrain && idle()) phase_ = Phase::kDone;
  if (phase_ == Phase::kDrain && now > window_end_ + options_.timeout) {
    for (size_t i = 0; i < waiting_.size(); ++i) result_.tally.failed(Failure::kUnanswered);
    phase_ = Phase::kDone;
  }
}

void Runner::watch(size_t index) {
  Slot& slot = slots_[index];
  if (slot.connection->wants_write() == slot.wants_write) return;
  slot.wants_write = slot.connection->wants_write();
  epoll_event event{};
  event.events = EPOLLIN | (slot.wants_write ? static_cast<uint32_t>(EPOLLOUT) : 0U);
  event.data.u32 = static_cast<uint32_t>(index);
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, slot.connection->descriptor(), &event);
}

bool Runner::all_ready() const {
  return std::ranges::all_of(slots_, [](const Slot& slot) {
    return slot.connection && slot.connection->state() == Connection::State::kReady;
  });
}

void Runner::begin_offering(Nanos now) {
  phase_ = Phase::kWarmUp;
  window_begin_ = now + options_.warm_up;
  window_end_ = options_.duration == kNever ? kNever : window_begin_ + options_.duration;
  planned_end_ = window_end_;
  result_.tally.latencies_between(window_begin_, planned_end_);
  if (open_loop()) schedule_.emplace(now, options_.rate, options_.poisson);
  if (options_.warm_up == 0) begin_window(now);
  for (size_t i = 0; i < slots_.size(); ++i) touch(i);
}

bool Runner::idle() const {
  if (!waiting_.empty() || !context_.again.empty()) return false;
  return std::ranges::all_of(slots_, [](const Slot& slot) {
    return !slot.assigned && (!slot.connection || slot.connection->in_flight() == 0);
  });
}

Traffic Runner::traffic() const {
  Traffic sum = result_.tally.traffic;
  sum += closed_traffic_;
  for (const Slot& slot : slots_) {
    if (slot.connection) sum += slot.connection->transport_traffic();
  }
  return sum;
}

void Runner::begin_window(Nanos now) {
  phase_ = Phase::kWindow;
  window_begin_ = now;
  result_.tally.begin_window(now);
  traffic_at_begin_ = traffic();
  cores_at_begin_ = core_times();
  for (const WatchedGroup& group : options_.watch) {
    watched_at_begin_[group.name] = cpu_time(group.processes);
  }
  own_at_begin_ = own_cpu_time();
}

void Runner::end_window(Nanos now) {
  phase_ = Phase::kDrain;
  window_end_ = now;
  result_.tally.end_window(now);
  result_.own = own_cpu_time() - own_at_begin_;
  for (const WatchedGroup& group : options_.watch) {
    result_.watched[group.name] = cpu_time(group.processes) - watched_at_begin_[group.name];
  }
  for (const auto& [core, time] : core_times()) {
    const CoreTime& begin = cores_at_begin_[core];
    result_.cores[core] = {time.busy - begin.busy, time.idle - begin.idle,
                           time.stolen - begin.stolen};
  }
  result_.traffic = traffic() - traffic_at_begin_;
  result_.window = static_cast<double>(now - window_begin_) / static_cast<double>(kSecond);
}

void Runner::say_progress(Nanos now) {
  next_progress_ = now + kSecond;
  std::fputs(std::format("{} answered, {} failed, {} waiting\n", result_.tally.completed_ever(),
                         result_.tally.failures(), waiting_.size())
                 .c_str(),
             stderr);
}

}  // namespace

Result<RunResult> run(const Options& options) {
  if (auto valid = validate(options); !valid) return std::unexpected(valid.error());
  auto server = server_address(options);
  if (!server) return std::unexpected(server.error());
  std::vector<net::Address> local;
  for (const std::string& ip : options.local) {
    auto address = net::Address::from_ip(ip, 0);
    if (!address) return std::unexpected(address.error());
    local.push_back(*address);
  }
  std::optional<TlsClient> tls;
  if (options.tls) {
    auto made = TlsClient::make(options);
    if (!made) return std::unexpected(made.error());
    tls.emplace(std::move(*made));
  }
  // The default slack of 50 us would move every appointed time of an open loop.
  prctl(PR_SET_TIMERSLACK, 1UL);
  net::raise_descriptor_limit();
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
  return Runner(options, tls ? &*tls : nullptr, *server, std::move(local)).run();
}

}  // namespace pqedge::measure::load
