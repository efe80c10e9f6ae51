// Files that are there whole or not at all.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pqedge {

struct WriteOptions {
  mode_t mode = 0600;      // less the umask
  bool keep_mode = false;  // of the file that it takes the place of, where there is one
  bool replace = true;     // false: an error with code EEXIST where something has the name
};

// Writes under another name in the same folder, syncs, gives it its name, and syncs the folder: a
// full disk or an interruption leaves what was there before. Safe beside other threads and
// processes that write the same file: one of the texts is there in the end.
Result<void> write_file(const std::string& file, std::string_view text,
                        const WriteOptions& options = {});

// That a file of `size` bytes could be written there now.
Result<void> check_room(const std::string& file, size_t size);

// All of `text`; `name` is for the message.
Result<void> write_all(int fd, std::string_view text, std::string_view name);

}  // namespace pqedge
