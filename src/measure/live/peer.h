// Servers of this process for scenarios, in the server's namespace of a testbed.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "crypto/handles.h"
#include "measure/chain/mint.h"
#include "measure/link/testbed.h"

namespace pqedge::measure::live {

struct PeerOptions {
  std::string groups = "X25519MLKEM768:X25519";  // OpenSSL's list, in its order of preference
  std::string algorithm = "ECDSA-P256";          // of root, intermediate and leaf (ChainSpec)

  bool operator==(const PeerOptions&) const = default;
};

// TLS 1.3 by OpenSSL, a thread for each connection; it sends no tickets.
class TlsPeer {
 public:
  static Result<std::unique_ptr<TlsPeer>> start(const link::Testbed& testbed,
                                                const PeerOptions& options,
                                                const MintedChain& chain, uint16_t port);
  ~TlsPeer();
  TlsPeer(const TlsPeer&) = delete;
  TlsPeer& operator=(const TlsPeer&) = delete;

 private:
  TlsPeer(crypto::SslCtxPtr context, net::Fd listener)
      : context_(std::move(context)), listener_(std::move(listener)) {}
  void accept_all();
  void serve(int socket);

  crypto::SslCtxPtr context_;
  net::Fd listener_;
  std::mutex lock_;
  std::vector<int> sockets_;  // of connections that are served
  std::vector<std::thread> serving_;
  std::thread accepting_;
  std::atomic<bool> end_ = false;
};

}  // namespace pqedge::measure::live
