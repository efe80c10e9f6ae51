// What a CertificateStore holds, for the code that hands it to OpenSSL.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "crypto/certificates.h"
#include "crypto/handles.h"

namespace pqedge::crypto {

class CompressedMessages;
std::shared_ptr<CompressedMessages> new_compressed_messages();

// To see that a file is another one, or was written to.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t modified = 0;  // nanoseconds
  int64_t changed = 0;
  int64_t size = -1;  // -1: there is no such file
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
FileStamp stamp_of(const std::string& path);

// A leaf, its key and its intermediates. Immutable once it is shared (CertificateRef): to change
// what is stapled, change a copy() and give that to the keeper.
struct Certificate {
  X509Ptr leaf;
  KeyPtr key;
  X509StackPtr chain;              // intermediates, without the leaf; never null
  std::vector<std::string> names;  // lower case; wildcards as "*.example.org"; IPs as text
  std::string file;                // empty when it came from memory
  std::string id;                  // unique in the keeper: "file:...", "acme:..."
  FileStamp chain_stamp;           // of the files, before they were read
  FileStamp key_stamp;
  int64_t not_before = 0;     // Unix seconds
  int64_t not_after = 0;      // Unix seconds
  bool is_default = false;    // served when no name matches
  bool is_challenge = false;  // of tls-alpn-01: for ALPN "acme-tls/1" alone

  // How it ranks among others for the same name, higher first (certificate_rank.cc), and what a
  // client must list to verify it.
  uint32_t rank = 0;
  SchemeSet key_schemes = 0;
  std::vector<SchemeSet> signature_schemes;  // of each certificate that is not self-signed
  bool slow = false;  // a signature takes so long that it is made off the worker (T19)

  // Stapled: what the client may ask for beside it. Empty: nothing.
  std::string ocsp_response;      // DER (RFC 6960)
  int64_t ocsp_next_update = 0;   // Unix seconds; 0: not said
  std::string signed_timestamps;  // SignedCertificateTimestampList (RFC 6962 3.3), with its length
  // Compressed forms of its message, made when first asked for (certificate_compression.h). A copy
  // whose stapled parts were changed needs a new one.
  std::shared_ptr<CompressedMessages> compressed = new_compressed_messages();

  // Shares the OpenSSL objects, which are counted.
  Certificate copy() const;
};

// The texts of a chain and its key, and what to call them in messages.
struct PemSource {
  std::string_view chain;
  std::string_view key;
  std::string chain_name;
  std::string key_name;
  bool warn = true;  // in the log, of a certificate that is expired or not yet valid
};
// Parses and checks: every block is a certificate, each is issued by the next, the key fits the
// first. Fills all but `file`, `id`, the flags and what is stapled.
Result<Certificate> parse_certificate(const PemSource& source);

// rank, key_schemes, signature_schemes and slow, from leaf, key and chain.
void fill_rank(Certificate& certificate);

// Whether `fresh`, as read from files, would change nothing of what is served for `old`, which may
// have an OCSP response and timestamps beside it.
bool same_content(const Certificate& old, const Certificate& fresh);

// Names that a client may ask for: dNSName and iPAddress of subjectAltName, or, where there is no
// dNSName, the common name (RFC 6125 6.4.4).
std::vector<std::string> names_of(X509* leaf);

// Unix seconds.
int64_t to_unix(const ASN1_TIME* time);

// The subject on one line, its bytes escaped for logs.
std::string subject_of(X509* certificate);

}  // namespace pqedge::crypto
