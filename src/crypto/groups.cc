#include "crypto/groups.h"

#include <algorithm>

#include "base/text.h"
#include "crypto/handles.h"
#include "crypto/providers.h"

namespace pqedge::crypto {
namespace {

constexpr Group kGroups[] = {
    {"X25519MLKEM768", "", 0x11ec, true, false},
    {"SecP256r1MLKEM768", "", 0x11eb, true, false},
    {"SecP384r1MLKEM1024", "", 0x11ed, true, false},
    {"MLKEM512", "ML-KEM-512", 0x0200, true, false},
    {"MLKEM768", "ML-KEM-768", 0x0201, true, false},
    {"MLKEM1024", "ML-KEM-1024", 0x0202, true, false},
    {"curveSM2MLKEM768", "", 0x11ee, true, false},
    {"X25519", "", 0x001d, false, true},
    {"P-256", "secp256r1", 0x0017, false, true},
    {"P-384", "secp384r1", 0x0018, false, true},
    {"P-521", "secp521r1", 0x0019, false, true},
    {"X448", "", 0x001e, false, true},
};

// What OpenSSL 3.5 and browsers prefer, each hybrid of RFC 10024, then the classical groups of
// RFC 8446 9.1.
constexpr uint16_t kCompatible[] = {0x11ec, 0x11eb, 0x11ed, 0x001d, 0x0017, 0x0018};
constexpr uint16_t kHybridRequired[] = {0x11ec, 0x11eb, 0x11ed};
// CNSA 2.0 asks for ML-KEM-1024; the hybrid with P-384 is what most clients have of it today.
constexpr uint16_t kCnsa2[] = {0x0202, 0x11ed};

std::span<const uint16_t> preset(std::string_view name) {
  if (name == kGroupPresets[0]) return kCompatible;
  if (name == kGroupPresets[1]) return kHybridRequired;
  if (name == kGroupPresets[2]) return kCnsa2;
  return {};
}

std::string unknown_name(std::string_view name) {
  std::vector<std::string_view> candidates(std::begin(kGroupPresets), std::end(kGroupPresets));
  for (const Group& g : kGroups) {
    candidates.push_back(g.name);
    if (!g.alias.empty()) candidates.push_back(g.alias);
  }
  const std::string_view best = closest(name, candidates);
  std::string text = std::format("\"{}\" is not a group or preset that is known here", name);
  if (!best.empty()) text += std::format("; did you mean \"{}\"?", best);
  return text;
}

}  // namespace

std::span<const Group> known_groups() { return kGroups; }

const Group* find_group(std::string_view name) {
  for (const Group& g : kGroups) {
    if (iequals(g.name, name) || (!g.alias.empty() && iequals(g.alias, name))) return &g;
  }
  return nullptr;
}

const Group* find_group(uint16_t id) {
  for (const Group& g : kGroups) {
    if (g.id == id) return &g;
  }
  return nullptr;
}

bool is_post_quantum(std::string_view name) {
  const Group* group = find_group(name);
  return group != nullptr && group->post_quantum;
}

Result<std::vector<const Group*>> resolve_groups(const std::vector<std::string>& setting) {
  std::vector<const Group*> groups;
  if (setting.empty()) return fail("the list of groups is empty; \"compatible\" is the usual one");
  if (setting.size() == 1 && !preset(setting.front()).empty()) {
    for (const uint16_t id : preset(setting.front())) groups.push_back(find_group(id));
    return usable_groups(std::move(groups));
  }
  for (const std::string& name : setting) {
    if (!preset(name).empty()) {
      return fail("the preset \"{}\" stands alone, not in a list with groups", name);
    }
    const Group* group = find_group(name);
    if (group == nullptr) return fail("{}", unknown_name(name));
    if (std::ranges::contains(groups, group)) return fail("\"{}\" is listed twice", group->name);
    if (group->post_quantum && !groups.empty() && !groups.back()->post_quantum) {
      return fail(
          "\"{}\" is listed after the classical group \"{}\"; post-quantum groups are always "
          "chosen "
          "first: list them first",
          group->name, groups.back()->name);
    }
    groups.push_back(group);
  }
  return groups;
}

std::string openssl_group_list(std::span<const Group* const> groups) {
  std::string list;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (i > 0) list += groups[i - 1]->post_quantum == groups[i]->post_quantum ? ':' : '/';
    list += groups[i]->name;
  }
  return list;
}

bool is_available(const Group& group) {
  const SslCtxPtr probe(SSL_CTX_new(TLS_server_method()));
  const bool known = probe != nullptr &&
                     SSL_CTX_set1_groups_list(probe.get(), std::string(group.name).c_str()) == 1;
  take_openssl_error();
  return known;
}

}  // namespace pqedge::crypto
