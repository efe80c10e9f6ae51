#include "jobs/acme/messages.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/text.h"
#include "jobs/acme/problem_text.h"

namespace pqedge::acme {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 16;
constexpr size_t kMaxUrl = 2048;
constexpr size_t kMaxToken = 512;
constexpr size_t kMaxItems = 256;  // authorizations of an order, challenges of an authorization
constexpr size_t kMaxSubproblems = 8;

// Brackets outside of strings: a tree that deep is refused before it is built.
bool too_deep(std::string_view json) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

Result<Json> parse_object(std::string_view json) {
  if (json.size() > kMaxJson) return fail("the answer has more than {} bytes", kMaxJson);
  if (too_deep(json)) return fail("the answer is nested more than {} deep", kMaxDepth);
  Json tree = Json::parse(json, nullptr, false);
  if (tree.is_discarded()) return fail("the answer is not JSON");
  if (!tree.is_object()) return fail("the answer is not a JSON object");
  return tree;
}

// The string at `key`; empty when it is absent or something else.
std::string text_at(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

bool flag_at(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

// RFC 8555 6.1: https alone.
bool is_url(std::string_view url) {
  return url.size() > 8 && url.size() <= kMaxUrl && url.starts_with("https://") &&
         std::ranges::all_of(url, [](char c) { return c > 0x20 && c < 0x7f; });
}

Result<std::string> url_at(const Json& object, const char* key) {
  std::string url = text_at(object, key);
  if (url.empty()) return fail("the answer has no \"{}\"", key);
  if (!is_url(url)) return fail("\"{}\" is not an https URL", key);
  return url;
}

std::string optional_url(const Json& object, const char* key) {
  std::string url = text_at(object, key);
  return is_url(url) ? url : std::string();
}

Result<Status> status_at(const Json& object) {
  static constexpr std::pair<std::string_view, Status> kNames[] = {
      {"pending", Status::pending},       {"ready", Status::ready},
      {"processing", Status::processing}, {"valid", Status::valid},
      {"invalid", Status::invalid},       {"deactivated", Status::deactivated},
      {"expired", Status::expired},       {"revoked", Status::revoked},
  };
  const std::string text = text_at(object, "status");
  for (const auto& [name, status] : kNames) {
    if (name == text) return status;
  }
  return fail("the answer has no \"status\" that RFC 8555 knows");
}

const Json* array_at(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_array() ? &*it : nullptr;
}

ProblemDocument read_problem(const Json& object) {
  ProblemDocument out;
  out.type = short_type(text_at(object, "type"));
  out.text = problem_text(out.type, text_at(object, "detail"));
  const Json* parts = array_at(object, "subproblems");
  for (size_t i = 0; parts != nullptr && i < std::min(parts->size(), kMaxSubproblems); ++i) {
    const Json& part = (*parts)[i];
    if (!part.is_object()) continue;
    std::string name;
    if (const auto id = part.find("identifier"); id != part.end() && id->is_object()) {
      name = text_at(*id, "value");
    }
    out.text += subproblem_text(name, short_type(text_at(part, "type")), text_at(part, "detail"));
  }
  return out;
}

std::optional<ProblemDocument> problem_at(const Json& object) {
  const auto it = object.find("error");
  if (it == object.end() || !it->is_object()) return std::nullopt;
  return read_problem(*it);
}

Result<ChallengeObject> read_challenge(const Json& object) {
  ChallengeObject out;
  out.type = text_at(object, "type");
  auto url = url_at(object, "url");
  if (!url) return std::unexpected(url.error());
  auto status = status_at(object);
  if (!status) return std::unexpected(status.error());
  out.url = std::move(*url);
  out.status = *status;
  out.token = text_at(object, "token");
  // RFC 8555 8.3: the alphabet of base64url alone. It becomes part of a path.
  if (out.token.size() > kMaxToken || !is_base64url(out.token)) out.token.clear();
  out.error = problem_at(object);
  return out;
}

}  // namespace

Result<Directory> parse_directory(std::string_view json) {
  const auto tree = parse_object(json);
  if (!tree) return std::unexpected(tree.error());
  Directory out;
  for (const auto& [key, place] :
       {std::pair{"newNonce", &out.new_nonce}, std::pair{"newAccount", &out.new_account},
        std::pair{"newOrder", &out.new_order}}) {
    auto url = url_at(*tree, key);
    if (!url) return std::unexpected(url.error());
    *place = std::move(*url);
  }
  out.renewal_info = optional_url(*tree, "renewalInfo");
  if (const auto meta = tree->find("meta"); meta != tree->end() && meta->is_object()) {
    out.terms = optional_url(*meta, "termsOfService");
    out.needs_external_account = flag_at(*meta, "externalAccountRequired");
  }
  return out;
}

Result<Order> parse_order(std::string_view json) {
  const auto tree = parse_object(json);
  if (!tree) return std::unexpected(tree.error());
  Order out;
  auto status = status_at(*tree);
  if (!status) return std::unexpected(status.error());
  out.status = *status;
  auto finalize = url_at(*tree, "finalize");
  if (!finalize) return std::unexpected(finalize.error());
  out.finalize = std::move(*finalize);
  out.certificate = optional_url(*tree, "certificate");
  out.error = problem_at(*tree);
  const Json* list = array_at(*tree, "authorizations");
  if (list == nullptr) return fail("the order has no \"authorizations\"");
  if (list->size() > kMaxItems) return fail("the order has {} authorizations", list->size());
  for (const Json& item : *list) {
    if (!item.is_string() || !is_url(item.get_ref<const std::string&>())) {
      return fail("an authorization of the order is not an https URL");
    }
    out.authorizations.push_back(item.get<std::string>());
  }
  return out;
}

Result<Authorization> parse_authorization(std::string_view json) {
  const auto tree = parse_object(json);
  if (!tree) return std::unexpected(tree.error());
  Authorization out;
  auto status = status_at(*tree);
  if (!status) return std::unexpected(status.error());
  out.status = *status;
  out.wildcard = flag_at(*tree, "wildcard");
  const auto identifier = tree->find("identifier");
  if (identifier == tree->end() || !identifier->is_object()) {
    return fail("the authorization has no \"identifier\"");
  }
  out.name = to_lower(text_at(*identifier, "value"));
  const Json* list = array_at(*tree, "challenges");
  if (list == nullptr) return fail("the authorization has no \"challenges\"");
  if (list->size() > kMaxItems) return fail("the authorization has {} challenges", list->size());
  for (const Json& item : *list) {
    if (!item.is_object()) return fail("a challenge is not a JSON object");
    // One of a kind we do not know may look like anything.
    if (auto challenge = read_challenge(item)) out.challenges.push_back(std::move(*challenge));
  }
  return out;
}

Result<ChallengeObject> parse_challenge(std::string_view json) {
  const auto tree = parse_object(json);
  if (!tree) return std::unexpected(tree.error());
  return read_challenge(*tree);
}

Result<Status> parse_account(std::string_view json) {
  const auto tree = parse_object(json);
  if (!tree) return std::unexpected(tree.error());
  return status_at(*tree);
}

Result<RenewalInfo> parse_renewal_info(std::string_view json) {
  const auto tree = parse_object(json);
  if (!tree) return std::unexpected(tree.error());
  const auto window = tree->find("suggestedWindow");
  if (window == tree->end() || !window->is_object()) {
    return fail("the answer has no \"suggestedWindow\"");
  }
  const auto start = parse_time(text_at(*window, "start"));
  const auto end = parse_time(text_at(*window, "end"));
  // RFC 9773 4.1: a window that does not end after its start is to be ignored.
  if (!start || !end) return fail("the suggested window has no start or no end");
  if (*end <= *start) return fail("the suggested window ends before it begins");
  return RenewalInfo{*start, *end, optional_url(*tree, "explanationURL")};
}

ProblemDocument parse_problem(std::string_view body) {
  const auto tree = parse_object(body);
  if (!tree) return {"", "no explanation: " + tree.error().message};
  return read_problem(*tree);
}

}  // namespace pqedge::acme
