// bench_floor: the least that a TLS 1.3 proxy of HTTP/1.1 can cost, as an arm of the benchmark.
// Not a proxy to use: see forward_loop.h for all that it leaves out.
#include <arpa/inet.h>
#include <openssl/err.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "forward_loop.h"
#include "tls_pipe.h"

namespace {

using pqedge::bench::ForwardLoop;
using pqedge::bench::make_server_context;
using pqedge::bench::SslCtxPtr;

volatile int stop_requested = 0;

void request_stop(int /*signal*/) { stop_requested = 1; }

std::optional<sockaddr_in> parse_address(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  uint16_t port = 0;
  const std::string_view digits = std::string_view(text).substr(colon + 1);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return std::nullopt;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1) {
    return std::nullopt;
  }
  return address;
}

int listen_on(const sockaddr_in& address) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(socket, 4096) != 0) {
    close(socket);
    return -1;
  }
  return socket;
}

int usage() {
  std::fprintf(stderr,
               "usage: bench_floor --listen ADDRESS:PORT --backend ADDRESS:PORT --cert FILE "
               "--key FILE [--groups LIST]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::string listen_text;
  std::string backend_text;
  std::string certificate;
  std::string key;
  std::string groups = "X25519MLKEM768:X25519";
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) return usage();
    const std::string value = argv[i + 1];
    if (name == "--listen") {
      listen_text = value;
    } else if (name == "--backend") {
      backend_text = value;
    } else if (name == "--cert") {
      certificate = value;
    } else if (name == "--key") {
      key = value;
    } else if (name == "--groups") {
      groups = value;
    } else {
      return usage();
    }
  }
  const std::optional<sockaddr_in> listen_address = parse_address(listen_text);
  const std::optional<sockaddr_in> backend_address = parse_address(backend_text);
  if (!listen_address || !backend_address || certificate.empty() || key.empty()) return usage();

  const SslCtxPtr context = make_server_context(certificate, key, groups);
  if (!context) {
    ERR_print_errors_fp(stderr);
    return 1;
  }
  const int listener = listen_on(*listen_address);
  if (listener < 0) {
    std::fprintf(stderr, "bench_floor: cannot listen on %s: %s\n", listen_text.c_str(),
                 std::strerror(errno));
    return 1;
  }
  struct sigaction action{};
  action.sa_handler = request_stop;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);

  ForwardLoop(context.get(), listener, *backend_address).run(stop_requested);
  close(listener);
  return 0;
}
