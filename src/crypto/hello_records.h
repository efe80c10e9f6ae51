// The ClientHello at the start of a TLS connection over TCP, however it is cut into records
// (RFC 8446 5.1) and however these arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace pqedge::crypto {

class HelloRecords {
 public:
  // Of the message, its header included.
  static constexpr size_t kMaxHello = 16 * 1024;
  // Of what came over the wire, with the headers of records.
  static constexpr size_t kMaxBytes = 32 * 1024;

  enum class State : uint8_t {
    more,
    whole,    // message() has it
    not_tls,  // it does not begin with a handshake record
    broken,   // records that TLS forbids, or another message than a ClientHello
    too_long,
  };
  // `all`: every byte that came so far, the known ones again and in the same place. Looks only at
  // what is new.
  State take(Bytes all);
  State state() const { return state_; }

  // A view into the bytes of the last take() where one record held it, else into this object.
  Bytes message() const { return message_; }

 private:
  bool take_record_header(Bytes all);
  void look_at(Bytes fragment);
  void append(Bytes fragment);

  State state_ = State::more;
  size_t position_ = 0;     // of the next record header or byte of a record's body
  size_t record_left_ = 0;  // bytes of the present record that are still to come
  std::vector<uint8_t> gathered_;
  Bytes message_;
};

}  // namespace pqedge::crypto
