// AWS-LC's ML-KEM and X25519, from a libcrypto that a user names.
//
// Its functions have OpenSSL's names. RTLD_LOCAL keeps them from the rest of this program, and
// RTLD_DEEPBIND makes its own calls find its own functions and not OpenSSL's; without that the two
// mix, and crash (aws-c-common#925). No object of one ever goes to the other.
#include <algorithm>
#include <array>

#include "measure/provider/catalogue.h"
#include "measure/provider/dynamic_library.h"
#include "measure/provider/libraries.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PQCOST_WITH_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PQCOST_WITH_SANITIZER 1
#endif
#endif

namespace pqedge::measure {

namespace awslc {

namespace {

using Buffer = std::vector<uint8_t>;

struct Key;      // its EVP_PKEY
struct Context;  // its EVP_PKEY_CTX

constexpr int kKemType = 970;  // NID_kem, obj_mac.h

struct Functions {
  const char* (*version)();
  Context* (*context_new_id)(int, void*);
  Context* (*context_new)(Key*, void*);
  void (*context_free)(Context*);
  void (*key_free)(Key*);
  int (*kem_set_params)(Context*, int);
  int (*keygen_init)(Context*);
  int (*keygen)(Context*, Key**);
  int (*raw_public)(const Key*, uint8_t*, size_t*);
  Key* (*kem_public)(int, const uint8_t*, size_t);
  Key* (*kem_private)(int, const uint8_t*, size_t);
  int (*encapsulate)(Context*, uint8_t*, size_t*, uint8_t*, size_t*);
  int (*decapsulate)(Context*, uint8_t*, size_t*, const uint8_t*, size_t);
  void (*x25519_keypair)(uint8_t*, uint8_t*);
  void (*x25519_public)(uint8_t*, const uint8_t*);
  int (*x25519)(uint8_t*, const uint8_t*, const uint8_t*);
};

struct Library {
  std::shared_ptr<DynamicLibrary> handle;
  Functions call{};
};
using LibraryPtr = std::shared_ptr<const Library>;

// Not with sanitizers, which know no RTLD_DEEPBIND.
[[maybe_unused]] bool find_all(const DynamicLibrary& library, Functions& call) {
  return library.find("awslc_version_string", call.version) &&
         library.find("EVP_PKEY_CTX_new_id", call.context_new_id) &&
         library.find("EVP_PKEY_CTX_new", call.context_new) &&
         library.find("EVP_PKEY_CTX_free", call.context_free) &&
         library.find("EVP_PKEY_free", call.key_free) &&
         library.find("EVP_PKEY_CTX_kem_set_params", call.kem_set_params) &&
         library.find("EVP_PKEY_keygen_init", call.keygen_init) &&
         library.find("EVP_PKEY_keygen", call.keygen) &&
         library.find("EVP_PKEY_get_raw_public_key", call.raw_public) &&
         library.find("EVP_PKEY_kem_new_raw_public_key", call.kem_public) &&
         library.find("EVP_PKEY_kem_new_raw_secret_key", call.kem_private) &&
         library.find("EVP_PKEY_encapsulate", call.encapsulate) &&
         library.find("EVP_PKEY_decapsulate", call.decapsulate) &&
         library.find("X25519_keypair", call.x25519_keypair) &&
         library.find("X25519_public_from_private", call.x25519_public) &&
         library.find("X25519", call.x25519);
}

struct KeyFree {
  LibraryPtr library;
  void operator()(Key* key) const { library->call.key_free(key); }
};
struct ContextFree {
  LibraryPtr library;
  void operator()(Context* context) const { library->call.context_free(context); }
};
using KeyPtr = std::unique_ptr<Key, KeyFree>;
using ContextPtr = std::unique_ptr<Context, ContextFree>;

struct KemId {
  const char* name;
  int nid;  // obj_mac.h
};
constexpr KemId kKems[] = {{"ML-KEM-512", 988}, {"ML-KEM-768", 989}, {"ML-KEM-1024", 990}};

Result<void> check(int result, std::string_view what) {
  if (result != 1) return fail("AWS-LC: {} failed", what);
  return {};
}

class KemKey final : public KemPublicKey {
 public:
  KemKey(LibraryPtr library, KeyPtr key, Sizes sizes)
      : library_(std::move(library)),
        key_(std::move(key)),
        context_(library_->call.context_new(key_.get(), nullptr), ContextFree{library_}),
        sizes_(sizes) {}
  Result<void> encapsulate(Buffer& ciphertext, Buffer& secret) override {
    size_t ciphertext_length = sizes_.output;
    size_t secret_length = sizes_.secret;
    ciphertext.resize(ciphertext_length);
    secret.resize(secret_length);
    return check(library_->call.encapsulate(context_.get(), ciphertext.data(), &ciphertext_length,
                                            secret.data(), &secret_length),
                 "encapsulation");
  }

 private:
  LibraryPtr library_;
  KeyPtr key_;
  ContextPtr context_;
  Sizes sizes_;
};

class KemPair final : public KemKeyPair {
 public:
  KemPair(LibraryPtr library, KeyPtr key, Sizes sizes)
      : library_(std::move(library)),
        key_(std::move(key)),
        context_(nullptr, ContextFree{library_}),
        sizes_(sizes) {}
  Result<Buffer> public_key() const override {
    Buffer out(sizes_.public_key);
    size_t length = out.size();
    auto done = check(library_->call.raw_public(key_.get(), out.data(), &length), "public key");
    if (!done) return std::unexpected(done.error());
    return out;
  }
  Result<void> decapsulate(Bytes ciphertext, Buffer& secret) override {
    if (!context_) context_.reset(library_->call.context_new(key_.get(), nullptr));
    size_t length = sizes_.secret;
    secret.resize(length);
    return check(library_->call.decapsulate(context_.get(), secret.data(), &length,
                                            ciphertext.data(), ciphertext.size()),
                 "decapsulation");
  }

 private:
  LibraryPtr library_;
  KeyPtr key_;
  ContextPtr context_;
  Sizes sizes_;
};

class AwslcKem final : public Kem {
 public:
  AwslcKem(LibraryPtr library, const KemId& id)
      : library_(std::move(library)),
        id_(id),
        generator_(library_->call.context_new_id(kKemType, nullptr), ContextFree{library_}),
        sizes_(sizes_of(id.name)) {
    ready_ = generator_ && library_->call.kem_set_params(generator_.get(), id_.nid) == 1 &&
             library_->call.keygen_init(generator_.get()) == 1;
  }
  bool ready() const { return ready_; }

  Result<std::unique_ptr<KemKeyPair>> generate() override {
    Key* key = nullptr;
    auto made = check(library_->call.keygen(generator_.get(), &key), "key generation");
    if (!made) return std::unexpected(made.error());
    return std::make_unique<KemPair>(library_, own(key), sizes_);
  }
  Result<std::unique_ptr<KemPublicKey>> parse_public(Bytes encoded) override {
    auto key = own(library_->call.kem_public(id_.nid, encoded.data(), encoded.size()));
    if (!key) return fail("AWS-LC: not a public key of {}", id_.name);
    return std::make_unique<KemKey>(library_, std::move(key), sizes_);
  }
  Sizes sizes() const override { return sizes_; }
  Result<std::unique_ptr<KemKeyPair>> from_seed(Bytes) override {
    return not_offered("AWS-LC takes no seed here");
  }
  Result<std::unique_ptr<KemKeyPair>> from_private(Bytes encoded) override {
    auto key = own(library_->call.kem_private(id_.nid, encoded.data(), encoded.size()));
    if (!key) return fail("AWS-LC: not a private key of {}", id_.name);
    return std::make_unique<KemPair>(library_, std::move(key), sizes_);
  }

 private:
  KeyPtr own(Key* key) const { return KeyPtr(key, KeyFree{library_}); }

  LibraryPtr library_;
  KemId id_;
  ContextPtr generator_;
  Sizes sizes_;
  bool ready_ = false;
};

constexpr size_t kX25519Length = 32;

class X25519Pair final : public AgreementKeyPair {
 public:
  X25519Pair(LibraryPtr library, Bytes scalar) : library_(std::move(library)) {
    if (scalar.empty()) {
      library_->call.x25519_keypair(public_.data(), private_.data());
    } else {
      std::ranges::copy(scalar, private_.begin());
      library_->call.x25519_public(public_.data(), private_.data());
    }
  }
  Result<Buffer> public_key() const override { return Buffer(public_.begin(), public_.end()); }
  Result<void> derive(Bytes peer_public, Buffer& secret) override {
    if (peer_public.size() != kX25519Length) return fail("a key of X25519 has 32 bytes");
    secret.resize(kX25519Length);
    return check(library_->call.x25519(secret.data(), private_.data(), peer_public.data()),
                 "derivation");
  }

 private:
  LibraryPtr library_;
  std::array<uint8_t, kX25519Length> public_{};
  std::array<uint8_t, kX25519Length> private_{};
};

class AwslcX25519 final : public KeyAgreement {
 public:
  explicit AwslcX25519(LibraryPtr library) : library_(std::move(library)) {}
  Result<std::unique_ptr<AgreementKeyPair>> generate() override {
    return std::make_unique<X25519Pair>(library_, Bytes{});
  }
  Result<std::unique_ptr<AgreementKeyPair>> from_private(Bytes scalar) override {
    if (scalar.size() != kX25519Length) return fail("a key of X25519 has 32 bytes");
    return std::make_unique<X25519Pair>(library_, scalar);
  }
  Sizes sizes() const override { return sizes_of("X25519"); }

 private:
  LibraryPtr library_;
};

class Awslc final : public Provider {
 public:
  explicit Awslc(LibraryPtr library) : library_(std::move(library)) {}
  ProviderFacts facts() const override {
    std::string_view version = library_->call.version();  // "AWS-LC 5.1.0"
    if (version.starts_with("AWS-LC ")) version.remove_prefix(7);
    return {"AWS-LC", std::string(version)};
  }
  std::vector<Algorithm> algorithms() const override {
    std::vector<Algorithm> all{algorithm_of("X25519")};
    for (const auto& id : kKems) all.push_back(algorithm_of(id.name));
    return all;
  }
  Implementation implementation(std::string_view algorithm) const override {
    return {.evidence = "AWS-LC chooses by the CPU and does not say what it chose",
            .keys = algorithm == "X25519" ? "bytes" : "bytes, expanded in each operation"};
  }
  std::unique_ptr<Kem> kem(std::string_view algorithm) override {
    for (const auto& id : kKems) {
      if (algorithm != id.name) continue;
      auto kem = std::make_unique<AwslcKem>(library_, id);
      return kem->ready() ? std::move(kem) : nullptr;
    }
    return nullptr;
  }
  std::unique_ptr<KeyAgreement> key_agreement(std::string_view algorithm) override {
    return algorithm == "X25519" ? std::make_unique<AwslcX25519>(library_) : nullptr;
  }
  std::unique_ptr<Signature> signature(std::string_view) override { return nullptr; }
  std::unique_ptr<Aead> aead(std::string_view) override { return nullptr; }

 private:
  LibraryPtr library_;
};

}  // namespace

}  // namespace awslc

Result<std::unique_ptr<Provider>> open_awslc(const std::string& path) {
#if defined(PQCOST_WITH_SANITIZER)
  return fail("{} cannot be opened beside a sanitizer: they refuse RTLD_DEEPBIND", path);
#else
  auto handle = DynamicLibrary::open(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!handle) return std::unexpected(handle.error());
  auto library = std::make_shared<awslc::Library>();
  library->handle = std::move(*handle);
  if (!awslc::find_all(*library->handle, library->call)) {
    return fail("{} is no libcrypto of AWS-LC with ML-KEM", path);
  }
  return std::make_unique<awslc::Awslc>(std::move(library));
#endif
}

}  // namespace pqedge::measure
