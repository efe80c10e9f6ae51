#include "record/validate.h"

namespace pqedge::record {

Problems validate(const LogSettings& settings) {
  Problems out;
  check_count(out, "logging.queue", settings.queue, 64, 1'048'576);
  if (!settings.error_file.empty() && settings.error_file == settings.access_file) {
    out.push_back({"logging.error", "is the same file as the access log",
                   "JSON lines and text do not mix: name another file"});
  }
  return out;
}

}  // namespace pqedge::record
