// Ticket keys that restarts and other machines share (tls.ticket_keys), on the main thread: read at
// start and reload, looked at again while the process runs, and rotated where it is this machine's
// task. What cannot be read changes nothing: the keys so far stay in use.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "crypto/settings.h"
#include "crypto/ticket_files.h"
#include "crypto/tickets.h"
#include "net/loop.h"

namespace pqedge::edge {

class TicketKeyKeeper {
 public:
  // A key is written so long before it begins: longer than any machine's poll.
  static constexpr Nanos kLead = 300 * kSecond;

  TicketKeyKeeper(net::Loop& main_loop, std::shared_ptr<crypto::TicketKeyRing> ring);

  // What the settings name, read and checked. Errors name the key of the configuration and the
  // file.
  struct Loaded {
    crypto::TicketKeySettings settings;
    crypto::KemKey private_key;  // null: no store, the keys are the process's own
    crypto::TicketStore store;
    struct timespec modified = {};
    ino_t inode = 0;
  };
  static Result<Loaded> load(const crypto::TicketKeySettings& settings);
  // Takes it into use. `lifetime` of a ticket: old keys are kept so long when this machine rotates.
  void apply(Loaded loaded, Nanos lifetime);

 private:
  void look();
  void take(crypto::TicketStore store);
  void rotate_if_due();
  Result<void> rotate();
  bool changed(const struct stat& info) const;
  void complain(const std::string& what);

  net::Loop& loop_;
  std::shared_ptr<crypto::TicketKeyRing> ring_;
  Loaded in_use_;  // its store's keys are in the ring, only their times are kept
  Nanos lifetime_ = 0;
  Nanos newest_ = 0;  // wall-clock time at which the newest key begins
  std::string complaint_;
  net::Timer timer_;
};

}  // namespace pqedge::edge
