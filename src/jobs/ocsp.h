// Keeps an OCSP response at hand for each certificate that names a responder: asks in time, checks
// what comes, keeps it on disk, and goes on with the old one while a responder is down.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "crypto/handles.h"
#include "crypto/ocsp.h"
#include "crypto/stapling_settings.h"
#include "jobs/web_thread.h"

namespace pqedge::jobs {

struct OcspNews;

// A certificate that wants a response.
struct OcspSubject {
  std::string id;           // the keeper's
  std::string label;        // for logs: a file, or its names
  std::string fingerprint;  // SHA-256 of the leaf in hex: what is cached is found by it
  crypto::X509Ptr leaf;
  crypto::X509Ptr issuer;  // null: not known, and nothing can be checked
  std::vector<std::string> responders;
  bool must_staple = false;
  std::shared_ptr<const OcspNews> kept;  // of cached_response(), may be null
};

// What there is for a certificate now.
struct OcspNews {
  std::string id;
  std::string fingerprint;
  std::string response;     // DER; empty: nothing may be sent
  int64_t this_update = 0;  // Unix seconds
  int64_t valid_until = 0;
  std::string timestamps;     // within the response
  std::string status;         // "good", "revoked", "unknown"; empty: none was heard yet
  std::string error;          // of the last question, empty when it was answered well
  int64_t next_question = 0;  // Unix seconds; 0: none is planned
};

// What is in the cache for it, if that is good and in force. From any thread.
std::optional<OcspNews> cached_response(const crypto::OcspSettings& settings,
                                        const OcspSubject& subject);

// Lives on the web thread, and is destroyed once that has ended.
class OcspJob {
 public:
  using Tell = std::function<void(OcspNews)>;  // called on the web thread

  OcspJob(WebThread& web, Tell tell);
  ~OcspJob();
  OcspJob(const OcspJob&) = delete;
  OcspJob& operator=(const OcspJob&) = delete;

  // All on the web thread.
  void configure(crypto::OcspSettings settings);
  void add(OcspSubject subject);  // or exchanges the one of that id; the same leaf is left alone
  void remove(const std::string& id);

 private:
  struct Entry;
  using EntryRef = std::shared_ptr<Entry>;

  void begin(const EntryRef& entry);
  void ask(const EntryRef& entry);
  void send(const EntryRef& entry, bool post);
  void on_answer(const EntryRef& entry, bool post, WebAnswer answer);
  Result<void> use(const EntryRef& entry, const std::string& response);
  void on_good(const EntryRef& entry, const std::string& response,
               const crypto::OcspAnswer& answer);
  void on_revoked(const EntryRef& entry, const crypto::OcspAnswer& answer);
  void on_failure(const EntryRef& entry, const std::string& why);
  void ask_in(const EntryRef& entry, Nanos wait);
  void watch_end(const EntryRef& entry);
  void report(Entry& entry);
  double random();  // 0 to 1

  void keep(const Entry& entry);
  std::string cache_file(const Entry& entry) const;  // empty: nothing is cached

  WebThread& web_;
  crypto::OcspSettings settings_;
  Tell tell_;
  std::map<std::string, EntryRef> entries_;  // by id
  std::minstd_rand dice_;
  bool cache_failed_ = false;  // said already
};

}  // namespace pqedge::jobs
