// TLS 1.3's messages as they are on the wire: the readers of crypto/handshake_messages.h.
#pragma once

#include "crypto/handshake_messages.h"

namespace pqedge::measure::live {

using crypto::CertificateFacts;
using crypto::ClientHelloFacts;
using crypto::kCertificate;
using crypto::kCertificateRequest;
using crypto::kCertificateVerify;
using crypto::kClientHello;
using crypto::kCompressedCertificate;
using crypto::kEncryptedExtensions;
using crypto::kFinished;
using crypto::kServerHello;
using crypto::MessageReader;
using crypto::parse_server_hello;
using crypto::read_certificate;
using crypto::read_client_hello;
using crypto::RecordReader;
using crypto::ServerHello;

}  // namespace pqedge::measure::live
