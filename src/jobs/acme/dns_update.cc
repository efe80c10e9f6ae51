#include "jobs/acme/dns_update.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/base64.h"
#include "base/text.h"
#include "jobs/acme/dns_message.h"
#include "jobs/acme/storage.h"
#include "net/socket.h"

namespace pqedge::acme {
namespace {

constexpr Nanos kUpdateTimeout = 10 * kSecond;
constexpr size_t kMaxAnswer = 4096;

Result<void> wait_until(int fd, short events, Nanos deadline, const net::Address& server) {
  for (;;) {
    const Nanos now = monotonic_now();
    if (now >= deadline) return fail("the DNS server {} does not answer", server.to_string());
    pollfd p{fd, events, 0};
    const int n = ::poll(&p, 1, static_cast<int>((deadline - now) / kMillisecond) + 1);
    if (n > 0) return {};
    if (n < 0 && errno != EINTR) return fail_errno(errno, "DNS server {}", server.to_string());
  }
}

Result<void> send_all(int fd, std::string_view bytes, Nanos deadline, const net::Address& server) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN || errno == EINTR) {
      if (auto ok = wait_until(fd, POLLOUT, deadline, server); !ok) return ok;
    } else {
      return fail_errno(errno, "DNS server {}", server.to_string());
    }
  }
  return {};
}

Result<std::string> receive(int fd, size_t size, Nanos deadline, const net::Address& server) {
  std::string out(size, '\0');
  size_t filled = 0;
  while (filled < size) {
    const ssize_t n = ::recv(fd, out.data() + filled, size - filled, 0);
    if (n > 0) {
      filled += static_cast<size_t>(n);
    } else if (n == 0) {
      return fail("the DNS server {} closed the connection", server.to_string());
    } else if (errno == EAGAIN || errno == EINTR) {
      if (auto ok = wait_until(fd, POLLIN, deadline, server); !ok) {
        return std::unexpected(ok.error());
      }
    } else {
      return fail_errno(errno, "DNS server {}", server.to_string());
    }
  }
  return out;
}

// RFC 1035 4.2.2: two bytes of length before each message.
Result<std::string> exchange(const net::Address& server, const std::string& request) {
  const Nanos deadline = monotonic_now() + kUpdateTimeout;
  auto fd = net::connect_stream(server);
  if (!fd) return std::unexpected(fd.error());
  if (auto ok = wait_until(fd->get(), POLLOUT, deadline, server); !ok) {
    return std::unexpected(ok.error());
  }
  if (const int code = net::socket_error(fd->get()); code != 0) {
    return fail_errno(code, "cannot connect to the DNS server {}", server.to_string());
  }
  std::string framed(2, '\0');
  store_be16(reinterpret_cast<uint8_t*>(framed.data()), static_cast<uint16_t>(request.size()));
  if (auto ok = send_all(fd->get(), framed + request, deadline, server); !ok) {
    return std::unexpected(ok.error());
  }
  const auto length = receive(fd->get(), 2, deadline, server);
  if (!length) return std::unexpected(length.error());
  const size_t size = load_be16(as_bytes(*length).data());
  if (size > kMaxAnswer) return fail("the DNS server {} sends too much", server.to_string());
  return receive(fd->get(), size, deadline, server);
}

Result<dns::Key> read_key(const DnsSettings& settings) {
  dns::Key key;
  if (settings.tsig_key.empty()) return key;
  auto text = Storage::read(settings.tsig_secret_file);
  if (!text) return std::unexpected(text.error());
  std::string_view trimmed = *text;
  while (trimmed.ends_with('\n') || trimmed.ends_with('\r')) trimmed.remove_suffix(1);
  auto secret = from_any_base64(trim_ows(trimmed));
  OPENSSL_cleanse(text->data(), text->size());
  if (!secret || secret->empty()) {
    return fail("{} holds no secret in base64", settings.tsig_secret_file);
  }
  key.name = settings.tsig_key;
  key.secret = std::move(*secret);
  return key;
}

}  // namespace

std::string zone_of(const std::vector<std::string>& zones, const std::string& name) {
  std::string best;
  for (const std::string& zone : zones) {
    if (zone.size() > best.size() && (name == zone || name.ends_with("." + zone))) best = zone;
  }
  return best;
}

Result<void> update_dns(const DnsSettings& settings, const std::string& name,
                        const std::string& value, bool add) {
  auto key = read_key(settings);
  if (!key) return std::unexpected(key.error());
  dns::Change change;
  change.zone = zone_of(settings.zones, name);
  if (change.zone.empty()) return fail("{} is in none of acme.dns.zones", name);
  change.name = name;
  change.value = value;
  change.add = add;
  change.time = wall_now() / kSecond;
  RAND_bytes(reinterpret_cast<unsigned char*>(&change.id), sizeof change.id);
  const auto request = dns::encode_update(change, *key);
  Result<void> done = {};
  if (!request) {
    done = std::unexpected(request.error());
  } else if (const auto answer = exchange(*settings.server, request->bytes); !answer) {
    done = std::unexpected(answer.error());
  } else {
    done = dns::check_answer(as_bytes(*answer), *request, change.id, *key, change.time);
  }
  OPENSSL_cleanse(key->secret.data(), key->secret.size());
  return done;
}

}  // namespace pqedge::acme
