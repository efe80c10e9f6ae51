// What is said to a log, and what it says.
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "crypto/sct.h"

namespace pqedge::crypto {
namespace {

using Json = nlohmann::json;

constexpr size_t kLogIdSize = 32;
constexpr size_t kMaxPart = 4096;  // of signatures and extensions

Result<std::string> bytes_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_string()) return fail("its answer has no \"{}\"", key);
  auto bytes = from_base64(it->get_ref<const std::string&>());
  if (!bytes || bytes->size() > kMaxPart) return fail("its answer's \"{}\" cannot be read", key);
  return std::move(*bytes);
}

bool is_number(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_unsigned();
}

void put_number(std::string& out, uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

}  // namespace

std::string add_chain_request(const std::vector<std::string>& chain) {
  Json list = Json::array();
  for (const std::string& certificate : chain) list.push_back(base64(certificate));
  return Json{{"chain", std::move(list)}}.dump();
}

Result<std::string> read_add_chain_answer(std::string_view json) {
  const Json answer = Json::parse(json, nullptr, false);
  if (!answer.is_object()) return fail("its answer is no JSON object");
  if (!is_number(answer, "sct_version") || answer["sct_version"] != 0u ||
      !is_number(answer, "timestamp")) {
    return fail("its answer is no timestamp of version 1");
  }
  const auto id = bytes_of(answer, "id");
  if (!id) return id;
  const auto extensions = bytes_of(answer, "extensions");
  if (!extensions) return extensions;
  const auto signature = bytes_of(answer, "signature");
  if (!signature) return signature;
  if (id->size() != kLogIdSize) return fail("its answer's \"id\" has {} bytes", id->size());
  std::string timestamp;
  put_number(timestamp, 0, 1);
  timestamp += *id;
  put_number(timestamp, answer["timestamp"].get<uint64_t>(), 8);
  put_number(timestamp, extensions->size(), 2);
  timestamp += *extensions;
  timestamp += *signature;  // with its algorithms and length in it
  // The form of the whole, once more.
  if (auto ok = parse_timestamps(as_bytes(make_timestamp_list({timestamp}))); !ok) {
    return fail("its answer cannot be read: {}", ok.error().message);
  }
  return timestamp;
}

}  // namespace pqedge::crypto
