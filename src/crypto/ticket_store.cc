#include "crypto/ticket_store.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <format>
#include <optional>

#include "crypto/handles.h"

namespace pqedge::crypto {
namespace {

constexpr std::array<uint8_t, 8> kMagic = {'p', 'q', 'e', 'd', 'g', 'e', 'T', 'K'};
constexpr uint8_t kVersion = 1;
constexpr size_t kNonceSize = 12;
constexpr size_t kFixedHeader = kMagic.size() + 4 + kNonceSize;  // 24
constexpr size_t kFileKeySize = 32;
constexpr size_t kRecipientSize =
    kKemPublicKeySize + kKemCiphertextSize + kFileKeySize + kGcmTagSize;  // 3,184
constexpr size_t kStoredKeySize = 16 + 32 + 32 + kKemSeedSize + 8;        // 152

constexpr std::string_view kWrapInfo = "pqedge ticket store 1";
// Each wrapping key seals one file key, and no more.
constexpr uint8_t kWrapNonce[kNonceSize] = {};

static_assert(kFixedHeader + kMaxRecipients * kRecipientSize + kMaxStoredKeys * kStoredKeySize +
                  kGcmTagSize <=
              kMaxTicketStore);

using FileKey = std::array<uint8_t, kFileKeySize>;

// Wiped with the scope.
struct Secrets {
  KemSecret shared{};
  FileKey wrapping{};
  FileKey file{};
  ~Secrets() { OPENSSL_cleanse(this, sizeof *this); }
};

bool wrapping_key(Secrets& s, Bytes public_key) {
  return derive_key(s.shared, public_key, kWrapInfo, s.wrapping);
}

std::unexpected<Error> library_failed(std::string_view what) {
  return fail("{}: {}", what, take_openssl_error());
}

// The part of the header that is for the owner of `public_key`; empty: it is for others.
Bytes find_recipient(Bytes recipients, const KemPublicKey& public_key) {
  for (; !recipients.empty(); recipients = recipients.subspan(kRecipientSize)) {
    if (std::ranges::equal(recipients.first(kKemPublicKeySize), public_key)) {
      return recipients.first(kRecipientSize);
    }
  }
  return {};
}

bool unwrap(Bytes recipient, Bytes fixed, EVP_PKEY* private_key, Secrets& s) {
  const Bytes public_key = recipient.first(kKemPublicKeySize);
  const Bytes ciphertext = recipient.subspan(kKemPublicKeySize, kKemCiphertextSize);
  const Bytes wrapped = recipient.subspan(kKemPublicKeySize + kKemCiphertextSize);
  return kem_decapsulate(private_key, ciphertext.data(), s.shared) && wrapping_key(s, public_key) &&
         gcm_open(s.wrapping.data(), kWrapNonce, fixed, wrapped, s.file.data());
}

uint8_t* store_key(const TicketKey& key, uint8_t* p) {
  p = std::ranges::copy(key.name, p).out;
  p = std::ranges::copy(key.key, p).out;
  p = std::ranges::copy(key.mac, p).out;
  p = std::ranges::copy(key.seed, p).out;
  store_be64(p, key.created / kSecond);
  return p + 8;
}

std::optional<TicketKey> load_key(const uint8_t* p) {
  TicketKey key;
  const auto take = [&](auto& field) {
    std::copy_n(p, field.size(), field.begin());
    p += field.size();
  };
  take(key.name);
  take(key.key);
  take(key.mac);
  take(key.seed);
  const uint64_t starts = load_be64(p);
  if ((key.name[0] & 0x80) != 0 || starts > UINT64_MAX / kSecond) return std::nullopt;
  key.created = starts * kSecond;
  return key;
}

Result<void> load_keys(Bytes text, std::vector<TicketKey>& keys) {
  keys.reserve(text.size() / kStoredKeySize);
  for (; !text.empty(); text = text.subspan(kStoredKeySize)) {
    const auto key = load_key(text.data());
    const bool twice = key && std::ranges::find(keys, key->name, &TicketKey::name) != keys.end();
    if (!key || twice) return fail("holds a key that no version of this program writes");
    keys.push_back(*key);
  }
  std::ranges::sort(keys, std::ranges::greater(), &TicketKey::created);
  return {};
}

}  // namespace

Result<TicketStore> open_ticket_store(Bytes sealed, EVP_PKEY* private_key) {
  if (sealed.size() < kFixedHeader || !std::ranges::equal(sealed.first(kMagic.size()), kMagic)) {
    return fail("is no ticket key store");
  }
  const Bytes fixed = sealed.first(kFixedHeader);
  if (fixed[8] != kVersion) {
    return fail("is of version {}; this program reads version {}", fixed[8], kVersion);
  }
  const size_t recipients = fixed[9];
  const size_t body = load_be16(fixed.data() + 10);
  const size_t header = kFixedHeader + recipients * kRecipientSize;
  if (recipients == 0 || recipients > kMaxRecipients || sealed.size() != header + body ||
      body < kGcmTagSize + kStoredKeySize || (body - kGcmTagSize) % kStoredKeySize != 0 ||
      (body - kGcmTagSize) / kStoredKeySize > kMaxStoredKeys) {
    return fail("is damaged: its size is not what its header says");
  }
  clear_errors();
  KemPublicKey ours;
  if (!kem_public_bytes(private_key, ours)) return library_failed("the private key cannot be used");
  const Bytes list = sealed.subspan(kFixedHeader, header - kFixedHeader);
  const Bytes recipient = find_recipient(list, ours);
  if (recipient.empty()) {
    return fail(
        "is not for this machine: none of its {} recipients is the public key of the "
        "private key",
        recipients);
  }
  Secrets s;
  TicketStore store;
  std::vector<uint8_t> text(body - kGcmTagSize);
  if (!unwrap(recipient, fixed, private_key, s) ||
      !gcm_open(s.file.data(), fixed.data() + 12, sealed.first(header), sealed.subspan(header),
                text.data())) {
    take_openssl_error();
    return fail("is damaged: it was changed since it was sealed");
  }
  auto loaded = load_keys(text, store.keys);
  OPENSSL_cleanse(text.data(), text.size());
  if (!loaded) return std::unexpected(loaded.error());
  for (size_t i = 0; i < recipients; ++i) {
    std::ranges::copy(list.subspan(i * kRecipientSize, kKemPublicKeySize),
                      store.recipients.emplace_back().begin());
  }
  return store;
}

Result<std::vector<uint8_t>> seal_ticket_store(const TicketStore& store) {
  if (store.keys.empty() || store.keys.size() > kMaxStoredKeys) {
    return fail("a store holds 1 to {} keys, not {}", kMaxStoredKeys, store.keys.size());
  }
  if (store.recipients.empty() || store.recipients.size() > kMaxRecipients) {
    return fail("a store is for 1 to {} machines, not {}", kMaxRecipients, store.recipients.size());
  }
  clear_errors();
  const size_t body = store.keys.size() * kStoredKeySize + kGcmTagSize;
  const size_t header = kFixedHeader + store.recipients.size() * kRecipientSize;
  std::vector<uint8_t> out(header + body);
  std::ranges::copy(kMagic, out.begin());
  out[8] = kVersion;
  out[9] = static_cast<uint8_t>(store.recipients.size());
  store_be16(out.data() + 10, static_cast<uint16_t>(body));
  Secrets s;
  if (RAND_bytes(out.data() + 12, kNonceSize) != 1 ||
      RAND_priv_bytes(s.file.data(), static_cast<int>(s.file.size())) != 1) {
    return library_failed("no random bytes");
  }
  const Bytes fixed = Bytes(out).first(kFixedHeader);
  uint8_t* p = out.data() + kFixedHeader;
  for (const KemPublicKey& recipient : store.recipients) {
    const KemKey key = kem_from_public(recipient);
    p = std::ranges::copy(recipient, p).out;
    if (key == nullptr || !kem_encapsulate(key.get(), p, s.shared) || !wrapping_key(s, recipient) ||
        !gcm_seal(s.wrapping.data(), kWrapNonce, fixed, s.file, p + kKemCiphertextSize)) {
      return library_failed("a recipient's public key cannot be used");
    }
    p += kKemCiphertextSize + kFileKeySize + kGcmTagSize;
  }
  std::vector<uint8_t> text(store.keys.size() * kStoredKeySize);
  uint8_t* end = text.data();
  for (const TicketKey& key : store.keys) end = store_key(key, end);
  const bool sealed = gcm_seal(s.file.data(), fixed.data() + 12, Bytes(out).first(header), text, p);
  OPENSSL_cleanse(text.data(), text.size());
  if (!sealed) return library_failed("cannot seal");
  return out;
}

void add_next_key(TicketStore& store, Nanos starts, size_t keep) {
  store.keys.reserve(kMaxStoredKeys + 2);  // not moved below: no copies left in memory
  store.keys.insert(store.keys.begin(), make_ticket_key(starts / kSecond * kSecond));
  std::ranges::stable_sort(store.keys, std::ranges::greater(), &TicketKey::created);
  while (store.keys.size() > std::clamp<size_t>(keep, 1, kMaxStoredKeys)) {
    forget(store.keys.back());
    store.keys.pop_back();
  }
}

std::string short_name(const TicketKey& key) {
  return std::format("{:02x}{:02x}{:02x}{:02x}", key.name[0], key.name[1], key.name[2],
                     key.name[3]);
}

}  // namespace pqedge::crypto
