// liboqs, where a user has it: Debian does not. Only what its public header promises is used, and
// each algorithm's own lengths are compared with the standard's before a buffer is handed over.
#include <algorithm>
#include <format>

#include "measure/provider/catalogue.h"
#include "measure/provider/dynamic_library.h"
#include "measure/provider/libraries.h"

namespace pqedge::measure {

namespace liboqs {

namespace {

using Buffer = std::vector<uint8_t>;

// The beginnings of OQS_KEM and OQS_SIG (oqs/kem.h, oqs/sig.h). The flags between the level and the
// lengths, of which versions have two to four, end within the eight bytes that end at the lengths.
struct OqsKem {
  const char* method_name;
  const char* version;
  uint8_t flags[8];
  size_t public_key, private_key, ciphertext, secret;
};
struct OqsSignature {
  const char* method_name;
  const char* version;
  uint8_t flags[8];
  size_t public_key, private_key, signature;
};

// OQS_STATUS: 0 is OQS_SUCCESS.
struct Functions {
  void (*init)();
  const char* (*version)();
  OqsKem* (*kem_new)(const char*);
  void (*kem_free)(OqsKem*);
  int (*kem_keypair)(const OqsKem*, uint8_t*, uint8_t*);
  int (*kem_encaps)(const OqsKem*, uint8_t*, uint8_t*, const uint8_t*);
  int (*kem_decaps)(const OqsKem*, uint8_t*, const uint8_t*, const uint8_t*);
  OqsSignature* (*signature_new)(const char*);
  void (*signature_free)(OqsSignature*);
  int (*signature_keypair)(const OqsSignature*, uint8_t*, uint8_t*);
  int (*sign)(const OqsSignature*, uint8_t*, size_t*, const uint8_t*, size_t, const uint8_t*);
  int (*verify)(const OqsSignature*, const uint8_t*, size_t, const uint8_t*, size_t,
                const uint8_t*);
};

struct Library {
  std::shared_ptr<DynamicLibrary> handle;
  Functions call{};
};
using LibraryPtr = std::shared_ptr<const Library>;

bool find_all(const DynamicLibrary& library, Functions& call) {
  return library.find("OQS_init", call.init) && library.find("OQS_version", call.version) &&
         library.find("OQS_KEM_new", call.kem_new) && library.find("OQS_KEM_free", call.kem_free) &&
         library.find("OQS_KEM_keypair", call.kem_keypair) &&
         library.find("OQS_KEM_encaps", call.kem_encaps) &&
         library.find("OQS_KEM_decaps", call.kem_decaps) &&
         library.find("OQS_SIG_new", call.signature_new) &&
         library.find("OQS_SIG_free", call.signature_free) &&
         library.find("OQS_SIG_keypair", call.signature_keypair) &&
         library.find("OQS_SIG_sign", call.sign) && library.find("OQS_SIG_verify", call.verify);
}

struct Name {
  const char* ours;
  const char* theirs;
};

constexpr Name kNames[] = {
    {"ML-KEM-512", "ML-KEM-512"},
    {"ML-KEM-768", "ML-KEM-768"},
    {"ML-KEM-1024", "ML-KEM-1024"},
    {"sntrup761", "sntrup761"},
    {"ML-DSA-44", "ML-DSA-44"},
    {"ML-DSA-65", "ML-DSA-65"},
    {"ML-DSA-87", "ML-DSA-87"},
    {"Falcon-512 (round 3)", "Falcon-512"},
    {"Falcon-1024 (round 3)", "Falcon-1024"},
    {"Falcon-512 padded (round 3)", "Falcon-padded-512"},
    {"Falcon-1024 padded (round 3)", "Falcon-padded-1024"},
};

const char* their_name(std::string_view name) {
  const auto* found = std::ranges::find_if(kNames, [&](const Name& n) { return name == n.ours; });
  return found == std::end(kNames) ? nullptr : found->theirs;
}

Result<void> check(int status, std::string_view what) {
  if (status != 0) return fail("liboqs: {} failed", what);
  return {};
}

// An algorithm of the library, held as long as a key of it lives.
struct KemMethod {
  LibraryPtr library;
  OqsKem* kem;
  ~KemMethod() { library->call.kem_free(kem); }
};
using KemMethodPtr = std::shared_ptr<const KemMethod>;

struct SignatureMethod {
  LibraryPtr library;
  OqsSignature* scheme;
  ~SignatureMethod() { library->call.signature_free(scheme); }
};
using SignatureMethodPtr = std::shared_ptr<const SignatureMethod>;

class KemKey final : public KemPublicKey {
 public:
  KemKey(KemMethodPtr method, Bytes key)
      : method_(std::move(method)), key_(key.begin(), key.end()) {}
  Result<void> encapsulate(Buffer& ciphertext, Buffer& secret) override {
    ciphertext.resize(method_->kem->ciphertext);
    secret.resize(method_->kem->secret);
    return check(method_->library->call.kem_encaps(method_->kem, ciphertext.data(), secret.data(),
                                                   key_.data()),
                 "encapsulation");
  }

 private:
  KemMethodPtr method_;
  Buffer key_;
};

class KemPair final : public KemKeyPair {
 public:
  KemPair(KemMethodPtr method, Buffer public_key, Buffer private_key)
      : method_(std::move(method)),
        public_(std::move(public_key)),
        private_(std::move(private_key)) {}
  Result<Buffer> public_key() const override {
    if (public_.empty()) return fail("only the private key is known");
    return public_;
  }
  Result<void> decapsulate(Bytes ciphertext, Buffer& secret) override {
    if (ciphertext.size() != method_->kem->ciphertext) return fail("not a ciphertext's length");
    secret.resize(method_->kem->secret);
    return check(method_->library->call.kem_decaps(method_->kem, secret.data(), ciphertext.data(),
                                                   private_.data()),
                 "decapsulation");
  }

 private:
  KemMethodPtr method_;
  Buffer public_;
  Buffer private_;
};

class OqsKemScheme final : public Kem {
 public:
  OqsKemScheme(KemMethodPtr method, Sizes sizes) : method_(std::move(method)), sizes_(sizes) {}
  Result<std::unique_ptr<KemKeyPair>> generate() override {
    Buffer public_key(sizes_.public_key), private_key(sizes_.private_key);
    auto made = check(
        method_->library->call.kem_keypair(method_->kem, public_key.data(), private_key.data()),
        "key generation");
    if (!made) return std::unexpected(made.error());
    return std::make_unique<KemPair>(method_, std::move(public_key), std::move(private_key));
  }
  Result<std::unique_ptr<KemPublicKey>> parse_public(Bytes encoded) override {
    if (encoded.size() != sizes_.public_key) return fail("not a public key's length");
    return std::make_unique<KemKey>(method_, encoded);
  }
  Sizes sizes() const override { return sizes_; }
  Result<std::unique_ptr<KemKeyPair>> from_seed(Bytes) override {
    return not_offered("liboqs takes no seed here");
  }
  Result<std::unique_ptr<KemKeyPair>> from_private(Bytes encoded) override {
    if (encoded.size() != sizes_.private_key) return fail("not a private key's length");
    return std::make_unique<KemPair>(method_, Buffer{}, Buffer(encoded.begin(), encoded.end()));
  }

 private:
  KemMethodPtr method_;
  Sizes sizes_;
};

class OqsVerifier final : public Verifier {
 public:
  OqsVerifier(SignatureMethodPtr method, Bytes key)
      : method_(std::move(method)), key_(key.begin(), key.end()) {}
  Result<bool> verify(Bytes message, Bytes signature) override {
    return method_->library->call.verify(method_->scheme, message.data(), message.size(),
                                         signature.data(), signature.size(), key_.data()) == 0;
  }

 private:
  SignatureMethodPtr method_;
  Buffer key_;
};

class OqsPair final : public SignatureKeyPair {
 public:
  OqsPair(SignatureMethodPtr method, Buffer public_key, Buffer private_key)
      : method_(std::move(method)),
        public_(std::move(public_key)),
        private_(std::move(private_key)) {}
  Result<Buffer> public_key() const override { return public_; }
  Result<void> sign(Bytes message, Buffer& signature) override {
    size_t length = method_->scheme->signature;
    signature.resize(length);
    auto done = check(method_->library->call.sign(method_->scheme, signature.data(), &length,
                                                  message.data(), message.size(), private_.data()),
                      "signature");
    signature.resize(length);
    return done;
  }

 private:
  SignatureMethodPtr method_;
  Buffer public_;
  Buffer private_;
};

class OqsScheme final : public Signature {
 public:
  OqsScheme(SignatureMethodPtr method, Sizes sizes) : method_(std::move(method)), sizes_(sizes) {}
  Result<std::unique_ptr<SignatureKeyPair>> generate() override {
    Buffer public_key(sizes_.public_key), private_key(sizes_.private_key);
    auto made = check(method_->library->call.signature_keypair(method_->scheme, public_key.data(),
                                                               private_key.data()),
                      "key generation");
    if (!made) return std::unexpected(made.error());
    return std::make_unique<OqsPair>(method_, std::move(public_key), std::move(private_key));
  }
  Result<std::unique_ptr<Verifier>> parse_public(Bytes encoded) override {
    if (encoded.size() != sizes_.public_key) return fail("not a public key's length");
    return std::make_unique<OqsVerifier>(method_, encoded);
  }
  Sizes sizes() const override { return sizes_; }

 private:
  SignatureMethodPtr method_;
  Sizes sizes_;
};

class Liboqs final : public Provider {
 public:
  explicit Liboqs(LibraryPtr library) : library_(std::move(library)) {}

  ProviderFacts facts() const override { return {"liboqs", library_->call.version()}; }

  std::vector<Algorithm> algorithms() const override {
    std::vector<Algorithm> all;
    for (const auto& name : kNames) {
      if (kem_method(name.ours) || signature_method(name.ours)) {
        all.push_back(algorithm_of(name.ours));
      }
    }
    return all;
  }
  Implementation implementation(std::string_view algorithm) const override {
    Implementation implementation{.keys = "bytes, taken apart in each operation"};
    const char* version = nullptr;
    if (auto kem = kem_method(algorithm)) version = kem->kem->version;
    if (auto scheme = signature_method(algorithm)) version = scheme->scheme->version;
    implementation.evidence =
        std::format("liboqs chooses by the CPU and does not say what it chose; its sources: {}",
                    version ? version : "not named");
    return implementation;
  }
  std::unique_ptr<Kem> kem(std::string_view algorithm) override {
    auto method = kem_method(algorithm);
    if (!method) return nullptr;
    return std::make_unique<OqsKemScheme>(std::move(method), sizes_of(algorithm));
  }
  std::unique_ptr<KeyAgreement> key_agreement(std::string_view) override { return nullptr; }
  std::unique_ptr<Signature> signature(std::string_view algorithm) override {
    auto method = signature_method(algorithm);
    if (!method) return nullptr;
    return std::make_unique<OqsScheme>(std::move(method), sizes_of(algorithm));
  }
  std::unique_ptr<Aead> aead(std::string_view) override { return nullptr; }

 private:
  // Null where the library's build has no such algorithm, or one of other lengths.
  KemMethodPtr kem_method(std::string_view algorithm) const {
    const char* name = their_name(algorithm);
    if (!name || find_algorithm(algorithm)->kind != Kind::kem) return nullptr;
    auto* kem = library_->call.kem_new(name);
    if (!kem) return nullptr;
    auto method = std::make_shared<const KemMethod>(library_, kem);
    auto sizes = sizes_of(algorithm);
    bool fits = kem->public_key == sizes.public_key && kem->private_key == sizes.private_key &&
                kem->ciphertext == sizes.output && kem->secret == sizes.secret;
    return fits ? method : nullptr;
  }
  SignatureMethodPtr signature_method(std::string_view algorithm) const {
    const char* name = their_name(algorithm);
    if (!name || find_algorithm(algorithm)->kind != Kind::signature) return nullptr;
    auto* scheme = library_->call.signature_new(name);
    if (!scheme) return nullptr;
    auto method = std::make_shared<const SignatureMethod>(library_, scheme);
    auto sizes = sizes_of(algorithm);
    bool fits = scheme->public_key == sizes.public_key &&
                scheme->private_key == sizes.private_key && scheme->signature == sizes.output;
    return fits ? method : nullptr;
  }

  LibraryPtr library_;
};

}  // namespace

}  // namespace liboqs

Result<std::unique_ptr<Provider>> open_liboqs(const std::string& path) {
  std::string file = path.empty() ? "liboqs.so" : path;
  // It may use OpenSSL for hashes and random bytes, and shares it with this program then.
  auto handle = DynamicLibrary::open(file, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return std::unexpected(handle.error());
  auto library = std::make_shared<liboqs::Library>();
  library->handle = std::move(*handle);
  if (!liboqs::find_all(*library->handle, library->call)) {
    return fail("{} lacks functions of liboqs 0.8 or newer", file);
  }
  library->call.init();
  return std::make_unique<liboqs::Liboqs>(std::move(library));
}

}  // namespace pqedge::measure
