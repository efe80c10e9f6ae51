#include "probe/flight.h"

#include <algorithm>

#include "base/text.h"
#include "crypto/code_names.h"

namespace pqedge::probe {
namespace {

constexpr uint16_t kStatusRequest = 5;  // RFC 6066 8
constexpr uint16_t kSctList = 18;       // RFC 6962 3.3
constexpr uint8_t kUnrecognizedName = 112;
constexpr size_t kShown = 32;

// A bounded reader: a take that asks for too much leaves it empty and not good.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : rest_(bytes) {}
  bool good() const { return good_; }
  bool empty() const { return rest_.empty(); }
  bool more() const { return good_ && !rest_.empty(); }
  Bytes bytes(size_t count) {
    if (rest_.size() < count) {
      good_ = false;
      rest_ = {};
      return {};
    }
    const Bytes taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  size_t number(size_t size) {
    size_t value = 0;
    for (const uint8_t byte : bytes(size)) value = value << 8 | byte;
    return value;
  }
  Bytes vector(size_t length_size) { return bytes(number(length_size)); }

 private:
  Bytes rest_;
  bool good_ = true;
};

void take_leaf_extension(CertificateExtras& extras, uint16_t type, Bytes body) {
  Cursor in(body);
  if (type == kStatusRequest) {
    if (in.number(1) == 1) extras.staple = in.vector(3).size();
  } else if (type == kSctList) {
    for (Cursor list(in.vector(2)); list.more();) {
      if (list.vector(2).empty()) return;
      ++extras.scts;
    }
  }
}

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::hello: return "hello";
    case Outcome::retry: return "retry";
    case Outcome::alert: return "alert";
    case Outcome::closed: return "closed";
    case Outcome::reset: return "reset";
    case Outcome::timeout: return "timeout";
    case Outcome::garbage: return "garbage";
    case Outcome::unconnected: return "unconnected";
  }
  return "?";
}

bool FlightReader::settle(Outcome outcome, std::string detail) {
  answer_.outcome = outcome;
  answer_.detail = std::move(detail);
  return true;
}

bool FlightReader::take(Bytes bytes) {
  bytes_ += bytes.size();
  if (bytes_ > kMaxBytes) return settle(Outcome::garbage, "64 KiB without a ServerHello");
  records_.take(bytes);
  for (const std::vector<uint8_t>& message : records_.messages()) {
    if (message[0] != crypto::kServerHello) {
      return settle(Outcome::garbage, "another message where the ServerHello belongs");
    }
    const auto hello = crypto::parse_server_hello(message);
    if (!hello) return settle(Outcome::garbage, hello.error().message);
    answer_.hello = *hello;
    return settle(hello->retry ? Outcome::retry : Outcome::hello, {});
  }
  if (records_.broken()) {
    std::string shown;
    append_text_escaped(shown, std::string_view(records_.first_bytes()).substr(0, kShown));
    return settle(Outcome::garbage, "the server sent \"" + shown + "\", which is no TLS");
  }
  // unrecognized_name comes as a warning too, with the ServerHello after it (RFC 6066 3).
  if (records_.alert() && *records_.alert() != kUnrecognizedName) {
    answer_.alert = *records_.alert();
    return settle(Outcome::alert, "the alert " + crypto::alert_name(answer_.alert));
  }
  return false;
}

Answer FlightReader::end(Outcome how) const {
  Answer answer = answer_;
  if (records_.alert()) {
    answer.alert = *records_.alert();
    answer.outcome = Outcome::alert;
    answer.detail = "the alert " + crypto::alert_name(answer.alert);
    return answer;
  }
  answer.outcome = how;
  answer.detail = how == Outcome::timeout ? "no answer in time"
                  : how == Outcome::reset ? "the connection broke"
                                          : "the server closed the connection";
  return answer;
}

std::optional<Bytes> find_encrypted_extension(Bytes message, uint16_t type) {
  Cursor in(message);
  if (in.number(1) != crypto::kEncryptedExtensions) return std::nullopt;
  Cursor body(in.vector(3));
  for (Cursor list(body.vector(2)); list.more();) {
    const size_t found = list.number(2);
    const Bytes content = list.vector(2);
    if (list.good() && found == type) return content;
  }
  return std::nullopt;
}

Result<CertificateExtras> read_certificate_extras(Bytes message) {
  Cursor in(message);
  if (in.number(1) != crypto::kCertificate) return fail("not a Certificate message");
  Cursor body(in.vector(3));
  body.vector(1);  // certificate_request_context
  Cursor list(body.vector(3));
  if (!in.good() || !body.good()) return fail("the Certificate message is cut short");
  CertificateExtras extras;
  for (bool leaf = true; list.more(); leaf = false) {
    list.vector(3);
    Cursor extensions(list.vector(2));
    while (leaf && extensions.more()) {
      const auto type = static_cast<uint16_t>(extensions.number(2));
      const Bytes content = extensions.vector(2);
      if (extensions.good()) take_leaf_extension(extras, type, content);
    }
  }
  if (!list.good()) return fail("a certificate is cut short");
  return extras;
}

std::string find_alt_svc(std::string_view head) {
  constexpr std::string_view kName = "alt-svc";
  std::string value;
  while (!head.empty()) {
    const size_t end = head.find('\n');
    std::string_view line = head.substr(0, end);
    head = end == head.npos ? std::string_view() : head.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t colon = line.find(':');
    if (colon == line.npos || !iequals(line.substr(0, colon), kName)) continue;
    if (!value.empty()) value += ", ";
    value += trim_ows(line.substr(colon + 1));
  }
  return value;
}

uint16_t http3_port(std::string_view alt_svc) {
  uint16_t port = 0;
  for_each_member(alt_svc, [&](std::string_view member) {
    if (port != 0 || !member.starts_with("h3=\"")) return;
    const std::string_view authority = member.substr(4, member.find('"', 4) - 4);
    const size_t colon = authority.rfind(':');
    if (colon == authority.npos) return;
    const auto number = parse_decimal(authority.substr(colon + 1));
    if (number && *number <= 65535) port = static_cast<uint16_t>(*number);
  });
  return port;
}

}  // namespace pqedge::probe
