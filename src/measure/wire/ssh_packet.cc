#include "measure/wire/ssh_packet.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <memory>
#include <string_view>

#include "measure/wire/writer.h"

namespace pqedge::measure {

namespace {

constexpr uint8_t kKexInit = 30;
constexpr uint8_t kKexReply = 31;
constexpr std::string_view kEd25519 = "ssh-ed25519";

struct EvpFree {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* digest) const { EVP_MD_CTX_free(digest); }
};

void put_string(Writer& writer, Bytes bytes) {
  writer.counted(4, [&] { writer.put(bytes); });
}

std::vector<uint8_t> ed25519_blob(Bytes value) {
  Writer writer;
  put_string(writer, as_bytes(kEd25519));
  put_string(writer, value);
  return std::move(writer).take();
}

std::vector<uint8_t> joined(Bytes first, Bytes second) {
  Writer writer;
  writer.put(first);
  writer.put(second);
  return std::move(writer).take();
}

}  // namespace

std::vector<uint8_t> ssh_client_init(const ExchangeKeys& keys) {
  return joined(keys.kem_public, keys.classical_client);
}

std::vector<uint8_t> ssh_server_reply(const ExchangeKeys& keys) {
  return joined(keys.kem_ciphertext, keys.classical_server);
}

std::vector<uint8_t> ssh_packet(Bytes payload) {
  constexpr size_t kBlock = 8;
  constexpr size_t kLeastPadding = 4;
  size_t padding = kBlock - (4 + 1 + payload.size()) % kBlock;
  if (padding < kLeastPadding) padding += kBlock;
  std::array<uint8_t, kBlock + kLeastPadding> random{};
  RAND_bytes(random.data(), static_cast<int>(random.size()));
  Writer writer;
  writer.counted(4, [&] {
    writer.u8(padding);
    writer.put(payload);
    writer.put(Bytes(random).first(padding));
  });
  return std::move(writer).take();
}

Result<SshHostKey> ssh_ed25519_host_key(Bytes signed_data) {
  const std::unique_ptr<EVP_PKEY, EvpFree> key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  const std::unique_ptr<EVP_MD_CTX, EvpFree> digest(EVP_MD_CTX_new());
  std::array<uint8_t, 32> public_key{};
  std::array<uint8_t, 64> signature{};
  size_t public_size = public_key.size();
  size_t signature_size = signature.size();
  const bool made = key && digest &&
                    EVP_PKEY_get_raw_public_key(key.get(), public_key.data(), &public_size) == 1 &&
                    EVP_DigestSignInit(digest.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
                    EVP_DigestSign(digest.get(), signature.data(), &signature_size,
                                   signed_data.data(), signed_data.size()) == 1;
  if (!made) return fail("OpenSSL made no Ed25519 host key for the SSH packets");
  return SshHostKey{ed25519_blob(public_key), ed25519_blob(signature)};
}

std::vector<uint8_t> ssh_init_packet(const ExchangeKeys& keys) {
  Writer payload;
  payload.u8(kKexInit);
  put_string(payload, ssh_client_init(keys));
  return ssh_packet(payload.view());
}

std::vector<uint8_t> ssh_reply_packet(const ExchangeKeys& keys, const SshHostKey& host_key) {
  Writer payload;
  payload.u8(kKexReply);
  put_string(payload, host_key.key_blob);
  put_string(payload, ssh_server_reply(keys));
  put_string(payload, host_key.signature_blob);
  return ssh_packet(payload.view());
}

Result<WireFigures> ssh_figures(const ExchangeKeys& keys) {
  const std::vector<uint8_t> init = ssh_client_init(keys);
  const std::vector<uint8_t> reply = ssh_server_reply(keys);
  // The exchange hash also covers versions and algorithm lists: any 32 bytes sign to 64.
  const auto host_key = ssh_ed25519_host_key(Bytes(reply).first(32));
  if (!host_key) return std::unexpected(host_key.error());
  WireFigures figures;
  figures.bytes = {init.size(), reply.size()};
  figures.details = {
      {.name = "whole packets with an Ed25519 host key, without KEXINIT and NEWKEYS",
       .bytes = {ssh_init_packet(keys).size(), ssh_reply_packet(keys, *host_key).size()},
       .source = "RFC 4253 6, RFC 8709 4 and 6"},
      {.name = "of the reply: host key and signature, with their lengths",
       .bytes = {0, 8 + host_key->key_blob.size() + host_key->signature_blob.size()},
       .source = "RFC 8709 4 and 6"}};
  return figures;
}

}  // namespace pqedge::measure
