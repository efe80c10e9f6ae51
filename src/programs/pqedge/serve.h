// Runs the edge until it is told to stop: signals, the admin side, the notification of systemd.
#pragma once

#include <string>
#include <vector>

namespace pqedge {

struct ServeOptions {
  std::string config;        // a file; empty: the embedded default
  std::string debug_client;  // overrides [debug]: key log and qlog for this one client address
  std::string keylog_file;
  std::string qlog_dir;
  std::vector<std::string> command;      // that started this process: an upgrade starts it again
  bool allow_insecure_backends = false;  // what [[pool]] tls_verify = false needs besides
};

// The exit status: 0 after an orderly stop, 1 when it could not start.
int serve(const ServeOptions& options);

}  // namespace pqedge
