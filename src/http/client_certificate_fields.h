// The fields that tell a backend who the client is by its certificate (T11).
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/problem.h"
#include "http/message.h"
#include "net/facts.h"

namespace pqedge::http {

// Names of fields; an empty one is not sent. Whatever they are, nobody but this proxy can send them
// to a backend, in no spelling that a backend could take for them.
struct ClientCertificateFields {
  std::string verify = "X-SSL-Client-Verify";  // SUCCESS, NONE, FAILED:why
  std::string subject = "X-SSL-Client-DN";     // RFC 4514
  std::string issuer = "X-SSL-Client-Issuer-DN";
  std::string san = "X-SSL-Client-SAN";             // "DNS:a.test, URI:spiffe://a/b"
  std::string serial = "X-SSL-Client-Serial";       // hexadecimal
  std::string fingerprint = "X-SSL-Client-SHA256";  // of the certificate, hexadecimal
  std::string certificate = "Client-Cert";          // RFC 9440
  std::string chain;                                // RFC 9440: Client-Cert-Chain

  std::array<std::string_view, 8> all() const {
    return {verify, subject, issuer, san, serial, fingerprint, certificate, chain};
  }
  // Whether a backend could take `name` for one of them.
  bool is_one(std::string_view name) const;
};

// Adds them where the connection's policy asks clients for a certificate. The client's own are
// gone.
void add_client_certificate_fields(Request& request, const net::ConnectionFacts& facts,
                                   const ClientCertificateFields& names);

// Keys are "client_certificate_fields...".
Problems validate(const ClientCertificateFields& names);

}  // namespace pqedge::http
