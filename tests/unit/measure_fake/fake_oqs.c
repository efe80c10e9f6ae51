/* A shared library with liboqs's functions, for the test of what pqcost does with one: ML-KEM-768
 * alone, done by PQClean. FAKE_OQS_WRONG makes it answer wrongly. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

int PQCLEAN_MLKEM768_CLEAN_crypto_kem_keypair(uint8_t*, uint8_t*);
int PQCLEAN_MLKEM768_CLEAN_crypto_kem_enc(uint8_t*, uint8_t*, const uint8_t*);
int PQCLEAN_MLKEM768_CLEAN_crypto_kem_dec(uint8_t*, const uint8_t*, const uint8_t*);

int PQCLEAN_randombytes(uint8_t* out, size_t length) {
  return getrandom(out, length, 0) == (ssize_t)length ? 0 : -1;
}

#define EXPORT __attribute__((visibility("default")))

struct kem {
  const char* method_name;
  const char* alg_version;
  uint8_t claimed_nist_level;
  uint8_t ind_cca;
  size_t length_public_key, length_secret_key, length_ciphertext, length_shared_secret;
};

EXPORT void OQS_init(void) {}
EXPORT const char* OQS_version(void) { return "0.0.0-fake"; }

EXPORT struct kem* OQS_KEM_new(const char* name) {
  static const struct kem ml_kem_768 = {"ML-KEM-768", "fake", 3, 1, 1184, 2400, 1088, 32};
  if (strcmp(name, "ML-KEM-768") != 0) return NULL;
  struct kem* kem = malloc(sizeof *kem);
  *kem = ml_kem_768;
  return kem;
}
EXPORT void OQS_KEM_free(struct kem* kem) { free(kem); }
EXPORT int OQS_KEM_keypair(const struct kem* kem, uint8_t* pk, uint8_t* sk) {
  (void)kem;
  return PQCLEAN_MLKEM768_CLEAN_crypto_kem_keypair(pk, sk);
}
EXPORT int OQS_KEM_encaps(const struct kem* kem, uint8_t* ct, uint8_t* ss, const uint8_t* pk) {
  int result = PQCLEAN_MLKEM768_CLEAN_crypto_kem_enc(ct, ss, pk);
  (void)kem;
  if (getenv("FAKE_OQS_WRONG")) ss[0] ^= 1;
  return result;
}
EXPORT int OQS_KEM_decaps(const struct kem* kem, uint8_t* ss, const uint8_t* ct,
                          const uint8_t* sk) {
  int result = PQCLEAN_MLKEM768_CLEAN_crypto_kem_dec(ss, ct, sk);
  (void)kem;
  if (getenv("FAKE_OQS_WRONG")) ss[0] ^= 1;
  return result;
}

EXPORT void* OQS_SIG_new(const char* name) {
  (void)name;
  return NULL;
}
EXPORT void OQS_SIG_free(void* sig) { (void)sig; }
EXPORT int OQS_SIG_keypair(void) { return -1; }
EXPORT int OQS_SIG_sign(void) { return -1; }
EXPORT int OQS_SIG_verify(void) { return -1; }
