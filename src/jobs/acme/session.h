// A conversation with one CA: its directory, our account there, signed requests (RFC 8555 6 and 7).
// Used by one thread at a time.
#pragma once

#include <atomic>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "jobs/acme/account_key.h"
#include "jobs/acme/http.h"
#include "jobs/acme/messages.h"
#include "jobs/acme/settings.h"
#include "jobs/acme/storage.h"

namespace pqedge::acme {

// Why something was not done, and when it makes sense to try again.
struct Failure {
  std::string text;
  std::string type;       // of the CA's problem document; empty: none came
  Nanos retry_after = 0;  // 0: not said
};
template <typename T>
using Outcome = std::expected<T, Failure>;

std::unexpected<Failure> failure(std::string text);
std::unexpected<Failure> failure(const Error& error);

class Session {
 public:
  // `stop` ends waits and exchanges early. All must outlive the session.
  Session(const Settings& settings, const Storage& storage, const std::atomic<bool>& stop)
      : settings_(settings), storage_(storage), stop_(stop) {}

  // Reads the directory, and makes the account or finds it again, unless that was done before.
  Outcome<void> begin();
  const Directory& directory() const { return *directory_; }
  const AccountKey& key() const { return *key_; }
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }
  const std::atomic<bool>* stop_flag() const { return &stop_; }
  const Settings& settings() const { return settings_; }

  // A signed request; badNonce is tried again (RFC 8555 6.5). A status of 400 or more is a failure.
  Outcome<HttpAnswer> post(const std::string& url, const std::string& payload);
  Outcome<HttpAnswer> post_as_get(const std::string& url) { return post(url, {}); }
  // RFC 9773 4.1; no signature. Only where the directory names it.
  struct Renewal {
    RenewalInfo info;
    Nanos retry_after = 0;
  };
  Outcome<Renewal> renewal_info(const std::string& certificate_id);

  // Waits, at most so long; false: the process is stopping.
  bool sleep(Nanos time) const;

 private:
  Outcome<void> read_directory();
  Outcome<void> load_key();
  Outcome<void> open_account();
  Outcome<std::string> account_payload(const std::string& url) const;
  Outcome<std::string> take_nonce();
  Outcome<HttpAnswer> post_with(const std::string& url, const std::string& payload, bool with_key);
  Failure refused(const std::string& what, const HttpAnswer& answer) const;

  const Settings& settings_;
  const Storage& storage_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<HttpClient> http_;
  std::optional<Directory> directory_;
  Nanos directory_read_ = 0;
  std::optional<AccountKey> key_;
  std::string account_;  // URL
  std::string nonce_;
};

}  // namespace pqedge::acme
