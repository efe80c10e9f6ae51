// Reads the configuration again when its file changes (server.watch_config).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "crypto/certificate_files.h"
#include "jobs/file_watch.h"
#include "net/loop.h"

namespace pqedge {

class ConfigWatch {
 public:
  // `changed` is called on the loop, once for each content that the file has had for a moment.
  ConfigWatch(net::Loop& loop, std::string path, std::function<void()> changed);

  // On or off: a start or a reload may change it.
  Result<void> set(bool on);
  // What the file is now, is about to be read, whoever asked for it.
  void note() { seen_ = crypto::stamp_of(path_); }

 private:
  void look();

  net::Loop& loop_;
  const std::string path_;
  const std::function<void()> changed_;
  crypto::FileStamp seen_;
  std::unique_ptr<jobs::FileWatch> watch_;  // null: it was never on
  bool on_ = false;
};

}  // namespace pqedge
