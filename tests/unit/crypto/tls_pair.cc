#include "unit/crypto/tls_pair.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace pqedge::crypto::testing {
namespace {

constexpr int kManySteps = 200'000;

std::string wire_alpn(const std::vector<std::string>& names) {
  std::string wire;
  for (const std::string& name : names) wire += static_cast<char>(name.size()) + name;
  return wire;
}

void set_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

std::array<net::Fd, 2> socket_pair(bool tcp) {
  if (!tcp) {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) std::abort();
    return {net::Fd(fds[0]), net::Fd(fds[1])};
  }
  const net::Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* sa = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener.get(), sa, size) != 0 || listen(listener.get(), 1) != 0 ||
      getsockname(listener.get(), sa, &size) != 0) {
    std::abort();
  }
  net::Fd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(client.get(), sa, size) != 0) std::abort();
  net::Fd server(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  set_nonblocking(client.get());
  return {std::move(server), std::move(client)};
}

}  // namespace

// ---- Client ------------------------------------------------------------------------------------

Client::Client(int fd, const Options& options)
    : fd_(fd), context_(SSL_CTX_new(TLS_client_method())) {
  SSL_CTX* c = context_.get();
  SSL_CTX_set_verify(c, SSL_VERIFY_NONE, nullptr);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(c, on_session);
  SSL_CTX_set_app_data(c, this);
  if (options.min_version != 0) SSL_CTX_set_min_proto_version(c, options.min_version);
  if (options.max_version != 0) SSL_CTX_set_max_proto_version(c, options.max_version);
  if (!options.groups.empty() && SSL_CTX_set1_groups_list(c, options.groups.c_str()) != 1) {
    std::abort();
  }
  if (!options.signature_algorithms.empty() &&
      SSL_CTX_set1_sigalgs_list(c, options.signature_algorithms.c_str()) != 1) {
    std::abort();
  }
  ssl_.reset(SSL_new(c));
  const std::string alpn = wire_alpn(options.alpn);
  SSL_set_alpn_protos(ssl(), reinterpret_cast<const unsigned char*>(alpn.data()),
                      static_cast<unsigned>(alpn.size()));
  if (!options.server_name.empty()) SSL_set_tlsext_host_name(ssl(), options.server_name.c_str());
  if (options.session != nullptr) SSL_set_session(ssl(), options.session);
  SSL_set_bio(ssl(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_connect_state(ssl());
  SSL_set_msg_callback(ssl(), on_message);
  SSL_set_msg_callback_arg(ssl(), this);
}

Client::~Client() {
  SSL_set_shutdown(ssl(), SSL_SENT_SHUTDOWN);  // or OpenSSL takes the session for a broken one
  if (session_ != nullptr) SSL_SESSION_free(session_);
}

void Client::on_message(int sent, int, int type, const void* data, size_t size, SSL*, void* self) {
  auto* client = static_cast<Client*>(self);
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (sent == 1 && type == SSL3_RT_HANDSHAKE && bytes[0] == SSL3_MT_CLIENT_HELLO) {
    ++client->client_hellos;
  }
  if (sent == 0 && type == SSL3_RT_HEADER && size == 5 && bytes[0] == SSL3_RT_APPLICATION_DATA) {
    client->data_records.push_back(load_be16(bytes + 3));
  }
}

int Client::on_session(SSL* ssl, SSL_SESSION* session) {
  auto* client = static_cast<Client*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  if (client->session_ != nullptr) SSL_SESSION_free(client->session_);
  client->session_ = session;
  return 1;
}

SSL_SESSION* Client::take_session() { return std::exchange(session_, nullptr); }

void Client::send_out() {
  BIO* bio = SSL_get_wbio(ssl());
  char buffer[16 * 1024];
  std::string fresh;
  for (int n; (n = BIO_read(bio, buffer, sizeof buffer)) > 0;)
    fresh.append(buffer, static_cast<size_t>(n));
  if (rewrite && !fresh.empty()) fresh = rewrite(std::move(fresh));
  out_ += fresh;
  while (!out_.empty() && fd_) {
    const ssize_t n = send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (n <= 0) break;
    out_.erase(0, static_cast<size_t>(n));
  }
}

void Client::take_in() {
  char buffer[64 * 1024];
  while (reading && fd_) {
    const ssize_t n = recv(fd_.get(), buffer, sizeof buffer, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN)) peer_closed_ = true;
    if (n <= 0) return;
    BIO_write(SSL_get_rbio(ssl()), buffer, static_cast<int>(n));
  }
}

void Client::write(std::string_view data) { plain_ += data; }

void Client::work() {
  ERR_clear_error();
  if (!connected_ && !failed_) {
    const int r = SSL_do_handshake(ssl());
    if (r == 1) {
      connected_ = true;
    } else if (SSL_get_error(ssl(), r) == SSL_ERROR_SSL) {
      failed_ = true;
      failure_ = take_openssl_error();
    }
  }
  if (!connected_ || failed_) return;
  char buffer[16 * 1024];
  for (;;) {
    const int n = SSL_read(ssl(), buffer, sizeof buffer);
    if (n > 0) {
      received.append(buffer, static_cast<size_t>(n));
      continue;
    }
    const int error = SSL_get_error(ssl(), n);
    if (error == SSL_ERROR_ZERO_RETURN) received_close_notify = true;
    if (error == SSL_ERROR_SSL) {
      failed_ = true;
      failure_ = take_openssl_error();
    }
    break;
  }
  // No more than the socket has room for.
  while (!plain_.empty() && out_.size() < 64 * 1024) {
    const int n =
        SSL_write(ssl(), plain_.data(), static_cast<int>(std::min<size_t>(plain_.size(), 16384)));
    if (n <= 0) break;
    plain_.erase(0, static_cast<size_t>(n));
    send_out();
  }
}

void Client::step() {
  take_in();
  work();
  send_out();
}

std::string Client::peer_common_name() const {
  const X509* x = SSL_get0_peer_certificate(ssl_.get());
  char name[128] = "";
  if (x != nullptr) {
    X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, name, sizeof name);
  }
  return name;
}

std::string Client::group() const {
  const char* name = SSL_get0_group_name(ssl_.get());
  return name == nullptr ? "" : name;
}

std::string Client::alpn() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

// ---- Server ------------------------------------------------------------------------------------

Server::Server(net::Loop& loop, net::Fd fd, std::shared_ptr<ServerContexts> contexts,
               const AlpnList& protocols)
    : alpn(protocols) {
  stream = make_tls_server_stream(loop, std::move(fd), std::move(contexts), facts, alpn, *this);
}

void Server::on_handshake_done() {
  done = true;
  stream->set_handler(this);
}

void Server::on_handshake_failed(const Error& error) {
  handshake_error = error.message;
  stream.reset();
}

void Server::on_readable() {
  ++readable_calls;
  if (destroy_on_readable) {
    stream.reset();
    return;
  }
  if (read_on_event) read_all();
}

void Server::read_all() {
  uint8_t buffer[20'000];
  for (;;) {
    const net::IoResult r = stream->read(buffer);
    if (r.status == net::IoStatus::ok) {
      received.append(reinterpret_cast<const char*>(buffer), r.size);
      continue;
    }
    if (r.status == net::IoStatus::end_of_stream) ended = true;
    if (r.status == net::IoStatus::error) read_error = true;
    return;
  }
}

void Server::on_stream_error(const Error& error) {
  stream_error = error.message;
  stream.reset();
}

// ---- both --------------------------------------------------------------------------------------

const Identity& test_identity() {
  static const Identity identity =
      make_identity({.dns = {"example.test"}, .common_name = "example.test"});
  return identity;
}

std::shared_ptr<const CertificateStore> store_of(const Identity& identity) {
  auto store = CertificateStore::from_pem(identity.chain_pem, identity.key_pem);
  if (!store) {
    fprintf(stderr, "%s\n", store.error().message.c_str());
    std::abort();
  }
  return *store;
}

std::shared_ptr<ServerContexts> make_contexts(const TlsSettings& settings,
                                              std::shared_ptr<const CertificateStore> store,
                                              std::shared_ptr<TicketKeyRing> ring) {
  if (store == nullptr) store = store_of(test_identity());
  if (ring == nullptr) ring = TicketKeyRing::create(settings.ticket_lifetime);
  auto contexts = ServerContexts::create(settings, std::move(store), std::move(ring));
  if (!contexts) {
    fprintf(stderr, "%s\n", contexts.error().message.c_str());
    std::abort();
  }
  return *contexts;
}

Pair::Pair(std::shared_ptr<ServerContexts> contexts, const Client::Options& options,
           const AlpnList& alpn, bool tcp)
    : loop(std::move(*net::Loop::create())) {
  auto fds = socket_pair(tcp);
  client = std::make_unique<Client>(fds[1].release(), options);
  server = std::make_unique<Server>(*loop, std::move(fds[0]), std::move(contexts), alpn);
}

bool Pair::run(const std::function<bool()>& until, bool with_client) {
  for (int i = 0; i < kManySteps; ++i) {
    if (until()) return true;
    if (with_client) client->step();
    loop->run_once(0);
  }
  return false;
}

void Pair::settle() {
  for (int i = 0; i < 20; ++i) {
    client->step();
    loop->run_once(0);
  }
}

}  // namespace pqedge::crypto::testing
