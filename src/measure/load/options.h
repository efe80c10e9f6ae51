// What a run of the load generator is asked to do.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace pqedge::measure::load {

enum class Protocol { kHttp1, kHttp2, kHttp3 };

std::string_view protocol_name(Protocol protocol);  // "h1", "h2", "h3"

// A group of processes whose CPU time is read at both ends of the measuring window.
struct WatchedGroup {
  std::string name;
  std::vector<pid_t> processes;
};

struct Options {
  Protocol protocol = Protocol::kHttp1;

  // From the URL. Clear text ("http") is for HTTP/1.1 only.
  bool tls = true;
  std::string host;
  uint16_t port = 443;
  std::string path = "/";

  std::string connect;             // "ADDRESS:PORT" to connect to, when not the URL's own
  std::string sni;                 // when not the URL's host
  std::vector<std::string> local;  // local IP addresses, used in turn

  size_t connections = 1;
  size_t streams = 1;  // requests in flight on one connection; HTTP/1.1 knows only one
  Nanos duration = 10 * kSecond;
  Nanos warm_up = kSecond;
  uint64_t requests = 0;  // stop after as many, warm-up included; 0: by time alone

  // Open loop: requests a second over all connections, each at its appointed time whether or not
  // earlier ones were answered. 0: closed loop, each answer starts the next request.
  double rate = 0;
  bool poisson = false;  // exponential gaps instead of equal ones

  bool handshake_each = false;  // a new connection, and a full handshake, for each request
  bool resume = false;          // with handshake_each: resume by session ticket
  double resumption = 1;        // with resume: the share of connections that try to

  std::string groups = "X25519MLKEM768:X25519";
  std::string ciphers = "TLS_AES_128_GCM_SHA256";
  std::string sigalgs;  // as OpenSSL lists them: which certificate a server shows; empty: all
  std::string ca_file;  // verify the server against it; empty: no verification
  std::string certificate_file;  // of the client, with its chain, PEM; empty: none
  std::string key_file;

  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> headers;
  uint64_t upload_size = 0;

  int expect_status = 200;
  std::optional<uint64_t> expect_size;                   // of each answer's body
  std::optional<std::array<uint8_t, 32>> expect_sha256;  // of each answer's body

  Nanos timeout = 10 * kSecond;  // for one request, and for one handshake
  bool gso = true;               // several datagrams a system call when sending
  bool gro = true;               // and when receiving
  size_t udp_payload = 1452;     // largest datagram sent, and the largest that is asked for

  std::vector<WatchedGroup> watch;
  bool progress = false;  // one line a second on standard error
};

// Reads "https://host[:port][/path]" into the options.
Result<void> set_url(Options& options, std::string_view url);

// Refuses what cannot work together, with a hint.
Result<void> validate(const Options& options);

}  // namespace pqedge::measure::load
