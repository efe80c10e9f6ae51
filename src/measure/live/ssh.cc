#include "measure/live/ssh.h"

#include <openssl/rand.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <format>

#include "base/text.h"
#include "measure/live/endpoint.h"
#include "measure/live/ssh_exchange.h"
#include "measure/live/ssh_wire.h"

namespace pqedge::measure::live {

namespace {

constexpr std::string_view kVersion = "SSH-2.0-pqcost";
constexpr size_t kMaxLine = 255;   // RFC 4253 4.2
constexpr size_t kMaxLines = 100;  // a server may say more before its version
constexpr size_t kMaxPacket = 65536;

class SshClient {
 public:
  SshClient(const Options& options, LiveRecord& record)
      : options_(options),
        record_(record),
        methods_(options.groups.empty() ? kSshMethods : std::string_view(options.groups)) {}

  Result<void> run();

 private:
  Result<void> talk();
  Result<std::string> read_version();
  Result<void> send(Bytes bytes);
  Result<Bytes> receive(size_t size);
  // The next packet's payload; IGNORE and DEBUG are passed over.
  Result<std::vector<uint8_t>> read_packet(uint8_t expected, const char* what);
  Result<void> agree(const KexInit& theirs);
  Result<void> exchange(Bytes own_init, Bytes their_init);
  Result<void> prove(const ExchangeReply& reply, const SshExchange& keys, Bytes own_init,
                     Bytes their_init);
  void time(const char* name) {
    record_.times_us.try_emplace(name, static_cast<double>(monotonic_now() - start_) / 1000);
  }
  std::unexpected<Error> ended(std::string outcome, const std::string& message) {
    record_.outcome = std::move(outcome);
    return std::unexpected(Error{record_.target + ": " + message, 0});
  }

  const Options& options_;
  LiveRecord& record_;
  std::string methods_;
  std::string method_;
  std::string server_version_;
  net::Fd socket_;
  Nanos start_ = 0;
  Nanos deadline_ = 0;
  size_t sent_ = 0;
  size_t received_ = 0;
  size_t last_packet_ = 0;  // bytes of the latest packet read, whole
  std::vector<uint8_t> buffer_;
};

Result<void> SshClient::send(Bytes bytes) {
  sent_ += bytes.size();
  return send_all(socket_.get(), as_text(bytes), deadline_);
}

Result<Bytes> SshClient::receive(size_t size) {
  buffer_.resize(size);
  size_t have = 0;
  while (have < size) {
    const ssize_t count = ::recv(socket_.get(), buffer_.data() + have, size - have, 0);
    if (count > 0) {
      if (received_ == 0) time("first_byte");
      have += static_cast<size_t>(count);
      received_ += static_cast<size_t>(count);
    } else if (count == 0) {
      return ended("closed", std::format("the server closed the connection after {} bytes, in "
                                         "mid-handshake",
                                         received_));
    } else if (errno == EAGAIN) {
      if (auto ready = wait_for(socket_.get(), POLLIN, deadline_); !ready) {
        return ended("timeout", std::format("no answer within {} ms; the server had sent {} bytes",
                                            options_.timeout / kMillisecond, received_));
      }
    } else if (errno != EINTR) {
      return ended("reset", "the connection broke: " + std::generic_category().message(errno));
    }
  }
  return Bytes(buffer_);
}

Result<std::string> SshClient::read_version() {
  std::string line;
  for (size_t lines = 0; lines < kMaxLines;) {
    auto byte = receive(1);
    if (!byte) return std::unexpected(byte.error());
    if ((*byte)[0] == '\n') {
      if (line.ends_with('\r')) line.pop_back();
      if (line.starts_with("SSH-2.0-") || line.starts_with("SSH-1.99-")) return line;
      if (line.starts_with("SSH-")) return ended("version", "the server speaks " + line);
      ++lines;
      line.clear();
    } else {
      line += static_cast<char>((*byte)[0]);
    }
    if (line.size() > kMaxLine) break;
  }
  std::string shown;
  append_text_escaped(shown, std::string_view(line).substr(0, 32));
  return ended("no SSH", "the server does not speak SSH here; it sent \"" + shown + "\"");
}

Result<std::vector<uint8_t>> SshClient::read_packet(uint8_t expected, const char* what) {
  for (;;) {
    auto header = receive(5);
    if (!header) return std::unexpected(header.error());
    const size_t length = load_be32(header->data());
    const size_t padding = (*header)[4];
    if (length > kMaxPacket || length < padding + 2) {
      return ended("no SSH",
                   std::format("a packet of {} bytes with {} of padding", length, padding));
    }
    auto rest = receive(length - 1);
    if (!rest) return std::unexpected(rest.error());
    last_packet_ = 4 + length;
    const Bytes payload = rest->first(length - 1 - padding);
    if (payload[0] == expected) return std::vector<uint8_t>(payload.begin(), payload.end());
    if (payload[0] == kSshIgnore || payload[0] == kSshDebug) continue;
    if (payload[0] == kSshDisconnect) {
      SshReader in(payload.subspan(1));
      const uint32_t code = in.number();
      std::string shown;
      append_text_escaped(shown, as_text(in.string()).substr(0, 200));
      return ended("disconnect", std::format("the server ended it (code {}): {}", code, shown));
    }
    return ended("failed", std::format("a message {} where {} was due", payload[0], what));
  }
}

Result<void> SshClient::agree(const KexInit& theirs) {
  method_ = first_common(methods_, theirs.methods);
  if (!method_.empty()) return {};
  std::string offers;
  for (const std::string& name : theirs.methods) offers += (offers.empty() ? "" : ",") + name;
  std::string shown;
  append_text_escaped(shown, offers.substr(0, 1000));
  return ended("no common method",
               std::format("the server has none of {}; it offers {}", methods_, shown));
}

Result<void> SshClient::prove(const ExchangeReply& reply, const SshExchange& keys, Bytes own_init,
                              Bytes their_init) {
  const auto secret = keys.secret(reply.share);
  if (!secret) return ended("failed", secret.error().message);
  SshWriter all;
  all.string(kVersion).string(server_version_).string(own_init).string(their_init);
  all.string(reply.host_key).string(keys.share()).string(reply.share);
  std::vector<uint8_t> hashed = all.bytes();
  hashed.insert(hashed.end(), secret->begin(), secret->end());
  const auto verified = verify_ed25519(reply.host_key, reply.signature, sha256(hashed));
  if (!verified) {
    record_.facts["signature_verified"] = "no: " + verified.error().message;
  } else if (*verified) {
    record_.facts["signature_verified"] = "yes: both sides have the same secret";
  } else {
    return ended("bad signature", "the host key's signature does not fit the exchange");
  }
  return {};
}

Result<void> SshClient::exchange(Bytes own_init, Bytes their_init) {
  auto keys = SshExchange::make(method_);
  if (!keys) return std::unexpected(keys.error());
  const auto init = ssh_packet(SshWriter().byte(kSshExchangeInit).string(keys->share()).bytes());
  record_.sizes["key_share_client"] = keys->share().size();
  record_.sizes["exchange_init_packet"] = init.size();
  if (auto sent = send(init); !sent) return sent;
  time("exchange_init_sent");
  const auto payload = read_packet(kSshExchangeReply, "the key exchange reply");
  if (!payload) return std::unexpected(payload.error());
  time("exchange_reply");
  record_.sizes["exchange_reply_packet"] = last_packet_;
  const auto reply = parse_reply(*payload);
  if (!reply) return ended("failed", reply.error().message);
  record_.group = method_;
  record_.signature = reply->signature_algorithm;
  record_.sizes["key_share_server"] = reply->share.size();
  record_.sizes["host_key"] = reply->host_key.size();
  record_.sizes["signature"] = reply->signature.size();
  if (auto proved = prove(*reply, *keys, own_init, their_init); !proved) return proved;
  const auto done = read_packet(kSshNewKeys, "NEWKEYS");
  if (!done) return std::unexpected(done.error());
  const uint8_t new_keys = kSshNewKeys;
  if (auto sent = send(ssh_packet(Bytes(&new_keys, 1))); !sent) return sent;
  time("finished");
  return {};
}

Result<void> SshClient::talk() {
  if (auto sent = send(as_bytes(std::string(kVersion) + "\r\n")); !sent) return sent;
  auto version = read_version();
  if (!version) return std::unexpected(version.error());
  server_version_ = *version;
  time("version");
  std::string shown;
  append_text_escaped(shown, server_version_);
  record_.facts["software"] = shown;
  record_.sizes["version_server"] = received_;
  record_.sizes["version_client"] = sent_;

  std::array<uint8_t, 16> cookie;
  RAND_bytes(cookie.data(), cookie.size());
  const auto own_init = make_kexinit(methods_, cookie);
  const auto packet = ssh_packet(own_init);
  record_.sizes["kexinit_client"] = packet.size();
  if (auto sent = send(packet); !sent) return sent;
  const auto their_init = read_packet(kSshKexInit, "KEXINIT");
  if (!their_init) return std::unexpected(their_init.error());
  time("kexinit");
  record_.sizes["kexinit_server"] = last_packet_;
  const auto theirs = parse_kexinit(*their_init);
  if (!theirs) return ended("no SSH", theirs.error().message);
  if (auto agreed = agree(*theirs); !agreed) return agreed;
  return exchange(own_init, *their_init);
}

Result<void> SshClient::run() {
  record_.outcome = "failed";
  const auto address = resolve(options_);
  if (!address) return std::unexpected(address.error());
  record_.facts["address"] = address->to_string();
  start_ = monotonic_now();
  deadline_ = start_ + options_.timeout;
  auto socket = connect_tcp(*address, deadline_);
  if (!socket) {
    record_.outcome = socket.error().code == ECONNREFUSED ? "refused"
                      : socket.error().code == ETIMEDOUT  ? "timeout"
                                                          : "unreachable";
    return std::unexpected(socket.error());
  }
  socket_ = std::move(*socket);
  time("connect");
  const auto done = talk();
  record_.bytes = {sent_, received_};
  record_.facts["bytes"] = "of the TCP stream, to both NEWKEYS packets";
  record_.facts["group"] =
      "the first of the client's list that is in the server's KEXINIT, confirmed by the sizes and "
      "the signature of the reply";
  read_tcp_info(socket_.get(), record_);
  if (done) record_.outcome = "handshake";
  return done;
}

}  // namespace

Result<void> ssh_handshake(const Options& options, LiveRecord& record) {
  return SshClient(options, record).run();
}

}  // namespace pqedge::measure::live
