#include "crypto/certificate_extras.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/counters.h"
#include "crypto/callbacks.h"
#include "crypto/certificate_compression.h"
#include "crypto/certificates_internal.h"

namespace pqedge::crypto {
namespace {

using counters::Counter;

const Counter kStaples("pqedge_tls_ocsp_responses_sent_total",
                       "Handshakes in which an OCSP response was sent with the certificate");
const Counter kTimestamps("pqedge_tls_timestamps_sent_total",
                          "Handshakes in which signed certificate timestamps were sent");

struct CompressionCounters {
  Counter sent[3];
  Counter saved{"pqedge_tls_certificate_bytes_saved_total",
                "Bytes of certificates that compression kept off the wire"};
  CompressionCounters() {
    for (size_t i = 0; i < 3; ++i) {
      sent[i] =
          Counter("pqedge_tls_compressed_certificates_total",
                  "Handshakes in which the certificate was sent compressed",
                  {{"algorithm", std::string(name(static_cast<CertificateEncoding>(i + 1)))}});
    }
  }
};
const CompressionCounters compression_counters;

// A response that has run out is worse than none: clients fail the handshake.
bool has_fresh_response(const Certificate& certificate) {
  return !certificate.ocsp_response.empty() &&
         (certificate.ocsp_next_update == 0 || std::time(nullptr) < certificate.ocsp_next_update);
}

// Of the certificate that OpenSSL is about to send; null when it is another than the one chosen.
const Certificate* certificate_of(SSL* ssl, const SessionState* state) {
  if (state == nullptr || state->certificate == nullptr) return nullptr;
  return SSL_get_certificate(ssl) == state->certificate->leaf.get() ? state->certificate.get()
                                                                    : nullptr;
}

int on_status(SSL* ssl, void*) {
  const Certificate* certificate = certificate_of(ssl, session_of(ssl));
  if (certificate == nullptr || !has_fresh_response(*certificate)) return SSL_TLSEXT_ERR_NOACK;
  const std::string& response = certificate->ocsp_response;
  auto* copy =
      static_cast<unsigned char*>(OPENSSL_memdup(response.data(), response.size()));  // OpenSSL's
  if (copy == nullptr) return SSL_TLSEXT_ERR_NOACK;
  if (SSL_set_tlsext_status_ocsp_resp(ssl, copy, static_cast<long>(response.size())) != 1) {
    OPENSSL_free(copy);
    return SSL_TLSEXT_ERR_NOACK;
  }
  kStaples.add();
  return SSL_TLSEXT_ERR_OK;
}

int on_timestamps_asked(SSL* ssl, unsigned int, unsigned int, const unsigned char*, size_t, X509*,
                        size_t, int*, void*) {
  if (SessionState* state = session_of(ssl)) state->wants_timestamps = true;
  return 1;
}

// With the leaf in TLS 1.3, in the ServerHello of TLS 1.2 unless it resumes (RFC 6962 3.3.1).
// OpenSSL calls this only where the client asked.
int on_timestamps(SSL* ssl, unsigned int, unsigned int context, const unsigned char** out,
                  size_t* size, X509*, size_t index, int*, void*) {
  constexpr int kNotSent = 0;
  constexpr int kSent = 1;
  const Certificate* certificate = certificate_of(ssl, session_of(ssl));
  if (certificate == nullptr || certificate->signed_timestamps.empty()) return kNotSent;
  if (context == SSL_EXT_TLS1_3_CERTIFICATE ? index != 0 : SSL_session_reused(ssl) == 1) {
    return kNotSent;
  }
  *out = reinterpret_cast<const unsigned char*>(certificate->signed_timestamps.data());
  *size = certificate->signed_timestamps.size();
  kTimestamps.add();
  return kSent;
}

bool has_timestamps(const TlsSettings& settings) {
  return !settings.transparency.submit.empty() ||
         std::ranges::any_of(settings.certificates,
                             [](const CertificateSettings& c) { return !c.sct_file.empty(); });
}

bool knows_brotli(const TlsSettings& settings) {
  return std::ranges::contains(settings.certificate_compression, name(CertificateEncoding::brotli));
}

bool set_encodings(SSL_CTX* context, const TlsSettings& settings) {
  std::vector<int> codes;
  for (const std::string& each : settings.certificate_compression) {
    if (const auto encoding = find_certificate_encoding(each)) {
      codes.push_back(static_cast<int>(*encoding));
    }
  }
  if (codes.empty()) {
    SSL_CTX_set_options(context, SSL_OP_NO_TX_CERTIFICATE_COMPRESSION);
    return true;
  }
  SSL_CTX_clear_options(context, SSL_OP_NO_TX_CERTIFICATE_COMPRESSION);
  const BrotliKnown known;
  return SSL_CTX_set1_cert_comp_preference(context, codes.data(), codes.size()) == 1;
}

// False: it is not smaller in this encoding.
bool send_compressed(SSL* ssl, SessionState& state, CertificateEncoding encoding,
                     MessageParts parts) {
  const Certificate& certificate = *state.certificate;
  const auto& message = certificate.compressed->get(certificate, encoding, parts);
  if (message.bytes.empty()) return false;
  const BrotliKnown known;
  // OpenSSL copies the bytes; its parameter lacks the const.
  auto* bytes = reinterpret_cast<unsigned char*>(const_cast<char*>(message.bytes.data()));
  if (SSL_set1_compressed_cert(ssl, static_cast<int>(encoding), bytes, message.bytes.size(),
                               message.plain_size) != 1) {
    clear_errors();
    return false;
  }
  // The callback comes twice where a HelloRetryRequest is sent.
  if (std::exchange(state.compressed, true)) return true;
  compression_counters.sent[static_cast<size_t>(encoding) - 1].add();
  compression_counters.saved.add(message.plain_size - message.bytes.size());
  if (parts.timestamps) kTimestamps.add();
  return true;
}

}  // namespace

Result<void> install_certificate_extras(SSL_CTX* context, const TlsSettings& settings) {
  clear_errors();
  if (settings.ocsp.stapling) SSL_CTX_set_tlsext_status_cb(context, on_status);
  bool ok = set_encodings(context, settings);
  if (has_timestamps(settings)) {
    ok = ok && SSL_CTX_add_custom_ext(
                   context, TLSEXT_TYPE_signed_certificate_timestamp,
                   SSL_EXT_CLIENT_HELLO | SSL_EXT_TLS1_2_SERVER_HELLO | SSL_EXT_TLS1_3_CERTIFICATE,
                   on_timestamps, nullptr, nullptr, on_timestamps_asked, nullptr) == 1;
  }
  if (ok) return {};
  return fail("tls: certificate compression or timestamps cannot be set up: {}",
              take_openssl_error());
}

void begin_certificate_extras(const TlsSettings& settings) {
  if (knows_brotli(settings)) BrotliKnown::set(true);
}

void end_certificate_extras() { BrotliKnown::set(false); }

void add_certificate_extras(SSL* ssl, SessionState& state, const TlsSettings& settings) {
  BrotliKnown::set(false);
  if (settings.certificate_compression.empty() || state.certificate_encodings == 0) return;
  if (state.certificate == nullptr || SSL_version(ssl) != TLS1_3_VERSION) return;
  const Certificate& certificate = *state.certificate;
  // What was not asked for must not be in it (RFC 8446 4.4.2).
  const MessageParts parts = {
      .ocsp_response = settings.ocsp.stapling && has_fresh_response(certificate) &&
                       SSL_get_tlsext_status_type(ssl) == TLSEXT_STATUSTYPE_ocsp,
      .timestamps = state.wants_timestamps && !certificate.signed_timestamps.empty()};
  for (const std::string& each : settings.certificate_compression) {
    const auto encoding = find_certificate_encoding(each);
    if (!encoding) continue;
    const bool taken = (state.certificate_encodings >> static_cast<int>(*encoding) & 1) != 0;
    if (taken && send_compressed(ssl, state, *encoding, parts)) return;
  }
}

}  // namespace pqedge::crypto
