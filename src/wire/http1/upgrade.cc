#include "wire/http1/upgrade.h"

#include "base/text.h"

namespace pqedge::http1 {
namespace {

struct Asked {
  std::string_view protocol;
  size_t protocols = 0;
  bool connection = false;  // Connection names the field
};

Asked read(const http::Fields& fields) {
  Asked found;
  fields.for_each([&](const http::Field& f) {
    if (f.id == http::Name::connection) {
      for_each_member(f.value, [&](std::string_view option) {
        found.connection = found.connection || iequals(option, "upgrade");
      });
    } else if (f.id == http::Name::upgrade) {
      for_each_member(f.value, [&](std::string_view member) {
        found.protocol = member;
        ++found.protocols;
      });
    }
  });
  return found;
}

// protocol-name ["/" protocol-version], both tokens.
bool is_protocol(std::string_view text) {
  const size_t slash = text.find('/');
  return http::is_token(text.substr(0, slash)) &&
         (slash == std::string_view::npos || http::is_token(text.substr(slash + 1)));
}

}  // namespace

std::string_view requested_upgrade(const http::Request& request) {
  // Nearly every request ends here.
  if (request.fields.find(http::Name::upgrade) == nullptr) return {};
  if (request.version != http::Version::http11 || request.body != http::BodyKind::none ||
      request.method == http::Method::connect) {
    return {};
  }
  const Asked asked = read(request.fields);
  if (!asked.connection || asked.protocols != 1 || !is_protocol(asked.protocol)) return {};
  // RFC 6455 4.1: the method is GET.
  if (iequals(asked.protocol, "websocket") && request.method != http::Method::get) return {};
  return request.arena->copy(to_lower(asked.protocol));
}

bool switches_to(const http::Response& response, std::string_view protocol) {
  const Asked answered = read(response.fields);
  return answered.connection && answered.protocols == 1 && iequals(answered.protocol, protocol);
}

}  // namespace pqedge::http1
