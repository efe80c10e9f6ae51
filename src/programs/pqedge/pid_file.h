// The file that names the process that serves (server.pid_file).
#pragma once

#include <string>

#include "base/result.h"

namespace pqedge {

class PidFile {
 public:
  ~PidFile() { remove(); }
  // Writes it, whole or not at all; another name than before moves it. Empty: none any more.
  Result<void> write(const std::string& path);
  // Unless it names another process by now, which has taken this one's place.
  void remove();

 private:
  std::string path_;
};

}  // namespace pqedge
