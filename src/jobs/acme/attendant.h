// Keeps one certificate at a time fresh: reads what another process stored, asks when to renew,
// orders, stores, puts into use. One for each thread of the service.
#pragma once

#include <atomic>
#include <memory>

#include "jobs/acme/ask.h"
#include "jobs/acme/entry.h"
#include "jobs/acme/host.h"
#include "jobs/acme/session.h"
#include "jobs/acme/settings.h"
#include "jobs/acme/storage.h"

namespace pqedge::acme {

class Attendant {
 public:
  Attendant(std::shared_ptr<const Settings> settings, Host& host, const std::atomic<bool>& stop)
      : settings_(std::move(settings)),
        host_(host),
        stop_(stop),
        storage_(settings_->storage, settings_->directory),
        session_(*settings_, storage_, stop),
        asker_(settings_->on_demand, stop) {}

  const std::shared_ptr<const Settings>& settings() const { return settings_; }

  // Does what is to be done; returns when it wants to be called again (monotonic). kNever: the
  // entry is to be dropped.
  Nanos attend(Entry& entry);

 private:
  std::string file_of(const Entry& entry) const {
    return storage_.certificate_file(entry.id, entry.on_demand);
  }
  bool adopt_stored(Entry& entry);
  void poll_window(Entry& entry);
  double due_at(const Entry& entry) const;
  Nanos next_look(const Entry& entry) const;
  Nanos renew(Entry& entry);
  bool may_renew(const Entry& entry, Nanos& again);
  Nanos order(Entry& entry);
  Nanos failed(Entry& entry, const Failure& why);
  void succeeded(Entry& entry, bool by_window);

  const std::shared_ptr<const Settings> settings_;
  Host& host_;
  const std::atomic<bool>& stop_;
  const Storage storage_;
  Session session_;
  Asker asker_;
};

// An entry that no one attends to any more raises no alarm.
void forget(const Entry& entry);

// Reads and checks a stored certificate into `entry` and `out`; false: there is none that fits.
bool load_stored(const Storage& storage, const Settings& settings, Entry& entry, Stored& out);

}  // namespace pqedge::acme
