// Logs of Certificate Transparency, and whether one of them signed a timestamp.
#include <openssl/sha.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "crypto/sct.h"

namespace pqedge::crypto {
namespace {

using LogJson = nlohmann::json;
using DigestPtr = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;

constexpr size_t kMaxLogList = 16 * 1024 * 1024;
constexpr size_t kMaxLogs = 4096;
constexpr int64_t kSkew = 300;
// RFC 5246 7.4.1.4.1; RFC 6962 2.1.4 allows these.
constexpr uint8_t kSha256 = 4;
constexpr uint8_t kRsa = 1;
constexpr uint8_t kLogEcdsa = 3;
// LogEntryType (RFC 6962 3.1).
constexpr uint16_t kX509Entry = 0;
constexpr uint16_t kPrecertEntry = 1;

std::string text_of(const LogJson& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::string sha256(std::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

// False: the entry says nothing that can be used. The ID is that of the key, whatever is written.
bool read_log(const LogJson& entry, TransparencyLog& log) {
  const std::string der = from_base64(text_of(entry, "key")).value_or("");
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  log.key.reset(d2i_PUBKEY(nullptr, &at, static_cast<long>(der.size())));
  clear_errors();
  if (log.key == nullptr) return false;
  log.id = sha256(der);
  log.name = text_of(entry, "description");
  log.url = text_of(entry, "url");
  if (log.url.empty()) log.url = text_of(entry, "submission_url");  // of a log in tiles
  if (!log.url.empty() && !log.url.ends_with('/')) log.url += '/';
  if (log.name.empty()) log.name = log.url;
  return true;
}

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

template <typename Encode>
std::string der_of(Encode encode) {
  unsigned char* der = nullptr;
  const int size = encode(&der);
  if (size <= 0) return {};
  std::string out(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return out;
}

// The certificate as its log saw it before it was issued: without the timestamps (RFC 6962 3.2).
std::string precertificate_of(X509* leaf) {
  const X509Ptr copy(X509_dup(leaf));
  if (copy == nullptr) return {};
  const int place = X509_get_ext_by_NID(copy.get(), NID_ct_precert_scts, -1);
  if (place >= 0) X509_EXTENSION_free(X509_delete_ext(copy.get(), place));
  return der_of([&](unsigned char** out) { return i2d_re_X509_tbs(copy.get(), out); });
}

// What the log signed; empty: it cannot be made.
std::string signed_data(const SignedTimestamp& t, TimestampSource source, X509* leaf,
                        X509* issuer) {
  std::string data;
  put(data, t.version, 1);
  put(data, 0, 1);  // SignatureType certificate_timestamp
  put(data, t.time, 8);
  std::string entry;
  if (source == TimestampSource::certificate) {
    if (issuer == nullptr) return {};
    put(data, kPrecertEntry, 2);
    data += sha256(der_of(
        [&](unsigned char** out) { return i2d_X509_PUBKEY(X509_get_X509_PUBKEY(issuer), out); }));
    entry = precertificate_of(leaf);
  } else {
    put(data, kX509Entry, 2);
    entry = der_of([&](unsigned char** out) { return i2d_X509(leaf, out); });
  }
  if (entry.empty()) return {};
  put(data, entry.size(), 3);
  data += entry;
  put(data, t.extensions.size(), 2);
  data += as_text(t.extensions);
  return data;
}

bool verifies(const SignedTimestamp& t, EVP_PKEY* key, std::string_view data) {
  if (t.hash != kSha256 || data.empty()) return false;
  const bool fits = (t.algorithm == kLogEcdsa && EVP_PKEY_is_a(key, "EC") == 1) ||
                    (t.algorithm == kRsa && EVP_PKEY_is_a(key, "RSA") == 1);
  const DigestPtr context(EVP_MD_CTX_new());
  return fits && context != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), t.signature.data(), t.signature.size(),
                          reinterpret_cast<const unsigned char*>(data.data()), data.size()) == 1;
}

}  // namespace

Result<std::shared_ptr<const LogList>> LogList::parse(std::string_view json) {
  const LogJson document = LogJson::parse(json, nullptr, false);
  if (!document.is_object()) return fail("it is not a JSON object");
  const auto operators = document.find("operators");
  if (operators == document.end() || !operators->is_array()) {
    return fail("it has no \"operators\": write it in the form of the public lists, version 3");
  }
  auto list = std::make_shared<LogList>();
  size_t unread = 0;
  for (const LogJson& each : *operators) {
    for (const char* kind : {"logs", "tiled_logs"}) {
      if (!each.is_object() || !each.contains(kind) || !each[kind].is_array()) continue;
      for (const LogJson& entry : each[kind]) {
        TransparencyLog log;
        if (entry.is_object() && read_log(entry, log)) {
          list->logs_.push_back(std::move(log));
        } else {
          ++unread;
        }
        if (list->logs_.size() + unread > kMaxLogs) {
          return fail("it has more than {} logs", kMaxLogs);
        }
      }
    }
  }
  if (list->logs_.empty()) return fail("it names no log with a key that can be read");
  return list;
}

Result<std::shared_ptr<const LogList>> LogList::load(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail_errno(errno, "cannot open {}", file);
  std::string text(kMaxLogList + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return fail("cannot read {}", file);
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kMaxLogList) return fail("{} has more than 16 MiB: not a list of logs", file);
  auto list = parse(text);
  if (!list) return fail("{}: {}", file, list.error().message);
  return list;
}

const TransparencyLog* LogList::find(Bytes id) const {
  for (const TransparencyLog& log : logs_) {
    if (log.id == as_text(id)) return &log;
  }
  return nullptr;
}

const TransparencyLog* LogList::find_url(std::string_view url) const {
  while (url.ends_with('/')) url.remove_suffix(1);
  for (const TransparencyLog& log : logs_) {
    std::string_view known = log.url;
    while (known.ends_with('/')) known.remove_suffix(1);
    if (!known.empty() && known == url) return &log;
  }
  return nullptr;
}

TimestampVerdict check_timestamp(const SignedTimestamp& timestamp, TimestampSource source,
                                 X509* leaf, X509* issuer, const LogList& logs, int64_t now) {
  if (timestamp.version != 0) return TimestampVerdict::unknown_version;
  const TransparencyLog* log = logs.find(timestamp.log_id);
  if (log == nullptr) return TimestampVerdict::unknown_log;
  clear_errors();
  const std::string data = signed_data(timestamp, source, leaf, issuer);
  const bool good = verifies(timestamp, log->key.get(), data);
  clear_errors();
  if (!good) return TimestampVerdict::bad_signature;
  // Clients are to refuse it then (RFC 6962 5.2).
  if (timestamp.time / 1000 > static_cast<uint64_t>(now + kSkew)) return TimestampVerdict::future;
  return TimestampVerdict::good;
}

}  // namespace pqedge::crypto
