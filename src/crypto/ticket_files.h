// The files of shared ticket keys: the sealed store, and the private key that opens it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "crypto/kem.h"
#include "crypto/ticket_store.h"

namespace pqedge::crypto {

// Errors name the file, what is wrong with it, and what to do.

// PEM (PKCS#8), ML-KEM-1024. Refused when others than its owner may read it. `passphrase_file`
// (empty: none) holds the passphrase in its first line.
Result<KemKey> load_kem_private_key(const std::string& file, const std::string& passphrase_file);
// PEM, an ML-KEM-1024 public key (SubjectPublicKeyInfo).
Result<KemPublicKey> load_kem_public_key(const std::string& file);
// A new pair: the private key as PKCS#8 PEM with mode 0600 (encrypted when there is a passphrase
// file), the public key beside it as FILE.pub. Nothing is written over.
Result<KemKey> make_kem_key_files(const std::string& file, const std::string& passphrase_file);

// The store, as its bytes: refused when others than its owner may write to it.
Result<std::vector<uint8_t>> read_ticket_store_file(const std::string& file);
Result<TicketStore> load_ticket_store(const std::string& file, EVP_PKEY* private_key);
// Atomically: whoever reads meanwhile finds the old file or the new one.
Result<void> save_ticket_store(const std::string& file, const TicketStore& store);

// Held while a store is read, changed and written, so that two rotations on a machine wait for each
// other (flock on FILE.lock).
class TicketStoreLock {
 public:
  static Result<TicketStoreLock> take(const std::string& file);
  ~TicketStoreLock();
  TicketStoreLock(TicketStoreLock&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  TicketStoreLock& operator=(TicketStoreLock&&) = delete;

 private:
  explicit TicketStoreLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace pqedge::crypto
