#include "programs/pqedge/config_watch.h"

#include <filesystem>
#include <utility>

namespace pqedge {
namespace {

// A path that the watch can follow; the file may be replaced by another, or led elsewhere.
std::string absolute(const std::string& path) {
  std::error_code code;
  const auto whole = std::filesystem::absolute(path, code);
  return code ? path : whole.string();
}

}  // namespace

ConfigWatch::ConfigWatch(net::Loop& loop, std::string path, std::function<void()> changed)
    : loop_(loop), path_(absolute(path)), changed_(std::move(changed)) {
  note();
}

Result<void> ConfigWatch::set(bool on) {
  if (on == on_) return {};
  if (on && watch_ == nullptr) {
    auto watch = jobs::FileWatch::start(loop_, [this] { look(); });
    if (!watch) return std::unexpected(watch.error());
    watch_ = std::move(*watch);
  }
  on_ = on;
  // It may be what calls: it is not destroyed.
  watch_->set_paths(on ? std::vector<std::string>{path_} : std::vector<std::string>{});
  if (on) watch_->look_again(kSecond);  // for what changed between the reading and the watching
  return {};
}

// The directory has other files too. One that is gone for a moment is being written anew.
void ConfigWatch::look() {
  std::error_code code;
  if (!on_ || !std::filesystem::exists(path_, code)) return;
  if (const auto now = crypto::stamp_of(path_); now != seen_) changed_();
}

}  // namespace pqedge
