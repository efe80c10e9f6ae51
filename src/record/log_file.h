// A log's file: appended to, opened again by name, and kept whole when the disk is full.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "net/socket.h"

namespace pqedge::record {

// Used by one thread. "-" is standard output and "" standard error: not owned, not opened again.
class LogFile {
 public:
  static Result<LogFile> open(const std::string& path);

  enum class Status : uint8_t { ok, blocked, failed };
  // Writes from the front of `text` and removes what was written. `blocked`: a pipe or terminal
  // whose reader is slow; wait for poll_fd() to take more. `failed`: see errno_value(). It never
  // blocks on a pipe.
  Status write(std::string& text);
  int errno_value() const { return errno_; }
  // The descriptor to wait for after `blocked`.
  int poll_fd() const { return fd_; }

  // Opens the file by its name again; on an error the old one stays. False: it is a stream of the
  // process, which stays as it is.
  Result<bool> reopen();
  std::string display_name() const;
  // Part of a line was written and the rest was not.
  bool mid_line() const { return mid_line_; }

 private:
  bool may_block() const { return !regular_; }

  std::string path_;
  net::Fd owned_;
  int fd_ = -1;
  bool regular_ = false;
  bool mid_line_ = false;
  int errno_ = 0;
};

}  // namespace pqedge::record
