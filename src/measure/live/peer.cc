#include "measure/live/peer.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>

#include "net/address.h"

namespace pqedge::measure::live {

namespace {

constexpr long kPatienceSeconds = 20;

Result<crypto::SslCtxPtr> make_context(const PeerOptions& options, const MintedChain& chain) {
  crypto::clear_errors();
  crypto::SslCtxPtr context(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* raw = context.get();
  if (raw == nullptr) return fail("TLS: {}", crypto::take_openssl_error());
  SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION);
  SSL_CTX_set_num_tickets(raw, 0);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(raw, SSL_OP_CIPHER_SERVER_PREFERENCE);
  if (SSL_CTX_set1_groups_list(raw, options.groups.c_str()) != 1) {
    return fail("the peer's groups {}: {}", options.groups, crypto::take_openssl_error());
  }
  if (SSL_CTX_use_certificate(raw, chain.leaf.get()) != 1 ||
      SSL_CTX_use_PrivateKey(raw, chain.leaf_key.get()) != 1 ||
      SSL_CTX_add1_chain_cert(raw, chain.intermediate.get()) != 1) {
    return fail("the peer's chain: {}", crypto::take_openssl_error());
  }
  return context;
}

Result<net::Fd> listen_on(uint16_t port) {
  const auto address = net::Address::from_ip(link::kServerIp, port);
  if (!address) return std::unexpected(address.error());
  net::ListenOptions options;
  options.reuse_port = false;
  return net::listen_stream(*address, options);
}

}  // namespace

Result<std::unique_ptr<TlsPeer>> TlsPeer::start(const link::Testbed& testbed,
                                                const PeerOptions& options,
                                                const MintedChain& chain, uint16_t port) {
  auto context = make_context(options, chain);
  if (!context) return std::unexpected(context.error());
  Result<net::Fd> listener;
  const auto listening = testbed.server().run([&]() -> Result<void> {
    listener = listen_on(port);
    return listener ? Result<void>{} : std::unexpected(listener.error());
  });
  if (!listening) return std::unexpected(listening.error());
  std::unique_ptr<TlsPeer> peer(new TlsPeer(std::move(*context), std::move(*listener)));
  // A socket stays in its namespace: the threads need not be in it.
  peer->accepting_ = std::thread([raw = peer.get()] { raw->accept_all(); });
  return peer;
}

TlsPeer::~TlsPeer() {
  end_ = true;
  shutdown(listener_.get(), SHUT_RDWR);
  accepting_.join();
  {
    const std::scoped_lock guard(lock_);
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
  }
  for (std::thread& thread : serving_) thread.join();
}

void TlsPeer::accept_all() {
  while (!end_) {
    pollfd watched{listener_.get(), POLLIN, 0};
    poll(&watched, 1, 1000);
    const int socket = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    const std::scoped_lock guard(lock_);
    sockets_.push_back(socket);
    serving_.emplace_back([this, socket] { serve(socket); });
  }
}

void TlsPeer::serve(int socket) {
  // OpenSSL's socket BIO writes without MSG_NOSIGNAL: a client that is gone must not end us all.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  net::Fd owned(socket);
  const timeval patience{kPatienceSeconds, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  static_cast<void>(net::set_nodelay(socket));
  const crypto::SslPtr ssl(SSL_new(context_.get()));
  SSL_set_fd(ssl.get(), socket);
  char byte;
  if (SSL_accept(ssl.get()) == 1) SSL_read(ssl.get(), &byte, 1);  // until the client closes
  crypto::clear_errors();
  const std::scoped_lock guard(lock_);
  std::erase(sockets_, socket);
}

}  // namespace pqedge::measure::live
