// `pqedge ticket-keys init|rotate|show`: the store of ticket keys that machines share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace pqedge {

class TicketKeysCommand {
 public:
  explicit TicketKeysCommand(CLI::App& app);
  // The exit status, if this command was given.
  std::optional<int> run() const;

 private:
  int init() const;
  int rotate() const;
  int show() const;
  void add_files(CLI::App* command);

  CLI::App* command_;
  CLI::App* init_;
  CLI::App* rotate_;
  CLI::App* show_;
  std::string store_;
  std::string private_key_;
  std::string passphrase_file_;
  std::vector<std::string> recipients_;
  std::string lead_ = "5m";
  size_t keep_ = 4;
};

}  // namespace pqedge
