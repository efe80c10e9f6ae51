// Whether the settings of resumption and 0-RTT make sense.
#include "crypto/policy.h"

namespace pqedge::crypto {
namespace {

// A store has room for so many keys whose tickets have not expired (ticket_store.h).
constexpr Nanos kMostOldKeys = 12;

void check_keys(Problems& problems, const TlsSettings& settings) {
  const TicketKeySettings& keys = settings.ticket_keys;
  if (keys.store_file.empty()) return;
  if (keys.private_key_file.empty()) {
    problems.push_back({.key = "tls.ticket_keys",
                        .what = "has a store and no private_key to open it",
                        .hint = "pqedge ticket-keys init makes both"});
  }
  check_duration(problems, "tls.ticket_keys.poll", keys.poll, kSecond, 60 * kSecond);
  if (keys.rotate_every == 0) return;
  check_duration(problems, "tls.ticket_keys.rotate_every", keys.rotate_every, 600 * kSecond,
                 30 * kDay);
  if (keys.rotate_every * kMostOldKeys < settings.ticket_lifetime) {
    problems.push_back({.key = "tls.ticket_keys.rotate_every",
                        .what = "is less than a twelfth of tls.ticket_lifetime",
                        .hint = "the store would lose keys whose tickets are still good",
                        .related = "tls.ticket_lifetime"});
  }
}

void check_early_data(Problems& problems, const TlsSettings& settings) {
  const EarlyDataSettings& early = settings.early_data;
  if (!early.on) return;
  if (settings.client_auth.mode != ClientAuth::off) {
    problems.push_back({.key = "tls.early_data",
                        .what = "cannot be had where clients are asked for a certificate",
                        .hint = "nothing proves who they are before the handshake is complete"});
  }
  check_size(problems, "tls.max_early_data", early.max_bytes, 1024, 64 * 1024);
  check_count(problems, "tls.early_data_tickets", early.replay_entries, 1024, 16'777'216);
}

}  // namespace

void check_tickets(Problems& problems, const TlsSettings& settings) {
  if (!settings.session_tickets) {
    const auto useless = [&](const char* key, bool set) {
      if (!set) return;
      problems.push_back({.key = key,
                          .what = "has no effect with session_tickets = false",
                          .related = "tls.session_tickets"});
    };
    useless("tls.ticket_keys", !settings.ticket_keys.store_file.empty());
    useless("tls.ticket_encapsulation", settings.ticket_encapsulation);
    useless("tls.early_data", settings.early_data.on);
  }
  check_keys(problems, settings);
  check_early_data(problems, settings);
}

}  // namespace pqedge::crypto
