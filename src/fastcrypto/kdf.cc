// HKDF and TLS 1.3's key schedule over it (provider-kdf(7), EVP_KDF-HKDF(7), EVP_KDF-TLS13_KDF(7)).
//
// A TLS 1.3 handshake derives some 15 secrets and keys, one of QUIC about 28 more, each of one HMAC
// or two: with OpenSSL's own code most of the time goes to finding and copying what computes them.
//
// The hashes are SHA-256, SHA-384 and SHA-512, those of TLS 1.3's cipher suites and of HPKE.
#include <openssl/core_names.h>
#include <strings.h>

#include <array>
#include <climits>
#include <cstring>
#include <new>
#include <utility>

#include "fastcrypto/memory.h"
#include "fastcrypto/params.h"
#include "fastcrypto/primitives.h"
#include "fastcrypto/tables.h"

namespace pqedge::fast {
namespace {

constexpr size_t kMaxHash = 64;
constexpr size_t kMaxLabel = 255;    // RFC 8446 7.1: opaque label<7..255>
constexpr size_t kMaxContext = 255;  // opaque context<0..255>

enum class Mode { extract_and_expand = 0, extract_only = 1, expand_only = 2 };  // as EVP_KDF's

struct Octets {
  const uint8_t* data = nullptr;  // null: not given
  size_t size = 0;
};

enum Part { kKey, kSalt, kInfo, kPrefix, kLabel, kData, kParts };
constexpr std::array<const char*, kParts> kPartNames = {OSSL_KDF_PARAM_KEY,   OSSL_KDF_PARAM_SALT,
                                                        OSSL_KDF_PARAM_INFO,  OSSL_KDF_PARAM_PREFIX,
                                                        OSSL_KDF_PARAM_LABEL, OSSL_KDF_PARAM_DATA};

// What is derived from. Without a copy: the octets belong to whoever has given them.
struct Inputs {
  const Hkdf* hkdf = nullptr;
  Mode mode = Mode::extract_and_expand;
  std::array<Octets, kParts> parts;

  const Octets& operator[](Part part) const { return parts[part]; }
};

bool read_hash(const OSSL_PARAM& p, Inputs& into) {
  struct Named {
    const Hkdf* hkdf;
    std::array<const char*, 3> names;
  };
  static constexpr Named known[] = {{&kHkdfSha256, {"SHA2-256", "SHA256", "SHA-256"}},
                                    {&kHkdfSha384, {"SHA2-384", "SHA384", "SHA-384"}},
                                    {&kHkdfSha512, {"SHA2-512", "SHA512", "SHA-512"}}};
  if (p.data_type != OSSL_PARAM_UTF8_STRING || p.data == nullptr) return false;
  for (const Named& one : known) {
    for (const char* name : one.names) {
      const size_t size = std::strlen(name);
      if (p.data_size == size && strncasecmp(static_cast<const char*>(p.data), name, size) == 0) {
        into.hkdf = one.hkdf;
        return true;
      }
    }
  }
  return false;
}

bool read_mode(const OSSL_PARAM& p, Inputs& into) {
  static constexpr std::pair<Mode, const char*> known[] = {
      {Mode::extract_and_expand, "EXTRACT_AND_EXPAND"},
      {Mode::extract_only, "EXTRACT_ONLY"},
      {Mode::expand_only, "EXPAND_ONLY"}};
  if (p.data == nullptr) return false;
  const auto* bytes = static_cast<const char*>(p.data);
  for (const auto& [mode, name] : known) {
    const bool is =
        p.data_type == OSSL_PARAM_UTF8_STRING
            ? p.data_size == std::strlen(name) && strncasecmp(bytes, name, p.data_size) == 0
            : p.data_type == OSSL_PARAM_INTEGER && p.data_size == sizeof(int) &&
                  *static_cast<const int*>(p.data) == static_cast<int>(mode);
    if (is) {
      into.mode = mode;
      return true;
    }
  }
  return false;
}

// Of what is given twice the last counts, as in any list of parameters; but OpenSSL's HKDF joins
// several infos, so a second one is refused.
bool read(const OSSL_PARAM* params, bool tls13, Inputs& into) {
  bool has_info = false;
  for (const OSSL_PARAM* p = params; p != nullptr && p->key != nullptr; ++p) {
    if (std::strcmp(p->key, OSSL_KDF_PARAM_DIGEST) == 0) {
      if (!read_hash(*p, into)) return false;
    } else if (std::strcmp(p->key, OSSL_KDF_PARAM_MODE) == 0) {
      if (!read_mode(*p, into) || (tls13 && into.mode == Mode::extract_and_expand)) return false;
    } else {
      for (size_t part = 0; part < kParts; ++part) {
        if (std::strcmp(p->key, kPartNames[part]) != 0) continue;
        if (p->data_type != OSSL_PARAM_OCTET_STRING || (part == kInfo && has_info)) return false;
        has_info = has_info || part == kInfo;
        into.parts[part] = {static_cast<const uint8_t*>(p->data),
                            p->data == nullptr ? 0 : p->data_size};
      }
    }
  }
  return true;
}

class Derivation : public FromCore {
 public:
  explicit Derivation(bool tls13) : tls13_(tls13) {}
  ~Derivation() { reset(); }
  Derivation(const Derivation&) = delete;
  Derivation& operator=(const Derivation&) = delete;

  bool tls13() const { return tls13_; }
  const Inputs& inputs() const { return kept_; }

  void reset() {
    for (Octets& part : kept_.parts) drop(part);
    kept_ = {};
  }

  // Keeps a copy of what is new in `inputs`. False: no memory, and nothing has changed.
  bool keep(const Inputs& inputs) {
    Inputs copies = inputs;
    for (size_t part = 0; part < kParts; ++part) {
      if (inputs.parts[part].data == kept_.parts[part].data) continue;
      if (copy(inputs.parts[part], copies.parts[part])) continue;
      while (part-- > 0) {
        if (copies.parts[part].data != kept_.parts[part].data) drop(copies.parts[part]);
      }
      return false;
    }
    for (size_t part = 0; part < kParts; ++part) {
      if (copies.parts[part].data != kept_.parts[part].data) drop(kept_.parts[part]);
    }
    kept_ = copies;
    return true;
  }

 private:
  static bool copy(const Octets& from, Octets& to) {
    to = {};
    if (from.data == nullptr) return true;
    auto* memory = static_cast<uint8_t*>(allocate(from.size == 0 ? 1 : from.size));
    if (memory == nullptr) return false;
    std::memcpy(memory, from.data, from.size);
    to = {memory, from.size};
    return true;
  }

  static void drop(Octets& part) {
    if (part.data == nullptr) return;
    auto* memory = const_cast<uint8_t*>(part.data);
    wipe(memory, part.size);
    release(memory);
    part = {};
  }

  bool tls13_;
  Inputs kept_;  // every part is a copy of its own
};

// HKDF-Expand-Label (RFC 8446 7.1).
bool expand_label(const Inputs& in, Octets key, Octets context, uint8_t* out, size_t size) {
  const size_t label = in[kPrefix].size + in[kLabel].size;
  if (label > kMaxLabel || context.size > kMaxContext || size > UINT16_MAX) {
    return false;
  }
  std::array<uint8_t, 2 + 1 + kMaxLabel + 1 + kMaxContext> info;
  uint8_t* p = info.data();
  const auto put = [&p](Octets octets) {
    if (octets.size > 0) std::memcpy(p, octets.data, octets.size);
    p += octets.size;
  };
  *p++ = static_cast<uint8_t>(size >> 8);
  *p++ = static_cast<uint8_t>(size);
  *p++ = static_cast<uint8_t>(label);
  put(in[kPrefix]);
  put(in[kLabel]);
  *p++ = static_cast<uint8_t>(context.size);
  put(context);
  return in.hkdf->expand(out, size, key.data, key.size, info.data(),
                         static_cast<size_t>(p - info.data()));
}

// The next secret of the schedule (RFC 8446 7.1): the one before as salt, after
// Derive-Secret(., "derived", ""), and what is new as the key; zeros for the one not given.
bool next_secret(const Inputs& in, uint8_t* out, size_t size) {
  static constexpr uint8_t zeros[kMaxHash] = {};
  const size_t hash_size = in.hkdf->hash_size;
  if (size != hash_size) return false;
  const Octets none = {zeros, hash_size};
  const Octets key = in[kKey].data == nullptr ? none : in[kKey];
  if (in[kSalt].data == nullptr) {
    return in.hkdf->extract(out, none.data, none.size, key.data, key.size);
  }
  uint8_t of_nothing[kMaxHash];
  uint8_t derived[kMaxHash];
  const bool good = in.hkdf->hash_of_nothing(of_nothing) &&
                    expand_label(in, in[kSalt], {of_nothing, hash_size}, derived, hash_size) &&
                    in.hkdf->extract(out, derived, hash_size, key.data, key.size);
  wipe(derived, sizeof derived);
  return good;
}

bool derive_tls13(const Inputs& in, uint8_t* out, size_t size) {
  if (in.mode == Mode::extract_only) return next_secret(in, out, size);
  return in.mode == Mode::expand_only && in[kKey].data != nullptr &&
         expand_label(in, in[kKey], in[kData], out, size);
}

bool derive_hkdf(const Inputs& in, uint8_t* out, size_t size) {
  static constexpr uint8_t nothing = 0;
  const Octets key = in[kKey];
  if (key.data == nullptr) return false;
  const Octets salt = in[kSalt].data == nullptr ? Octets{&nothing, 0} : in[kSalt];
  const Octets info = in[kInfo].data == nullptr ? Octets{&nothing, 0} : in[kInfo];
  const Hkdf& hkdf = *in.hkdf;
  switch (in.mode) {
    case Mode::extract_only:
      return size == hkdf.hash_size && hkdf.extract(out, salt.data, salt.size, key.data, key.size);
    case Mode::expand_only: return hkdf.expand(out, size, key.data, key.size, info.data, info.size);
    case Mode::extract_and_expand: break;
  }
  uint8_t extracted[kMaxHash];
  const bool good = hkdf.extract(extracted, salt.data, salt.size, key.data, key.size) &&
                    hkdf.expand(out, size, extracted, hkdf.hash_size, info.data, info.size);
  wipe(extracted, sizeof extracted);
  return good;
}

Derivation& self(void* context) { return *static_cast<Derivation*>(context); }

void* make_hkdf(void*) { return new (std::nothrow) Derivation(false); }
void* make_tls13(void*) { return new (std::nothrow) Derivation(true); }
void destroy(void* context) { delete static_cast<Derivation*>(context); }
void reset(void* context) { self(context).reset(); }

void* duplicate(void* context) {
  const Derivation& from = self(context);
  auto* made = new (std::nothrow) Derivation(from.tls13());
  if (made == nullptr || made->keep(from.inputs())) return made;
  delete made;
  return nullptr;
}

int set_params(void* context, const OSSL_PARAM* params) {
  Derivation& d = self(context);
  Inputs inputs = d.inputs();
  return read(params, d.tls13(), inputs) && d.keep(inputs);
}

// What comes with the call is for the call alone, and is not copied.
int derive(void* context, unsigned char* out, size_t size, const OSSL_PARAM* params) {
  const Derivation& d = self(context);
  Inputs inputs = d.inputs();
  if (!read(params, d.tls13(), inputs) || inputs.hkdf == nullptr || out == nullptr || size == 0) {
    return 0;
  }
  return d.tls13() ? derive_tls13(inputs, out, size) : derive_hkdf(inputs, out, size);
}

int get_params(void* context, OSSL_PARAM* params) {
  OSSL_PARAM* p = find(params, OSSL_KDF_PARAM_SIZE);
  if (p == nullptr) return 1;
  const Inputs& inputs = self(context).inputs();
  const bool fixed = inputs.mode == Mode::extract_only;
  if (p->data_type != OSSL_PARAM_UNSIGNED_INTEGER || p->data_size != sizeof(size_t) ||
      p->data == nullptr || (fixed && inputs.hkdf == nullptr)) {
    return 0;
  }
  const size_t size = fixed ? inputs.hkdf->hash_size : SIZE_MAX;
  std::memcpy(p->data, &size, sizeof size);
  p->return_size = sizeof size;
  return 1;
}

const OSSL_PARAM* gettable(void*, void*) {
  static const OSSL_PARAM params[] = {describe(OSSL_KDF_PARAM_SIZE, OSSL_PARAM_UNSIGNED_INTEGER),
                                      kNoMore};
  return params;
}

const OSSL_PARAM* settable(void*, void*) {
  static const OSSL_PARAM params[] = {
      describe(OSSL_KDF_PARAM_DIGEST, OSSL_PARAM_UTF8_STRING),
      describe(OSSL_KDF_PARAM_MODE, OSSL_PARAM_INTEGER),
      describe(OSSL_KDF_PARAM_KEY, OSSL_PARAM_OCTET_STRING),
      describe(OSSL_KDF_PARAM_SALT, OSSL_PARAM_OCTET_STRING),
      describe(OSSL_KDF_PARAM_INFO, OSSL_PARAM_OCTET_STRING),
      describe(OSSL_KDF_PARAM_PREFIX, OSSL_PARAM_OCTET_STRING),
      describe(OSSL_KDF_PARAM_LABEL, OSSL_PARAM_OCTET_STRING),
      describe(OSSL_KDF_PARAM_DATA, OSSL_PARAM_OCTET_STRING),
      kNoMore,
  };
  return params;
}

constexpr size_t kFunctionCount = 10;
std::array<OSSL_DISPATCH, kFunctionCount> functions(void* (*make)(void*)) {
  return {entry(OSSL_FUNC_KDF_NEWCTX, make),
          entry(OSSL_FUNC_KDF_DUPCTX, duplicate),
          entry(OSSL_FUNC_KDF_FREECTX, destroy),
          entry(OSSL_FUNC_KDF_RESET, reset),
          entry(OSSL_FUNC_KDF_DERIVE, derive),
          entry(OSSL_FUNC_KDF_SET_CTX_PARAMS, set_params),
          entry(OSSL_FUNC_KDF_SETTABLE_CTX_PARAMS, settable),
          entry(OSSL_FUNC_KDF_GET_CTX_PARAMS, get_params),
          entry(OSSL_FUNC_KDF_GETTABLE_CTX_PARAMS, gettable),
          {0, nullptr}};
}

const std::array kHkdfFunctions = functions(make_hkdf);
const std::array kTls13Functions = functions(make_tls13);

}  // namespace

const OSSL_ALGORITHM kKdfs[] = {
    {kHkdfNames, kProperties, kHkdfFunctions.data(), "HKDF of AWS-LC"},
    {kTls13Names, kProperties, kTls13Functions.data(), "TLS 1.3's key schedule over it"},
    {nullptr, nullptr, nullptr, nullptr},
};

}  // namespace pqedge::fast
