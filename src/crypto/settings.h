// What a configuration says about TLS toward clients.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "crypto/stapling_settings.h"

namespace pqedge::crypto {

struct CertificateSettings {
  std::string chain_file;  // PEM: leaf first, then intermediates
  std::string key_file;    // PEM private key, any PKCS#8 form OpenSSL reads
  // Instead of the two: every pair of files in it, and in its directories
  // (certificate_directory.h).
  std::string directory;
  bool is_default = false;  // served when no name matches (else the first certificate is)
  bool acme = false;        // obtained by jobs/acme, by its own settings: no files here
  std::string sct_file;     // SignedCertificateTimestampList (RFC 6962 3.3); empty: none
};

// What happens to a client whose handshake would end on a group without ML-KEM.
enum class ClassicalAction : uint8_t {
  allow,
  log,        // allowed, with a line in the log
  refuse,     // the handshake fails: insufficient_security (RFC 8446 6.2)
  forbid,     // requests get 403 and a page that says why
  misdirect,  // requests get 421 (RFC 9110 15.5.20)
};

// Encrypted Client Hello (RFC 9849), [tls.ech].
struct EchSettings {
  // PEM, each a private key and its ECHConfigList, newest first: that one clients are told to use
  // when they come with another, and all of them still open a hello.
  std::vector<std::string> key_files;
  std::string public_name;  // what every key file names: the name that can be read on the way
};

// [crypto]: what the whole process computes with, chosen at start.
struct ProviderSettings {
  bool fips = false;
  std::string fips_module_config = "/etc/ssl/fipsmodule.cnf";  // as `openssl fipsinstall` writes it
  std::string fast_provider = "auto";  // "auto", "off", or the path of pqedge-fast.so
  friend bool operator==(const ProviderSettings&, const ProviderSettings&) = default;
};

// Whether clients are asked for a certificate (RFC 8446 4.3.2).
enum class ClientAuth : uint8_t {
  off,
  optional,     // one that is shown must be good; a client may show none
  required,     // no handshake without a good one
  request_any,  // whatever is shown is taken, and what is wrong with it told to the backend
};

struct ClientAuthSettings {
  ClientAuth mode = ClientAuth::off;
  std::string ca_file;                 // PEM: the authorities that clients' certificates come from
  std::vector<std::string> crl_files;  // PEM or DER; when there are any, every issuer needs one
  uint32_t depth = 3;                  // intermediates between a certificate and its authority
  uint64_t max_chain = 64 * 1024;      // bytes of the client's Certificate message
  bool ca_names = true;                // tell clients the authorities' names
};

// Ticket keys that restarts and other machines share, [tls.ticket_keys]: a sealed file
// (docs/internals/ticket-keys.md).
struct TicketKeySettings {
  std::string store_file;        // empty: the keys are this process's alone
  std::string private_key_file;  // PEM, ML-KEM-1024: opens the store
  std::string passphrase_file;   // of the private key; empty: it has none
  Nanos poll = 10 * kSecond;     // the file is looked at so often
  Nanos rotate_every = 0;        // this machine makes the next key; 0: it never does
};

// 0-RTT (RFC 8446 2.3).
struct EarlyDataSettings {
  bool on = false;
  uint32_t max_bytes = 16 * 1024;     // of early data on a TCP connection
  uint32_t replay_entries = 131'072;  // tickets remembered as used; when it is full: refused
};

// One policy; from it every worker builds a TCP and a QUIC context.
struct TlsSettings {
  std::string min_version = "1.3";  // "1.2" only when configured
  // A preset ("compatible", "hybrid-required", "cnsa2") or a list of groups, best first.
  std::vector<std::string> groups = {"compatible"};
  // A client that lists groups with ML-KEM, but none of ours, and one that lists none at all.
  ClassicalAction downgraded_clients = ClassicalAction::allow;
  ClassicalAction classical_clients = ClassicalAction::allow;
  std::vector<std::string> ciphers;               // TLS 1.3 suites; empty: the library's defaults
  std::vector<std::string> signature_algorithms;  // empty: the library's defaults
  ClientAuthSettings client_auth;
  std::vector<CertificateSettings> certificates;
  bool strict_key_files = false;  // refuse a private key's file that others can read
  EchSettings ech;
  bool session_tickets = true;
  Nanos ticket_lifetime = 7200 * kSecond;  // a ticket is honoured so long; keys roll at half of it
  TicketKeySettings ticket_keys;
  bool ticket_encapsulation = false;  // each ticket carries an ML-KEM-1024 encapsulation of its key
  EarlyDataSettings early_data;
  Nanos handshake_timeout = 10 * kSecond;
  OcspSettings ocsp;
  TransparencySettings transparency;
  // RFC 8879, best first: "brotli", "zstd", "zlib". Empty: certificates are sent as they are.
  std::vector<std::string> certificate_compression;
};

// Signatures that take long (RSA from 4096 bits, SLH-DSA) are made by threads beside the workers.
struct SigningSettings {
  uint32_t threads = 2;          // changes with a restart
  uint32_t queue = 256;          // handshakes that wait or are being signed
  uint32_t share = 8;            // of these, of one client address (IPv6: of a /64)
  Nanos deadline = 2 * kSecond;  // one that waited longer gets another certificate, or none
};

// Hosts with a policy of their own. Of `tls` only what validate_policy() looks at holds; the rest
// is that of the default policy.
struct HostPolicySettings {
  std::string name;
  std::vector<std::string> hosts;  // "a.test", or "*.a.test": one or more labels before it
  TlsSettings tls;
};

}  // namespace pqedge::crypto
