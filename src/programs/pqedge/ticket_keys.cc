#include "programs/pqedge/ticket_keys.h"
#include "programs/pqedge/complain.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <format>

#include "base/time.h"
#include "config/units.h"
#include "crypto/ticket_files.h"

namespace pqedge {
namespace {

std::string when(Nanos wall) {
  const auto seconds = static_cast<time_t>(wall / kSecond);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

Result<void> add_recipients(crypto::TicketStore& store, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const auto key = crypto::load_kem_public_key(file);
    if (!key) return std::unexpected(key.error());
    if (std::ranges::find(store.recipients, *key) == store.recipients.end()) {
      store.recipients.push_back(*key);
    }
  }
  return {};
}

void print(const crypto::TicketStore& store) {
  const Nanos now = wall_now();
  bool current_seen = false;
  for (const crypto::TicketKey& key : store.keys) {
    const bool begun = key.created <= now;
    const char* state = !begun ? "next" : current_seen ? "opens old tickets" : "in use";
    current_seen |= begun;
    std::printf("key %s  seals from %s  %s\n", crypto::short_name(key).c_str(),
                when(key.created).c_str(), state);
  }
  std::printf("for %zu machine%s\n", store.recipients.size(),
              store.recipients.size() == 1 ? "" : "s");
}

}  // namespace

TicketKeysCommand::TicketKeysCommand(CLI::App& app)
    : command_(app.add_subcommand(
          "ticket-keys", "Ticket keys that restarts and other machines share (tls.ticket_keys).")),
      init_(command_->add_subcommand(
          "init", "Make a store with its first key, and a private key if there is none.")),
      rotate_(command_->add_subcommand(
          "rotate", "Add the next key, and drop the oldest; machines take it from the file.")),
      show_(command_->add_subcommand("show", "Print what a store holds, without its secrets.")) {
  command_->require_subcommand(1);
  for (CLI::App* c : {init_, rotate_, show_}) add_files(c);
  for (CLI::App* c : {init_, rotate_}) {
    c->add_option("--recipient", recipients_,
                  "Another machine's public key (PEM, ML-KEM-1024); may be repeated.");
  }
  rotate_->add_option("--lead", lead_, "How long before it seals the key is made known.")
      ->capture_default_str();
  rotate_->add_option("--keep", keep_, "Keys to keep, with the new one.")
      ->check(CLI::Range(size_t{2}, crypto::kMaxStoredKeys))
      ->capture_default_str();
}

void TicketKeysCommand::add_files(CLI::App* command) {
  command->add_option("--store", store_, "The file of the keys.")->required();
  command
      ->add_option("--private-key", private_key_, "This machine's private key (PEM, ML-KEM-1024).")
      ->required();
  command->add_option("--passphrase-file", passphrase_file_, "Its passphrase, if it has one.");
}

std::optional<int> TicketKeysCommand::run() const {
  if (*init_) return init();
  if (*rotate_) return rotate();
  if (*show_) return show();
  return std::nullopt;
}

int TicketKeysCommand::init() const {
  const auto lock = crypto::TicketStoreLock::take(store_);
  if (!lock) return complain(lock.error().message);
  if (::access(store_.c_str(), F_OK) == 0) {
    return complain(store_ + " is there already; pqedge ticket-keys rotate adds a key to it");
  }
  const bool has_key = ::access(private_key_.c_str(), F_OK) == 0;
  const auto key = has_key ? crypto::load_kem_private_key(private_key_, passphrase_file_)
                           : crypto::make_kem_key_files(private_key_, passphrase_file_);
  if (!key) return complain(key.error().message);
  crypto::TicketStore store;
  crypto::KemPublicKey ours;
  if (!crypto::kem_public_bytes(key->get(), ours))
    return complain("the private key cannot be used");
  store.recipients.push_back(ours);
  if (auto ok = add_recipients(store, recipients_); !ok) return complain(ok.error().message);
  crypto::add_next_key(store, wall_now(), 1);
  if (auto ok = crypto::save_ticket_store(store_, store); !ok) return complain(ok.error().message);
  if (!has_key) {
    std::printf("%s: a new private key; its public key is in %s.pub\n", private_key_.c_str(),
                private_key_.c_str());
  }
  std::printf("%s: a new store\n", store_.c_str());
  print(store);
  return 0;
}

int TicketKeysCommand::rotate() const {
  const auto lead = config::parse_duration(lead_);
  if (!lead) return complain("--lead is a duration such as 5m or 0s, not " + lead_);
  const auto key = crypto::load_kem_private_key(private_key_, passphrase_file_);
  if (!key) return complain(key.error().message);
  const auto lock = crypto::TicketStoreLock::take(store_);
  if (!lock) return complain(lock.error().message);
  auto store = crypto::load_ticket_store(store_, key->get());
  if (!store) return complain(store.error().message);
  if (auto ok = add_recipients(*store, recipients_); !ok) return complain(ok.error().message);
  crypto::add_next_key(*store, wall_now() + *lead, keep_);
  if (auto ok = crypto::save_ticket_store(store_, *store); !ok) return complain(ok.error().message);
  print(*store);
  return 0;
}

int TicketKeysCommand::show() const {
  const auto key = crypto::load_kem_private_key(private_key_, passphrase_file_);
  if (!key) return complain(key.error().message);
  const auto store = crypto::load_ticket_store(store_, key->get());
  if (!store) return complain(store.error().message);
  print(*store);
  return 0;
}

}  // namespace pqedge
