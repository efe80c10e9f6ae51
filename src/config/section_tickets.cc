// Resumption and 0-RTT, in [tls].
#include "config/section_readers.h"

namespace pqedge::config {
namespace {

void read_ticket_keys(Table& t, crypto::TicketKeySettings& s) {
  t.path("store", s.store_file);
  t.path("private_key", s.private_key_file);
  t.path("passphrase_file", s.passphrase_file);
  t.duration("poll", s.poll);
  t.duration("rotate_every", s.rotate_every);
  for (const char* key : {"private_key", "passphrase_file", "poll", "rotate_every"}) {
    if (t.has(key) && s.store_file.empty()) {
      t.problem(t.key_path(key), "has no effect without store", "name the file of the keys: store");
    }
  }
}

}  // namespace

void read_tickets(Table& t, crypto::TlsSettings& s) {
  t.read("session_tickets", s.session_tickets);
  t.duration("ticket_lifetime", s.ticket_lifetime);
  t.read("ticket_encapsulation", s.ticket_encapsulation);
  t.table("ticket_keys", [&](Table& keys) { read_ticket_keys(keys, s.ticket_keys); });
  t.read("early_data", s.early_data.on);
  t.size("max_early_data", s.early_data.max_bytes);
  t.count("early_data_tickets", s.early_data.replay_entries);
  for (const char* key : {"max_early_data", "early_data_tickets"}) {
    if (t.has(key) && !s.early_data.on) {
      t.problem(t.key_path(key), "has no effect without early_data = true");
    }
  }
}

}  // namespace pqedge::config
