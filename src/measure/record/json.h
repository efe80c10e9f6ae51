// The record as JSON (M15), described by docs/pqcost-record.schema.json.
//
// Names are the members' own, with these exceptions: a phase's figures stand beside its name, and a
// suite's `wire_bytes` is the sum of `wire_bytes_by_direction`. What is absent is left out, but for
// `p99_us`, which is null. Numbers are written so that they read back as the same double.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "measure/record/record.h"

namespace pqedge::measure {

inline constexpr size_t kMaxRecordBytes = size_t{64} << 20;

// Two spaces a level, members in the order of record.h, a newline at the end.
std::string to_json(const Record& record);

// Strict: every member in its place and type, nothing unknown, figures finite, not negative and in
// agreement with each other (check_record). `source` is named in errors, beside the JSON path.
Result<Record> from_json(std::string_view text, std::string_view source);

// As write_file() and read_file() of record/files.h; a record that from_json() would refuse is not
// written.
Result<void> write_record(const Record& record, const std::string& path);
Result<Record> read_record(const std::string& path);

// What types alone do not say; the message begins with the JSON path. The date is RFC 3339 in UTC
// ("2026-11-30T18:30:00Z"), the id 32 hexadecimal digits, a composed mean is the sum of its phases'
// means by weight (M7), percentiles ascend, tail and ops_per_second follow from max and mean.
Result<void> check_record(const Record& record);

// 128 random bits in hexadecimal, for Record::id; the present moment, for Environment::date.
std::string new_record_id();
std::string date_now();

// The JSON Schema (2020-12), made from the same list of members that writes and reads.
std::string record_schema();

}  // namespace pqedge::measure
