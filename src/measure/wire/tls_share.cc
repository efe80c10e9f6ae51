#include "measure/wire/tls_share.h"

#include <openssl/rand.h>

#include <array>

#include "measure/wire/writer.h"

namespace pqedge::measure {

namespace {

constexpr uint16_t kSupportedVersions = 43;
constexpr uint16_t kKeyShare = 51;
constexpr uint8_t kServerHello = 2;
constexpr uint16_t kTls12 = 0x0303;
constexpr uint16_t kTls13 = 0x0304;
constexpr uint16_t kAes256GcmSha384 = 0x1302;

TlsShare joined(uint16_t group, Bytes kem, Bytes classical) {
  Writer writer;
  const bool kem_first = group == kTlsX25519MlKem768;
  writer.put(kem_first ? kem : classical);
  writer.put(kem_first ? classical : kem);
  return {group, std::move(writer).take()};
}

void put_entry(Writer& writer, const TlsShare& share) {
  writer.u16(share.group);
  writer.counted(2, [&] { writer.put(share.key_exchange); });
}

size_t entry_size(const TlsShare& share) {
  Writer writer;
  put_entry(writer, share);
  return writer.size();
}

}  // namespace

TlsShare tls_client_share(uint16_t group, const ExchangeKeys& keys) {
  return joined(group, keys.kem_public, keys.classical_client);
}

TlsShare tls_server_share(uint16_t group, const ExchangeKeys& keys) {
  return joined(group, keys.kem_ciphertext, keys.classical_server);
}

std::vector<uint8_t> tls_client_extension(std::span<const TlsShare> shares) {
  Writer writer;
  writer.u16(kKeyShare);
  writer.counted(2, [&] {
    writer.counted(2, [&] {
      for (const TlsShare& share : shares) put_entry(writer, share);
    });
  });
  return std::move(writer).take();
}

std::vector<uint8_t> tls_server_extension(const TlsShare& share) {
  Writer writer;
  writer.u16(kKeyShare);
  writer.counted(2, [&] { put_entry(writer, share); });
  return std::move(writer).take();
}

std::vector<uint8_t> tls_server_hello(const TlsShare& share, size_t session_id_length) {
  std::array<uint8_t, 32> random{};
  RAND_bytes(random.data(), static_cast<int>(random.size()));
  Writer writer;
  writer.u8(kServerHello);
  writer.counted(3, [&] {
    writer.u16(kTls12);
    writer.put(random);
    writer.counted(1, [&] { writer.put(Bytes(random).first(session_id_length)); });
    writer.u16(kAes256GcmSha384);
    writer.u8(0);  // no compression
    writer.counted(2, [&] {
      writer.u16(kSupportedVersions);
      writer.counted(2, [&] { writer.u16(kTls13); });
      writer.put(tls_server_extension(share));
    });
  });
  return std::move(writer).take();
}

WireFigures tls_figures(uint16_t group, const ExchangeKeys& keys, const TlsShare* second) {
  std::vector<TlsShare> client{tls_client_share(group, keys)};
  if (second != nullptr) client.push_back(*second);
  const TlsShare server = tls_server_share(group, keys);

  WireFigures figures;
  WireBytes entries;
  for (const TlsShare& share : client) {
    figures.bytes.client_to_server += share.key_exchange.size();
    entries.client_to_server += entry_size(share);
  }
  figures.bytes.server_to_client = server.key_exchange.size();
  entries.server_to_client = entry_size(server);

  figures.details = {
      {.name = "key_share entries, with group and length",
       .bytes = entries,
       .source = "RFC 8446 4.2.8"},
      {.name = "key_share extensions of ClientHello and ServerHello",
       .bytes = {tls_client_extension(client).size(), tls_server_extension(server).size()},
       .source = "RFC 8446 4.2, 4.2.8"},
      {.name = "ServerHello message over TCP, session id echoed",
       .bytes = {0, tls_server_hello(server, 32).size()},
       .source = "RFC 8446 4.1.3, D.4"},
      {.name = "ServerHello message over QUIC, no session id",
       .bytes = {0, tls_server_hello(server, 0).size()},
       .source = "RFC 8446 4.1.3, RFC 9001 8.4"}};
  return figures;
}

}  // namespace pqedge::measure
