// Files that are there whole or not at all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pqedge::measure {

// Writes to a temporary name beside `path`, syncs, renames, and syncs the folder: a full disk or an
// interruption leaves what was there before. What is not a regular file (a pipe, /dev/stdout) is
// written as it is; "-" is standard output.
Result<void> write_file(const std::string& path, std::string_view text);

// At most `limit` bytes; a longer file is an error.
Result<std::string> read_file(const std::string& path, size_t limit);

}  // namespace pqedge::measure
