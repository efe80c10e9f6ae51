#include "edge/ticket_key_keeper.h"

#include <algorithm>
#include <cerrno>
#include <format>
#include <system_error>

#include "base/counters.h"
#include "base/log.h"
#include "base/problem.h"

namespace pqedge::edge {
namespace {

const counters::Counter kLoads("pqedge_ticket_key_loads_total",
                               "Ticket keys taken from their store.");
const counters::Counter kRotations("pqedge_ticket_key_rotations_total",
                                   "Ticket keys that this process added to their store.");
const counters::Counter kErrors(
    "pqedge_ticket_key_errors_total",
    "Times that the store of ticket keys could not be read or written.");

// Beyond it somebody has forgotten to rotate.
constexpr Nanos kOld = 3 * 86'400 * kSecond;

}  // namespace

TicketKeyKeeper::TicketKeyKeeper(net::Loop& main_loop, std::shared_ptr<crypto::TicketKeyRing> ring)
    : loop_(main_loop),
      ring_(std::move(ring)),
      timer_([](void* self) { static_cast<TicketKeyKeeper*>(self)->look(); }, this) {}

Result<TicketKeyKeeper::Loaded> TicketKeyKeeper::load(const crypto::TicketKeySettings& settings) {
  Loaded loaded;
  loaded.settings = settings;
  if (settings.store_file.empty()) return loaded;
  auto key = crypto::load_kem_private_key(settings.private_key_file, settings.passphrase_file);
  if (!key) return fail("tls.ticket_keys.private_key: {}", key.error().message);
  loaded.private_key = std::move(*key);
  struct stat info{};
  // Before it is read: a change meanwhile is seen later.
  if (::stat(settings.store_file.c_str(), &info) == 0) {
    loaded.modified = info.st_mtim;
    loaded.inode = info.st_ino;
  }
  auto store = crypto::load_ticket_store(settings.store_file, loaded.private_key.get());
  if (!store) return fail("tls.ticket_keys.store: {}", store.error().message);
  loaded.store = std::move(*store);
  return loaded;
}

void TicketKeyKeeper::apply(Loaded loaded, Nanos lifetime) {
  timer_.disarm();
  in_use_ = std::move(loaded);
  lifetime_ = lifetime;
  complaint_.clear();
  if (in_use_.private_key == nullptr) {
    ring_->use_own();
    return;
  }
  take(std::move(in_use_.store));
  if (const Nanos now = wall_now(); now > newest_ && now - newest_ > kOld) {
    log::warning("tickets",
                 "{}: the newest key is {} days old; rotate it: pqedge ticket-keys rotate",
                 in_use_.settings.store_file, (now - newest_) / (86'400 * kSecond));
  }
  timer_.arm(loop_, in_use_.settings.poll);
}

void TicketKeyKeeper::take(crypto::TicketStore store) {
  kLoads.add();
  newest_ = store.keys.front().created;
  log::info("tickets", "{}: {} keys taken, the newest is {}", in_use_.settings.store_file,
            store.keys.size(), crypto::short_name(store.keys.front()));
  ring_->install(std::move(store.keys));
}

// In the log once, however often it is found.
void TicketKeyKeeper::complain(const std::string& what) {
  kErrors.add();
  if (what == complaint_) return;
  complaint_ = what;
  log::error("tickets", "{}; the keys so far stay in use", what);
}

bool TicketKeyKeeper::changed(const struct stat& info) const {
  return info.st_ino != in_use_.inode || info.st_mtim.tv_sec != in_use_.modified.tv_sec ||
         info.st_mtim.tv_nsec != in_use_.modified.tv_nsec;
}

void TicketKeyKeeper::look() {
  timer_.arm(loop_, in_use_.settings.poll);
  const std::string& file = in_use_.settings.store_file;
  struct stat info{};
  if (::stat(file.c_str(), &info) != 0) {
    const int code = errno;
    complain(std::format("{}: {}", file, std::generic_category().message(code)));
    return;
  }
  if (changed(info)) {
    in_use_.inode = info.st_ino;
    in_use_.modified = info.st_mtim;
    auto store = crypto::load_ticket_store(file, in_use_.private_key.get());
    if (!store) {
      complain(store.error().message);
      return;
    }
    complaint_.clear();
    take(std::move(*store));
  }
  rotate_if_due();
}

void TicketKeyKeeper::rotate_if_due() {
  const Nanos every = in_use_.settings.rotate_every;
  if (every == 0 || newest_ + every > wall_now() + kLead) return;
  if (auto done = rotate(); !done) complain(done.error().message);
}

Result<void> TicketKeyKeeper::rotate() {
  const std::string& file = in_use_.settings.store_file;
  const auto lock = crypto::TicketStoreLock::take(file);
  if (!lock) return std::unexpected(lock.error());
  auto store = crypto::load_ticket_store(file, in_use_.private_key.get());
  if (!store) return std::unexpected(store.error());
  const Nanos every = in_use_.settings.rotate_every;
  const Nanos earliest = wall_now() + kLead;
  const Nanos newest = store->keys.front().created;
  if (newest + every <= earliest) {  // else another was faster
    // The next, the present one, and those whose tickets have not expired.
    const size_t keep = 2 + static_cast<size_t>(lifetime_ / every) + 1;
    crypto::add_next_key(*store, std::max(newest + every, earliest), keep);
    if (auto saved = crypto::save_ticket_store(file, *store); !saved) return saved;
    kRotations.add();
  }
  struct stat info{};
  if (::stat(file.c_str(), &info) == 0) {
    in_use_.inode = info.st_ino;
    in_use_.modified = info.st_mtim;
  }
  complaint_.clear();
  take(std::move(*store));
  return {};
}

}  // namespace pqedge::edge
