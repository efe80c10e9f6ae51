// The DNS messages of a dynamic update (RFC 2136) with a transaction signature (TSIG, RFC 8945), as
// bytes. What a server answers may be anything.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace pqedge::acme::dns {

struct Key {
  std::string name;    // empty: no TSIG
  std::string secret;  // of hmac-sha256
};

struct Change {
  std::string zone;
  std::string name;   // of the TXT record
  std::string value;  // at most 255 bytes
  bool add = true;    // or remove this one record
  uint16_t id = 0;
  uint64_t time = 0;  // Unix seconds, for TSIG
};

struct Message {
  std::string bytes;
  std::string mac;  // of TSIG, which the answer's is made over
};
Result<Message> encode_update(const Change& change, const Key& key);

// That the answer belongs to the request, is signed when the request was, and says NOERROR.
Result<void> check_answer(Bytes answer, const Message& request, uint16_t id, const Key& key,
                          uint64_t now);

// The name on the wire (RFC 1035 3.1), in lower case; empty: not a name.
std::string encode_name(std::string_view name);

}  // namespace pqedge::acme::dns
