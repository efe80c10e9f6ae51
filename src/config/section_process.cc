// What [server] says of the process itself: upgrades, the watch over the configuration file.
#include "config/section_readers.h"

namespace pqedge::config {

void read_process(Table& t, edge::Settings& s) {
  t.duration("upgrade_drain_timeout", s.upgrade_drain_timeout);
  t.read("watch_config", s.watch_config);
  t.path("pid_file", s.pid_file);
}

}  // namespace pqedge::config
