// The reader of OCSP responses: whatever a responder sends, it says what is wrong with it, or takes
// what this authority signed for this certificate.
#include <openssl/pem.h>

#include <cstdlib>
#include <string_view>

#include "crypto/ocsp.h"

namespace {

using pqedge::crypto::X509Ptr;

// The seeds are of that time.
constexpr int64_t kNow = 1'796'075'323;

constexpr std::string_view kLeaf =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBmTCCAT+gAwIBAgIUB6QOZfokWyf46XZ6NrVhnRJVlvIwCgYIKoZIzj0EAwIw\n"
    "GTEXMBUGA1UEAwwOdGVzdCBhdXRob3JpdHkwHhcNMjYxMTI5MjE0NzQzWhcNMjcw\n"
    "MjI4MjE0NzQzWjAXMRUwEwYDVQQDDAxleGFtcGxlLnRlc3QwWTATBgcqhkjOPQIB\n"
    "BggqhkjOPQMBBwNCAAQDUGIv9zGNQJeBC4Ym8DA/PrLARDNc+WbcjIPs+Tnrz74h\n"
    "uA84+Ur5lgorkKDysbaCnSQna4nMF1T07Rq6yY43o2cwZTAXBgNVHREEEDAOggxl\n"
    "eGFtcGxlLnRlc3QwEwYDVR0lBAwwCgYIKwYBBQUHAwEwNQYIKwYBBQUHAQEEKTAn\n"
    "MCUGCCsGAQUFBzABhhlodHRwOi8vb2NzcC5leGFtcGxlLnRlc3QvMAoGCCqGSM49\n"
    "BAMCA0gAMEUCIQC39g+Zbqpn6VVbyvs9MM23j4H/CO0PxZZXxzpliTHA7gIgQWSX\n"
    "IGB9fRwBktjH1fG5jx2Av0kI0ZrWLtulEjHREaI=\n"
    "-----END CERTIFICATE-----\n";
constexpr std::string_view kIssuer =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBdzCCARygAwIBAgIUF3MLoxU6k9fuuDd7LPPvgBTPJFMwCgYIKoZIzj0EAwIw\n"
    "GTEXMBUGA1UEAwwOdGVzdCBhdXRob3JpdHkwHhcNMjYxMTI5MjE0NzQzWhcNMjcw\n"
    "OTI2MjE0NzQzWjAZMRcwFQYDVQQDDA50ZXN0IGF1dGhvcml0eTBZMBMGByqGSM49\n"
    "AgEGCCqGSM49AwEHA0IABNEVxL2oInENtIBDy/TCuYhp4F6e48cXmmWbBeQbL0Q4\n"
    "+CA4Caf9nvxT5V9KbO/5JBuq5K+5Bfo6LFcFKkKXZbSjQjBAMA8GA1UdEwEB/wQF\n"
    "MAMBAf8wDgYDVR0PAQH/BAQDAgGGMB0GA1UdDgQWBBRh42LX9DcMYB1xIQiQvZCi\n"
    "MZXBiTAKBggqhkjOPQQDAgNJADBGAiEAix+lnk6ll9K9jv/kwGYcm5rH0HKyMUP1\n"
    "ic1TvnL+dxgCIQDM9qn44WNwwP6bycCFyoyG1ObbTt3IzcLG5B4yAfJ0OA==\n"
    "-----END CERTIFICATE-----\n";

X509Ptr parse(std::string_view pem) {
  const pqedge::crypto::BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr) std::abort();
  return certificate;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const X509Ptr leaf = parse(kLeaf);
  static const X509Ptr issuer = parse(kIssuer);
  const auto answer =
      pqedge::crypto::read_ocsp_response({data, size}, leaf.get(), issuer.get(), kNow);
  if (!answer) {
    if (answer.error().message.empty()) std::abort();
    return 0;
  }
  if (answer->valid_until <= kNow || answer->this_update > kNow + 300) std::abort();
  if (answer->timestamps.size() > size || size > pqedge::crypto::kMaxOcspResponse) std::abort();
  return 0;
}
