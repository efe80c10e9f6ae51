#include "jobs/discovery.h"

#include <algorithm>
#include <cstdio>
#include <format>
#include <fstream>

#include "base/counters.h"
#include "base/log.h"
#include "upstream/server_list.h"

namespace pqedge::jobs {

using upstream::DiscoverySettings;
using upstream::ServerSettings;
using Kind = DiscoverySettings::Kind;

Result<std::vector<ServerSettings>> read_server_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail_errno(errno, "{}", path);
  // One byte more than may be: a longer one is seen to be longer.
  std::string text(upstream::kMaxServerListBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return fail_errno(errno, "{}", path);
  text.resize(static_cast<size_t>(file.gcount()));
  auto servers = upstream::parse_server_list(text);
  if (!servers) return fail("{}: {}", path, servers.error().message);
  return servers;
}

// ---- one pool ----------------------------------------------------------------------------------

class Discovery::Entry {
 public:
  Entry(Discovery& owner, std::string pool, DiscoverySettings settings)
      : owner_(owner), pool_(std::move(pool)), settings_(std::move(settings)) {
    const auto counted = [this](const char* result) {
      return counters::Counter("pqedge_discovery_total",
                               "Answers to where the servers of a pool are.",
                               {{"pool", pool_}, {"result", result}});
    };
    found_count_ = counted("found");
    failed_count_ = counted("failed");
  }
  virtual ~Entry() = default;
  const DiscoverySettings& settings() const { return settings_; }
  virtual void begin() = 0;

 protected:
  // In this order, for a pool is told of a change once: a failure leaves it as it is.
  void tell(Result<std::vector<ServerSettings>> result, uint32_t next) {
    DiscoveryReport report{.pool = pool_, .settings = settings_, .found = result.has_value()};
    report.asked = wall_now() / kSecond;
    report.next = next;
    (result ? found_count_ : failed_count_).add();
    if (result) {
      report.servers = std::move(*result);
      if (failing_) log::info("discovery", "pool '{}': its servers are found again", pool_);
      failing_ = false;
    } else {
      report.error = result.error().message;
      if (!failing_) {
        log::warning("discovery", "pool '{}': {}; it keeps the servers that it has", pool_,
                     report.error);
      }
      failing_ = true;
    }
    owner_.tell_(std::move(report));
  }

  Discovery& owner_;
  const std::string pool_;
  const DiscoverySettings settings_;

 private:
  counters::Counter found_count_;
  counters::Counter failed_count_;
  bool failing_ = false;
};

// ---- DNS ---------------------------------------------------------------------------------------

class Discovery::DnsEntry final : public Entry, public std::enable_shared_from_this<DnsEntry> {
 public:
  DnsEntry(Discovery& owner, std::string pool, DiscoverySettings settings,
           std::shared_ptr<Resolver> resolver)
      : Entry(owner, std::move(pool), std::move(settings)),
        resolver_(std::move(resolver)),
        timer_([](void* self) { static_cast<DnsEntry*>(self)->begin(); }, this) {}

  void begin() override {
    const std::weak_ptr<DnsEntry> self = weak_from_this();
    if (settings_.kind == Kind::srv) {
      resolver_->services(settings_.name, [self](Result<FoundServices> found) {
        if (const auto entry = self.lock()) entry->on_services(std::move(found));
      });
      return;
    }
    resolver_->addresses(settings_.name, settings_.port, [self](Result<FoundAddresses> found) {
      if (const auto entry = self.lock()) entry->on_addresses(std::move(found));
    });
  }

 private:
  struct Target {
    FoundService service;
    std::vector<net::Address> addresses;
  };

  void on_addresses(Result<FoundAddresses> found) {
    if (!found) return fail_with(found.error());
    std::vector<ServerSettings> servers;
    for (const net::Address& address : found->addresses) {
      servers.push_back({.address = address, .name = address.to_string()});
    }
    finish(std::move(servers), found->ttl);
  }

  void on_services(Result<FoundServices> found) {
    if (!found) return fail_with(found.error());
    ttl_ = found->ttl;
    targets_.clear();
    for (FoundService& s : found->services) targets_.push_back({std::move(s), {}});
    open_ = targets_.size();
    const std::weak_ptr<DnsEntry> self = weak_from_this();
    for (size_t i = 0; i < targets_.size(); ++i) {
      const FoundService& s = targets_[i].service;
      resolver_->addresses(s.target, s.port, [self, i](Result<FoundAddresses> addresses) {
        if (const auto entry = self.lock()) entry->on_target(i, std::move(addresses));
      });
    }
  }

  void on_target(size_t i, Result<FoundAddresses> found) {
    Target& target = targets_[i];
    const std::string key = std::format("{}:{}", target.service.target, target.service.port);
    if (found) {
      ttl_ = std::min(ttl_, found->ttl);
      target.addresses = std::move(found->addresses);
      known_[key] = target.addresses;
    } else {
      log::warning("discovery", "pool '{}': {}: {}", pool_, target.service.target,
                   found.error().message);
      if (const auto it = known_.find(key); it != known_.end()) target.addresses = it->second;
    }
    if (--open_ == 0) on_all_targets();
  }

  // RFC 2782: the lowest priority first, and within it shares by weight; a weight of 0 is a small
  // one.
  void on_all_targets() {
    uint32_t heaviest = 1;
    std::vector<uint16_t> priorities;
    for (const Target& t : targets_) {
      heaviest = std::max<uint32_t>(heaviest, t.service.weight);
      priorities.push_back(t.service.priority);
    }
    std::ranges::sort(priorities);
    const auto twice = std::ranges::unique(priorities);
    priorities.erase(twice.begin(), twice.end());
    const uint32_t scale = std::max(heaviest, upstream::kMaxWeight);

    std::map<std::string, ServerSettings> servers;  // by address: the order is always the same
    for (const Target& t : targets_) {
      const auto rank = std::ranges::lower_bound(priorities, t.service.priority);
      for (const net::Address& address : t.addresses) {
        ServerSettings s{.address = address, .name = address.to_string()};
        s.weight = std::max(
            1U, static_cast<uint32_t>(uint64_t{t.service.weight} * upstream::kMaxWeight / scale));
        s.priority =
            std::min(static_cast<uint32_t>(rank - priorities.begin()), upstream::kMaxPriority);
        if (servers.size() < upstream::kMaxServers) servers.try_emplace(s.name, std::move(s));
      }
    }
    forget_old_targets();
    if (servers.empty()) return fail_with({"no target of the SRV records has an address", 0});
    std::vector<ServerSettings> list;
    for (auto& [name, server] : servers) list.push_back(std::move(server));
    finish(std::move(list), ttl_);
  }

  void forget_old_targets() {
    std::erase_if(known_, [this](const auto& k) {
      return std::ranges::none_of(targets_, [&](const Target& t) {
        return std::format("{}:{}", t.service.target, t.service.port) == k.first;
      });
    });
  }

  void finish(std::vector<ServerSettings> servers, uint32_t ttl) {
    failures_ = 0;
    const Nanos wait = std::clamp(Nanos{ttl} * kSecond, settings_.min_ttl, settings_.max_ttl);
    timer_.arm(owner_.loop_, wait);
    tell(std::move(servers), seconds(wait));
  }

  // Soon again, and then less often.
  void fail_with(const Error& error) {
    const Nanos wait =
        std::clamp(kSecond << std::min(failures_, 6U), settings_.min_ttl, settings_.max_ttl);
    ++failures_;
    timer_.arm(owner_.loop_, wait);
    tell(fail("{}: {}", settings_.name, error.message), seconds(wait));
  }

  static uint32_t seconds(Nanos wait) {
    return static_cast<uint32_t>(std::max<Nanos>(1, wait / kSecond));
  }

  const std::shared_ptr<Resolver> resolver_;
  net::Timer timer_;
  uint32_t failures_ = 0;
  uint32_t ttl_ = 0;
  std::vector<Target> targets_;
  size_t open_ = 0;  // targets that are being looked up
  std::map<std::string, std::vector<net::Address>> known_;
};

// ---- a file ------------------------------------------------------------------------------------

class Discovery::FileEntry final : public Entry {
 public:
  using Entry::Entry;

  void begin() override {
    auto watch = FileWatch::start(owner_.loop_, [this] { look(); });
    if (watch) {
      watch_ = std::move(*watch);
      watch_->set_paths({settings_.file});
    } else {
      log::warning("discovery", "pool '{}': {} is not watched: {}", pool_, settings_.file,
                   watch.error().message);
    }
    look();
  }

 private:
  void look() { tell(read_server_file(settings_.file), 0); }

  std::unique_ptr<FileWatch> watch_;
};

// ---- Discovery ---------------------------------------------------------------------------------

Discovery::Discovery(net::Loop& loop, Tell tell) : loop_(loop), tell_(std::move(tell)) {}
Discovery::~Discovery() = default;

Result<std::shared_ptr<Resolver>> Discovery::resolver_for(const DiscoverySettings& settings) {
  std::string key = std::format("{}", settings.timeout);
  for (const net::Address& a : settings.resolvers) key += ' ' + a.to_string();
  std::erase_if(resolvers_, [](const auto& r) { return r.second.expired(); });
  if (const auto it = resolvers_.find(key); it != resolvers_.end()) return it->second.lock();
  auto made = Resolver::create(loop_, settings.resolvers, settings.timeout);
  if (!made) return std::unexpected(made.error());
  std::shared_ptr<Resolver> resolver = std::move(*made);
  resolvers_[key] = resolver;
  return resolver;
}

void Discovery::set(const std::map<std::string, DiscoverySettings>& pools) {
  std::erase_if(entries_, [&pools](const auto& e) {
    const auto it = pools.find(e.first);
    return it == pools.end() || !(it->second == e.second->settings());
  });
  for (const auto& [pool, settings] : pools) {
    if (settings.kind == Kind::off || entries_.contains(pool)) continue;
    std::shared_ptr<Entry> entry;
    if (settings.kind == Kind::file) {
      entry = std::make_shared<FileEntry>(*this, pool, settings);
    } else {
      auto resolver = resolver_for(settings);
      if (!resolver) {
        log::error("discovery", "pool '{}': {}", pool, resolver.error().message);
        tell_({.pool = pool, .settings = settings, .error = resolver.error().message});
        continue;
      }
      entry = std::make_shared<DnsEntry>(*this, pool, settings, std::move(*resolver));
    }
    entries_[pool] = entry;
    entry->begin();
  }
}

}  // namespace pqedge::jobs
