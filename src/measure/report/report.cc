#include "measure/report/report.h"

#include <algorithm>
#include <filesystem>
#include <format>
#include <set>
#include <string_view>
#include <utility>

#include "base/version.h"
#include "measure/record/files.h"
#include "measure/record/json.h"
#include "measure/report/page.h"

namespace pqedge::measure::report {

Result<History> read_records(const std::vector<std::string>& paths) {
  History all;
  std::set<std::string> seen;
  const auto take = [&](HistoryEntry entry) {
    if (seen.insert(entry.record.id).second) all.entries.push_back(std::move(entry));
  };
  for (const std::string& path : paths) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      Result<History> folder = load_history(path);
      if (!folder) return folder;
      for (HistoryEntry& entry : folder->entries) take(std::move(entry));
      for (Error& problem : folder->unreadable) all.unreadable.push_back(std::move(problem));
      continue;
    }
    Result<Record> record = read_record(path);
    if (!record) return std::unexpected(record.error());
    take({path, std::move(*record)});
  }
  if (all.entries.empty()) {
    const std::string why =
        all.unreadable.empty() ? std::string() : ": " + all.unreadable.front().message;
    return fail("there is no record in {}{}", paths.empty() ? "nothing" : paths.front(), why);
  }
  // As load_history() orders one folder.
  std::ranges::stable_sort(all.entries, {}, [](const HistoryEntry& entry) {
    return std::pair(std::string_view(entry.record.environment.date),
                     std::string_view(entry.record.id));
  });
  return all;
}

Result<void> write_report(const History& history, const ReportOptions& options) {
  const Model model(history);
  PageOptions page;
  if (!options.title.empty()) page.title = options.title;
  page.made =
      std::format("Made {} by pqcost {} ({}) from {} record{}.", date_now(), version(),
                  git_commit(), history.entries.size(), history.entries.size() == 1 ? "" : "s");
  Result<std::string> text = render_page(model, page);
  if (!text) return std::unexpected(text.error());
  return write_file(options.output, *text);
}

}  // namespace pqedge::measure::report
