// A whole handshake by OpenSSL, and what is seen of it: its messages as they were on the wire.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/handles.h"
#include "probe/dial.h"
#include "probe/report.h"

namespace pqedge::probe {

using SessionPtr = std::unique_ptr<SSL_SESSION, crypto::FreeWith<SSL_SESSION_free>>;

// As current clients do: shares of the usual hybrid and of X25519, and beside them every group that
// the library has (OpenSSL passes over those with a question mark that it does not know).
inline constexpr std::string_view kUsualGroups =
    "?*X25519MLKEM768:?*X25519:?SecP256r1MLKEM768:?SecP384r1MLKEM1024:?MLKEM768:?MLKEM1024:"
    "?MLKEM512:?P-256:?P-384:?P-521:?X448:?ffdhe2048:?ffdhe3072";

// What a handshake is asked to be. No signatures: the library's own list.
struct SessionAsk {
  std::string groups{kUsualGroups};
  std::string signatures;
  std::vector<std::string> alpn;
  int compression = 0;           // a TLSEXT_comp_cert_* algorithm; 0: none is offered
  bool extras = true;            // asks for an OCSP response and SCTs
  bool ech_grease = false;       // RFC 9849 6.2
  bool http_request = false;     // after the handshake: HEAD /, whose answer brings Alt-Svc
  bool wait_for_ticket = false;  // after the handshake: for a session ticket, a little while
  SSL_SESSION* resume = nullptr;
};

// Fills `seen` from messages as OpenSSL hands them over; the group comes from the ServerHello.
struct Seen {
  bool server_hello = false;
  bool retry = false;
  uint16_t version = 0;
  uint16_t group = 0;
  uint16_t cipher = 0;
  uint16_t signature = 0;  // of the CertificateVerify
  size_t signature_bytes = 0;
  size_t certificate = 0;  // bytes of the Certificate message
  size_t certificates_der = 0;
  CertificateExtras extras;
  CompressionReport compression;
  std::vector<uint8_t> ech_configs;  // ECHConfigList of the EncryptedExtensions
  bool ech_answered = false;
  size_t tickets = 0;

  // The callback of SSL_set_msg_callback(), whose argument is a Seen.
  static void on_message(int written, int version, int type, const void* bytes, size_t size,
                         SSL* ssl, void* self);

 private:
  void take(Bytes message);
  void take_server_hello(Bytes message);
};

struct SessionResult {
  bool connected = false;  // to the TCP port
  bool completed = false;
  std::string error;  // why not, for a person
  Seen seen;
  std::string alpn;
  bool resumed = false;
  std::string alt_svc;
  SessionPtr ticket;  // the first one
  ChainReport chain;  // the peer's, without signatures
};

SessionResult open_session(Dialer& dialer, const SessionAsk& asked);

// A client context with the options' trust store: for TCP and for QUIC. Sessions that it gets go to
// the SessionPtr that SSL_get_ex_data() at ticket_index() points to.
Result<crypto::SslCtxPtr> make_context(const Options& options, const SessionAsk& asked);
Result<crypto::SslPtr> make_client(SSL_CTX* context, const Options& options,
                                   const SessionAsk& asked, Seen& seen);
int ticket_index();

// The chain that the server sent, with what its certificates are, and whether it is trusted.
ChainReport read_chain(SSL* ssl, const Seen& seen);

}  // namespace pqedge::probe
