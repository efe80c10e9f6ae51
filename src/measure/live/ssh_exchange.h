// The client's keys of SSH's key exchanges, made and used by OpenSSL.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "crypto/handles.h"

namespace pqedge::measure::live {

inline constexpr std::string_view kSshMethods = "mlkem768x25519-sha256,curve25519-sha256";

class SshExchange {
 public:
  // One of kSshMethods, or curve25519-sha256@libssh.org, which is the same (RFC 8731 1).
  static Result<SshExchange> make(std::string_view method);

  Bytes share() const { return share_; }  // C_INIT (RFC 10042), or Q_C (RFC 8731)
  size_t reply_size() const { return kem_ ? 1120 : 32; }

  // K as the exchange hash takes it, length included: a string of the hybrid's SHA-256, an mpint of
  // the classical one.
  Result<std::vector<uint8_t>> secret(Bytes server_share) const;

 private:
  crypto::KeyPtr kem_;    // ML-KEM-768; null for the classical exchange
  crypto::KeyPtr curve_;  // X25519
  std::vector<uint8_t> share_;
};

// Whether an Ed25519 host key signed the exchange hash. An error for other kinds of key.
Result<bool> verify_ed25519(Bytes host_key, Bytes signature, Bytes exchange_hash);

std::vector<uint8_t> sha256(Bytes data);

}  // namespace pqedge::measure::live
