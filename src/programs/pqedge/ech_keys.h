// `pqedge ech-keys generate|show`: keys of Encrypted Client Hello, and the DNS record that tells of
// them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pqedge {

class EchKeysCommand {
 public:
  explicit EchKeysCommand(CLI::App& app);
  // The exit status, if this command was given.
  std::optional<int> run() const;

 private:
  int generate() const;
  int show() const;

  CLI::App* command_;
  CLI::App* generate_;
  CLI::App* show_;
  std::string public_name_;
  std::string out_;
  unsigned max_name_length_ = 64;
  std::vector<std::string> files_;
  std::vector<std::string> hosts_;
  std::vector<std::string> alpn_ = {"h3", "h2"};
  uint16_t port_ = 443;
  uint32_t ttl_ = 3600;
};

}  // namespace pqedge
