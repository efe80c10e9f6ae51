// Which server a client is tied to: by a cookie that names it, or by a table of clients.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "base/time.h"
#include "http/message.h"
#include "net/address.h"
#include "upstream/settings.h"

namespace pqedge::upstream {

// The value of a cookie in the request's Cookie fields (RFC 6265 4.2.1); the first of that name.
// Without data where there is none.
std::string_view cookie_value(const http::Fields& fields, std::string_view name);

// Of an IPv6 address the first 64 bits count: hosts change the rest as they like (RFC 8981).
uint64_t address_hash(const net::Address& address);
// A hash of what the request has for the key; 0: it has nothing.
uint64_t key_hash(const KeySource& source, const http::Request& request,
                  std::string_view client_ip);

// The cookie's value is the member's id and, with a time to live, until when it holds, in seconds
// of the Unix epoch. 0: it is none of ours, or its time is over.
uint64_t member_of_cookie(std::string_view value, uint64_t wall);
// A Set-Cookie field's value, in `arena`.
std::string_view make_tie_cookie(std::string_view name, uint64_t member, Nanos ttl, uint64_t wall,
                                 bool secure, Arena& arena);

// Clients and the members they are tied to, for the whole process. Of a fixed size: where there are
// more clients, those that were not seen for the longest time are forgotten. Thread safe.
class Ties {
 public:
  explicit Ties(uint32_t entries);

  // The member that `key` is tied to, 0: none. Its time begins anew.
  uint64_t find(uint64_t key, Nanos now, Nanos ttl);
  // Ties `key` to `member`, unless it is tied to one that is neither that nor `instead_of`. Returns
  // whom it is tied to then.
  uint64_t claim(uint64_t key, uint64_t member, uint64_t instead_of, Nanos now, Nanos ttl);

  uint32_t entries() const { return entries_; }
  // Takes over what another table knows.
  void take_from(Ties& other);

  // For the table of another process: the key as find() takes it.
  struct Tie {
    uint64_t key = 0;
    uint64_t member = 0;
    Nanos seen = 0;
  };
  // Of more than `most`, those seen last.
  std::vector<Tie> known(size_t most);
  // A key that is there already stays as it is.
  void add(const std::vector<Tie>& ties);

 private:
  static constexpr size_t kWays = 8;
  static constexpr size_t kLocks = 64;
  struct Entry {
    uint64_t key = 0;  // 0: free
    uint64_t member = 0;
    Nanos seen = 0;
  };
  struct Bucket {
    Entry entries[kWays];
  };
  size_t index(uint64_t key) const { return key & (buckets_.size() - 1); }
  std::mutex& lock_of(uint64_t key) { return locks_[index(key) % kLocks]; }
  Entry* look_up(uint64_t key, Nanos now, Nanos ttl);
  void put(const Entry& entry);

  const uint32_t entries_;
  std::vector<Bucket> buckets_;
  std::unique_ptr<std::mutex[]> locks_;
};

}  // namespace pqedge::upstream
