// Who is in each pool now. On the main thread: servers of the configuration, those that discovery
// finds, and what an operator changed at run time; every worker gets a change by message.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "edge/member_table.h"
#include "edge/run_time_state.h"
#include "edge/snapshot.h"
#include "jobs/backend_jobs.h"
#include "net/loop.h"
#include "upstream/member.h"
#include "upstream/pool_state.h"

namespace pqedge::edge {

// What an operator asks for. Its error has the status of HTTP that says what kind it is: 404, 409,
// 422.
struct PoolOrder {
  enum class Kind : uint8_t { add, remove, weight, drain, ready, reset, replace };
  Kind kind = Kind::ready;
  std::string pool;
  std::string server;  // its name or address; not for add and replace
  uint32_t weight = 1;
  std::vector<upstream::ServerSettings> servers;  // add: one; replace: all that orders added
};

class PoolKeeper {
 public:
  // Hands the servers of a pool to every worker.
  using Publish =
      std::function<void(const std::string& pool, std::shared_ptr<const upstream::Members>)>;

  PoolKeeper(net::Loop& main_loop, upstream::Registry& registry, MemberTable& table,
             Publish publish);
  ~PoolKeeper();

  // Reads the lists that pools come from as files: an error is the configuration's.
  static Result<void> check(const Settings& settings);
  // A configuration is about to be installed, and will not fail any more: the table has its pools
  // when this returns. What discovery and operators did to a pool stays if its definition (servers
  // and discovery) is as it was. Waits at most `patience` for the first answers of DNS.
  void adopt(const std::shared_ptr<const Snapshot>& snapshot, Nanos patience);

  Result<std::string> order(const PoolOrder& order);

  // For the process that takes this one's place; and in it, before the first adopt()
  // (run_time_state.cc).
  std::vector<PoolHandover> run_time_state() const;
  void go_on_with(std::vector<PoolHandover> before);

  // JSON: one pool, or all with an empty name; an empty text: there is no such pool.
  std::string json(std::string_view pool) const;

 private:
  // What orders changed about one server.
  struct Change {
    std::optional<uint32_t> weight;
    bool draining = false;
    bool removed = false;
  };
  struct Kept {
    upstream::PoolSettings settings;
    std::shared_ptr<const crypto::BackendTls> tls;
    std::shared_ptr<upstream::Circle> circle;
    std::vector<upstream::ServerSettings> found;  // by discovery
    std::vector<upstream::ServerSettings> added;  // by orders
    std::map<std::string, Change> changes;        // by address
    std::shared_ptr<const upstream::Members> members;
    jobs::DiscoveryReport report;
    // What workers share of the pool: it is there before the first of them.
    std::shared_ptr<upstream::PoolState> shared;
    // By address: what the process before knew of servers that are not met yet.
    std::map<std::string, upstream::ServerState::Known> standings;
  };

  // Reports on their way from the thread that makes them.
  struct Inbox {
    std::mutex mutex;
    std::condition_variable came;
    std::vector<jobs::DiscoveryReport> reports;
    PoolKeeper* owner = nullptr;  // of the main thread
  };

  static bool same_servers(const std::vector<upstream::ServerSettings>& a,
                           const std::vector<upstream::ServerSettings>& b);
  static bool same_definition(const upstream::PoolSettings& a, const upstream::PoolSettings& b);
  void begin_pool(Kept& kept, const upstream::PoolSettings& settings,
                  std::shared_ptr<const crypto::BackendTls> tls);
  void take_state(Kept& kept);
  void resume(Kept& kept, const upstream::Members& members);
  void drop_states();
  // Members anew from all sources. True: they are others than before.
  bool compose(Kept& kept);
  void compose_and_publish(Kept& kept);
  void update_jobs();
  std::unique_ptr<jobs::BackendJobs> start_jobs();
  void send_checks();
  // Reports that have come. `awaited`: pools whose first one is waited for; those that came are
  // taken out, and nobody is told, for the workers do not know these pools yet.
  void take_reports(std::set<std::string>* awaited);
  void await_reports(std::set<std::string> awaited, Nanos patience);
  void on_report(jobs::DiscoveryReport report, bool tell);
  Result<std::string> add(Kept& kept, const PoolOrder& order);
  Result<std::string> replace(Kept& kept, const PoolOrder& order);
  Result<std::string> change(Kept& kept, const PoolOrder& order);

  net::Loop& loop_;
  upstream::Registry& registry_;
  MemberTable& table_;
  Publish publish_;
  std::map<std::string, Kept, std::less<>> pools_;
  std::map<std::string, PoolHandover, std::less<>> before_;  // of the process before, until adopted
  std::shared_ptr<const http::Limits> limits_;
  std::shared_ptr<Inbox> inbox_;
  // Null until a pool wants checks or discovery.
  std::unique_ptr<jobs::BackendJobs> jobs_;
};

}  // namespace pqedge::edge
