// Certificates by ACME in threads of their own: those of the configuration, and those that clients
// ask for. A CA that hangs holds up these threads and nothing else.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "jobs/acme/entry.h"
#include "jobs/acme/host.h"
#include "jobs/acme/on_demand.h"
#include "jobs/acme/settings.h"
#include "jobs/acme/storage.h"

namespace pqedge::acme {

class Service {
 public:
  // `host` must outlive the service.
  explicit Service(Host& host) : host_(host) {}
  ~Service() { stop(); }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // What a configuration changes: certificates to be put into use by the caller (those of the
  // storage, and those that there are none of yet), and ids that are no longer wanted. Settings
  // that are not on() want none. Reads files; called by one thread.
  struct Changes {
    std::vector<Stored> present;
    std::vector<std::string> gone;
  };
  Result<Changes> configure(std::shared_ptr<const Settings> settings);

  // From here on the threads run. Before, nobody is called.
  void begin();

  // A client asks for a name that no certificate covers. False: it gets none now. Any thread.
  bool request(std::string_view host, OnDemandGate::Wake wake);

  void finish();  // begins nothing new, and does not wait
  void stop();    // waits for the threads, at most as long as one of their steps

 private:
  void start_threads();
  void attend();     // orders and renewals
  void answer();     // asks about names
  void keep_time();  // of those who wait
  void settle(const std::shared_ptr<Entry>& entry, Nanos next);
  void add_asked(const std::string& name);
  std::shared_ptr<Entry> take_due(Nanos now, Nanos& next) const;
  std::shared_ptr<OnDemandGate> gate() const;
  void count_names() const;
  std::vector<std::shared_ptr<Entry>> wanted(const Settings& settings,
                                             const Storage& storage) const;

  Host& host_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> on_demand_{false};

  mutable std::mutex mutex_;  // of all below but the gate
  std::condition_variable changed_;
  std::shared_ptr<const Settings> settings_;
  std::vector<std::shared_ptr<Entry>> entries_;

  mutable std::mutex gate_mutex_;
  std::condition_variable asked_;  // with gate_mutex_
  std::shared_ptr<OnDemandGate> gate_;
  OnDemandSettings gate_settings_;
  uint64_t requests_ = 0;

  bool running_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace pqedge::acme
