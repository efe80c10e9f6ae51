// The configuration file: TOML into each module's own settings, with every problem named by file,
// line, column and key.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "admin/settings.h"
#include "base/result.h"
#include "edge/settings.h"

namespace pqedge::config {

struct Configuration {
  edge::Settings edge;
  admin::Settings admin;

  // What is odd but no reason to refuse: "FILE:LINE:COLUMN: KEY: what; hint".
  std::vector<std::string> warnings;
  // Key path ("listener[0].address[1]") -> "FILE:LINE:COLUMN", for messages made later.
  std::map<std::string, std::string> positions;

  // Of the key, or of the nearest table or array around it; else the source's name.
  std::string position(std::string_view key) const;
};

enum class Checks : uint8_t {
  text,  // what the text alone tells
  all    // and the files it names: certificates, keys, directories of logs and sockets
};

// An Error's message holds the problems, one a line, in the order of the file, at most 20 of them.
// Relative file paths are relative to the configuration file's directory.
Result<Configuration> load_file(const std::string& path);
Result<Configuration> parse(std::string_view toml, std::string source_name, std::string base_dir,
                            Checks checks = Checks::all);

// What [crypto] of a file says (the defaults without a file): it has to be in place before OpenSSL
// is used, so it is read before the rest. What is wrong with the file is left to load_file().
crypto::ProviderSettings load_providers(const std::string& path);

// Every key the reader knows, without indices: "listener.address". For tests and documentation.
std::vector<std::string> known_keys();

// A commented, complete example. Its certificate files are examples too.
std::string_view example_config();

struct DefaultPorts {
  uint16_t https = 8443;
  uint16_t http = 8080;
  uint16_t admin = 8081;
};
// What runs when no file is given: all on the loopback addresses (::1 only where there is one),
// everything goes to one pool with the demonstration backend. edge.tls.certificates stays empty:
// the program makes a certificate on the spot.
Configuration default_configuration(uint16_t demo_backend_port, const DefaultPorts& ports = {});

}  // namespace pqedge::config
