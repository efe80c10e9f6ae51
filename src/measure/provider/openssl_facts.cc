// Which code of libcrypto runs. OpenSSL chooses when it starts, by the CPU, among the assembly that
// its build has; it publishes the CPU settings, not the choice. What is said here is read off the
// sources of the releases named below; of any other release the code is unknown.
#include <openssl/crypto.h>

#include <cstdlib>
#include <format>

#include "measure/provider/cpu.h"
#include "measure/provider/openssl.h"

namespace pqedge::measure::openssl {

namespace {

struct Fact {
  std::string code;
  std::string source;  // where in OpenSSL's sources that is
};

const Fact kUnknown{"unknown", "the build decides it (ec_nistp_64_gcc_128), and does not say"};

bool is_known_release() {
  return OPENSSL_version_major() == 3 &&
         (OPENSSL_version_minor() == 5 || OPENSSL_version_minor() == 6);
}

Fact lattice() {
  return {"portable C, SHA-3 in scalar x86-64 assembly",
          "crypto/ml_kem and crypto/ml_dsa have no vector code; keccak1600-x86_64.pl"};
}

Fact slh_dsa(bool shake) {
  if (shake) {
    return {"portable C, SHA-3 in scalar x86-64 assembly",
            "crypto/slh_dsa hashes one block at a time; keccak1600-x86_64.pl"};
  }
  return {cpu::sha() ? "portable C, SHA-2 with the SHA extensions (SHA-512 in assembly)"
                     : "portable C, SHA-2 in x86-64 assembly",
          "crypto/slh_dsa hashes one block at a time; sha512-x86_64.pl"};
}

Fact rsa() {
  if (cpu::avx512_ifma()) {
    return {"x86-64 assembly, private operations with AVX-512 IFMA", "rsaz-*-avx512.pl"};
  }
  return {cpu::adx() ? "x86-64 assembly with MULX and ADX" : "x86-64 assembly",
          "x86_64-mont.pl, x86_64-mont5.pl"};
}

Fact gcm() {
  if (cpu::vaes() && cpu::avx512()) {
    return {"x86-64 assembly with VAES and AVX-512", "aes-gcm-avx512.pl"};
  }
  if (cpu::aes()) return {"x86-64 assembly with AES-NI and PCLMULQDQ", "aesni-gcm-x86_64.pl"};
  return {"x86-64 assembly without AES-NI", "vpaes-x86_64.pl, ghash-x86_64.pl"};
}

Fact chacha() {
  const char* source = "chacha-x86_64.pl, poly1305-x86_64.pl";
  if (cpu::avx512()) return {"x86-64 assembly with AVX-512", source};
  if (cpu::avx2()) return {"x86-64 assembly with AVX2", source};
  return {"x86-64 assembly", source};
}

Fact x25519() {
  return {cpu::adx() ? "key generation in C, derivation in x86-64 assembly with MULX and ADX"
                     : "key generation in C, derivation in x86-64 assembly",
          "curve25519.c, x25519-x86_64.pl"};
}

Fact p256() {
  return {cpu::adx() ? "x86-64 assembly with MULX and ADX" : "x86-64 assembly",
          "ecp_nistz256-x86_64.pl"};
}

Fact fact_of(std::string_view name) {
  if (name.starts_with("ML-")) return lattice();
  if (name.starts_with("SLH-DSA-")) return slh_dsa(name.contains("SHAKE"));
  if (name == "X25519MLKEM768") {
    return {"as ML-KEM-768 and X25519", "providers/implementations/kem/mlx_kem.c"};
  }
  if (name.starts_with("SecP")) {
    return {"as ML-KEM and the curve", "providers/implementations/kem/mlx_kem.c"};
  }
  if (name == "X25519") return x25519();
  if (name == "X448") return {"portable C", "crypto/ec/curve448"};
  if (name == "Ed25519") return {"portable C", "crypto/ec/curve25519.c"};
  if (name == "P-256" || name == "ECDSA-P256") return p256();
  if (name.starts_with("RSA-")) return rsa();
  if (name.starts_with("MODP-") || name.starts_with("ffdhe")) {
    return {cpu::adx() ? "x86-64 assembly with MULX and ADX" : "x86-64 assembly",
            "x86_64-mont.pl, x86_64-mont5.pl"};
  }
  if (name.ends_with("-GCM")) return gcm();
  if (name == "ChaCha20-Poly1305") return chacha();
  return kUnknown;
}

std::string keys_of(std::string_view name) {
  if (name.starts_with("ML-KEM-") || name.contains("MLKEM")) {
    return "public key parsed, matrix expanded at import";
  }
  if (name.starts_with("ML-DSA-")) return "parsed; matrix expanded in each operation";
  if (name.ends_with("-GCM") || name == "ChaCha20-Poly1305") return "keyed once";
  return "parsed";
}

}  // namespace

Implementation implementation_of(std::string_view algorithm) {
  Implementation implementation;
  implementation.keys = keys_of(algorithm);
  const char* settings = OPENSSL_info(OPENSSL_INFO_CPU_SETTINGS);
  std::string cpu_settings = settings ? settings : "no CPU settings";
  if (!cpu::kX86 || !is_known_release()) {
    implementation.evidence =
        std::format("OpenSSL {} on this architecture is not described here; it publishes {}",
                    OpenSSL_version(OPENSSL_VERSION_STRING), cpu_settings);
    return implementation;
  }
  if (std::getenv("OPENSSL_ia32cap")) {
    implementation.evidence = "OPENSSL_ia32cap is set: " + cpu_settings;
    return implementation;
  }
  auto fact = fact_of(algorithm);
  implementation.code = fact.code;
  implementation.evidence =
      std::format("OpenSSL {} sources: {}; {}", OpenSSL_version(OPENSSL_VERSION_STRING),
                  fact.source, cpu_settings);
  return implementation;
}

}  // namespace pqedge::measure::openssl
