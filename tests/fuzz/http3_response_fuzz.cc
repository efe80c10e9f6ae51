// The field sections of a backend's answer over HTTP/3: decoded without a dynamic table, in one
// piece and in many, they must give the same head or be refused, and nothing of it may break a
// client's.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/arena.h"
#include "base/bytes.h"
#include "http/names.h"
#include "wire/http3/client_fields.h"

namespace {

using namespace pqedge;
using http3::FieldSection;

void check(bool good) {
  if (!good) std::abort();
}

// The head as text; nothing where it is refused.
std::optional<std::string> read_head(Bytes input, size_t piece) {
  Arena arena;
  const http::Limits limits{.max_fields = 64, .max_response_head = 4096};
  http::Response response(arena);
  http3::QpackDecoder decoder(10, 0);
  FieldSection section(0);
  http3::ResponseHeadReader reader(response, limits);
  do {
    Bytes part = input.first(std::min(piece, input.size()));
    input = input.subspan(part.size());
    const auto status = section.decode(decoder, part, input.empty(),
                                       [&](const http3::DecodedField& f) { return reader.add(f); });
    check(status != FieldSection::Status::blocked);  // there is nothing to wait for
    if (status == FieldSection::Status::failed || status == FieldSection::Status::stopped) {
      return std::nullopt;
    }
    if (status == FieldSection::Status::done) break;
  } while (!input.empty());
  if (!reader.finish()) {
    check(!reader.reason().empty());
    return std::nullopt;
  }
  check(response.status >= 100 && response.status <= 999 && response.status != 101);
  std::string text = std::to_string(response.status);
  response.fields.for_each([&](const http::Field& f) {
    check(http::is_lower_token(f.name) && http::is_field_value(f.value));
    text.append("\n").append(f.name).append(": ").append(f.value);
  });
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes input(data, size);
  const auto whole = read_head(input, size + 1);
  for (const size_t piece : {size_t{1}, size_t{7}}) check(read_head(input, piece) == whole);
  return 0;
}
