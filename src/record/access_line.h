// An access record as it lies in a worker's ring, and as a JSON line.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "record/access_log.h"

namespace pqedge::record {

// Bytes that `record` takes in a ring: its long texts are cut.
size_t packed_size(const AccessRecord& record);
// Writes packed_size() bytes.
void pack(const AccessRecord& record, uint8_t* to);

// Appends one line of JSON with its newline: valid UTF-8, whatever the texts hold.
void append_access_line(std::string& out, std::span<const uint8_t> packed);

}  // namespace pqedge::record
