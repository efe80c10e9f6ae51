#include "measure/host/files.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

namespace pqedge::measure {

std::filesystem::path HostFiles::at(std::string_view path) const {
  return root_ / std::filesystem::path(path).relative_path();
}

std::optional<std::string> HostFiles::text(std::string_view path) const {
  std::ifstream file(at(path), std::ios::binary);
  if (!file) return std::nullopt;
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return std::nullopt;
  return content;
}

std::optional<std::string> HostFiles::line(std::string_view path) const {
  std::optional<std::string> content = text(path);
  if (!content) return std::nullopt;
  content->resize(std::min(content->find('\n'), content->size()));
  constexpr std::string_view kBlank(" \t\r\0", 4);
  const size_t begin = content->find_first_not_of(kBlank);
  if (begin == std::string::npos) return std::nullopt;
  return content->substr(begin, content->find_last_not_of(kBlank) + 1 - begin);
}

std::optional<double> HostFiles::number(std::string_view path) const {
  const std::optional<std::string> first = line(path);
  if (!first) return std::nullopt;
  double value = 0;
  const char* end = first->data() + first->size();
  const auto [rest, error] = std::from_chars(first->data(), end, value);
  if (error != std::errc() || (rest != end && *rest != ' ')) return std::nullopt;
  return value;
}

bool HostFiles::exists(std::string_view path) const {
  std::error_code error;
  return std::filesystem::exists(at(path), error);
}

}  // namespace pqedge::measure
