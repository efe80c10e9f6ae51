#include "jobs/acme/names.h"

#include <algorithm>

#include "base/text.h"

namespace pqedge::acme {
namespace {

constexpr size_t kMaxName = 253;
constexpr size_t kMaxLabel = 63;
constexpr int kMaxLabels = 10;

bool is_label(std::string_view label) {
  const auto allowed = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-'; };
  return !label.empty() && label.size() <= kMaxLabel && label.front() != '-' &&
         label.back() != '-' && std::ranges::all_of(label, allowed);
}

}  // namespace

bool is_issuable_host(std::string_view name, int least) {
  if (name.size() > kMaxName) return false;
  int labels = 0;
  for (;;) {
    const size_t dot = name.find('.');
    const std::string_view label = name.substr(0, dot);
    if (!is_label(label) || ++labels > kMaxLabels) return false;
    // A last label of digits alone: an IPv4 address, or something that is read as one.
    if (dot == name.npos) return labels >= least && !std::ranges::all_of(label, is_digit);
    name.remove_prefix(dot + 1);
  }
}

bool is_certificate_name(std::string_view name) {
  if (!name.starts_with("*.")) return is_issuable_host(name);
  name.remove_prefix(2);
  return is_issuable_host(name);
}

}  // namespace pqedge::acme
