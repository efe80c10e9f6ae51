// Reading and writing lists of timestamps.
#include "crypto/sct.h"

#include <algorithm>
#include <format>

namespace pqedge::crypto {
namespace {

using ListOctetsPtr = std::unique_ptr<ASN1_OCTET_STRING, FreeWith<ASN1_OCTET_STRING_free>>;

constexpr size_t kLogId = 32;
constexpr uint8_t kVersion1 = 0;

// Cuts vectors off the front of what is left; false once something ran past the end.
class ListCutter {
 public:
  explicit ListCutter(Bytes bytes) : rest_(bytes) {}
  bool take(size_t size, Bytes& out) {
    if (rest_.size() < size) return false;
    out = rest_.first(size);
    rest_ = rest_.subspan(size);
    return true;
  }
  // A vector with two bytes of length.
  bool vector(Bytes& out) {
    Bytes size;
    return take(2, size) && take(load_be16(size.data()), out);
  }
  bool byte(uint8_t& out) {
    Bytes one;
    if (!take(1, one)) return false;
    out = one[0];
    return true;
  }
  bool empty() const { return rest_.empty(); }

 private:
  Bytes rest_;
};

// RFC 6962 3.2. A version that is not known has a form that is not known either.
bool read_timestamp(Bytes whole, SignedTimestamp& out) {
  ListCutter cutter(whole);
  Bytes time;
  out.whole = whole;
  if (!cutter.byte(out.version)) return false;
  if (out.version != kVersion1) return true;
  if (!cutter.take(kLogId, out.log_id) || !cutter.take(8, time) || !cutter.vector(out.extensions) ||
      !cutter.byte(out.hash) || !cutter.byte(out.algorithm) || !cutter.vector(out.signature)) {
    return false;
  }
  out.time = load_be64(time.data());
  return cutter.empty();
}

void put16(std::string& out, size_t value) {
  out += static_cast<char>(value >> 8 & 0xff);
  out += static_cast<char>(value & 0xff);
}

}  // namespace

Result<std::vector<SignedTimestamp>> parse_timestamps(Bytes list) {
  if (list.size() > kMaxTimestampList) {
    return fail("a list of timestamps of {} bytes, more than the {} that are sent on", list.size(),
                kMaxTimestampList);
  }
  ListCutter outer(list);
  Bytes inside;
  if (!outer.vector(inside) || !outer.empty()) {
    return fail("the list's length is not that of what follows");
  }
  if (inside.empty()) return fail("the list is empty");
  std::vector<SignedTimestamp> timestamps;
  for (ListCutter cutter(inside); !cutter.empty();) {
    Bytes one;
    SignedTimestamp timestamp;
    if (!cutter.vector(one) || !read_timestamp(one, timestamp)) {
      return fail("timestamp {} is cut short or has bytes left over", timestamps.size() + 1);
    }
    timestamps.push_back(timestamp);
  }
  return timestamps;
}

std::string make_timestamp_list(const std::vector<std::string>& timestamps) {
  std::string inside;
  for (const std::string& one : timestamps) {
    put16(inside, one.size());
    inside += one;
  }
  std::string list;
  put16(list, inside.size());
  return list + inside;
}

std::string embedded_timestamps(X509* leaf) {
  const int place = X509_get_ext_by_NID(leaf, NID_ct_precert_scts, -1);
  if (place < 0) return {};
  // An octet string within the extension's octet string.
  const ASN1_OCTET_STRING* value = X509_EXTENSION_get_data(X509_get_ext(leaf, place));
  const unsigned char* at = ASN1_STRING_get0_data(value);
  const ListOctetsPtr list(d2i_ASN1_OCTET_STRING(nullptr, &at, ASN1_STRING_length(value)));
  clear_errors();
  if (list == nullptr) return {};
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(list.get())),
          static_cast<size_t>(ASN1_STRING_length(list.get()))};
}

std::string_view name(TimestampSource source) {
  switch (source) {
    case TimestampSource::certificate: return "certificate";
    case TimestampSource::ocsp_response: return "ocsp_response";
    case TimestampSource::file: return "file";
  }
  return "?";
}

TimestampReport report_timestamps(Bytes list, TimestampSource source, X509* leaf, X509* issuer,
                                  const LogList* logs, int64_t now) {
  TimestampReport report{.source = source};
  const auto timestamps = parse_timestamps(list);
  if (!timestamps) {
    report.problems.push_back(timestamps.error().message);
    return report;
  }
  report.count = timestamps->size();
  if (logs == nullptr) return report;
  for (size_t i = 0; i < timestamps->size(); ++i) {
    const SignedTimestamp& timestamp = (*timestamps)[i];
    const TransparencyLog* log = logs->find(timestamp.log_id);
    const std::string of = log == nullptr ? std::string() : " of " + log->name;
    switch (check_timestamp(timestamp, source, leaf, issuer, *logs, now)) {
      case TimestampVerdict::good:
        ++report.good;
        report.logs.push_back(log->name);
        break;
      case TimestampVerdict::unknown_log:
      case TimestampVerdict::unknown_version: ++report.unknown; break;
      case TimestampVerdict::future:
        report.problems.push_back(std::format("timestamp {}{} is of the future", i + 1, of));
        break;
      case TimestampVerdict::bad_signature:
        report.problems.push_back(
            issuer == nullptr && source == TimestampSource::certificate
                ? std::format("timestamp {}{} cannot be checked without the issuer's certificate",
                              i + 1, of)
                : std::format("timestamp {}{} has a wrong signature", i + 1, of));
        break;
    }
  }
  return report;
}

}  // namespace pqedge::crypto
