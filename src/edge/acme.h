// Ties ACME (jobs/acme) to the edge: certificates go to the keeper, answers to challenges to every
// worker, and names that clients ask for come from handshakes.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "crypto/handshake_pause.h"
#include "edge/certificate_keeper.h"
#include "edge/challenge_answers.h"
#include "edge/worker.h"
#include "jobs/acme/service.h"

namespace pqedge::edge {

class Acme final : public acme::Host, public crypto::CertificateRequester {
 public:
  // On the main thread, like configure() and stop(). `shared` and `keeper` must be there until
  // stop() has returned; handshakes may hold on to this longer.
  Acme(net::Loop& main_loop, Shared& shared, CertificateKeeper& keeper)
      : loop_(main_loop), shared_(shared), keeper_(keeper), service_(*this) {}
  ~Acme() override { stop(); }

  // Puts what the storage has into use at once. A name without a certificate gets one of our own
  // making, which no client trusts, until the CA's is there.
  Result<void> configure(const acme::Settings& settings);
  // Once the workers run: orders begin.
  void begin() { service_.begin(); }
  // Begins nothing new; what runs may end.
  void finish() { service_.finish(); }
  void stop();

  // crypto::CertificateRequester, on a worker's thread.
  bool request(std::string_view host, const net::Address& peer, crypto::Resume resume) override;

 private:
  // acme::Host, on the service's threads.
  Result<void> publish(const acme::Stored& certificate) override;
  void withdraw(const std::string& id) override;
  Result<void> add_token(const std::string& token, const std::string& answer) override;
  void remove_token(const std::string& token) override;
  Result<void> add_challenge(const std::string& name, const crypto::PemPair& pem) override;
  void remove_challenge(const std::string& name) override;

  Result<crypto::CertificateRef> make(const acme::Stored& stored) const;
  Result<void> everywhere(std::function<void()> change);
  void hand_out_answers();

  net::Loop& loop_;
  Shared& shared_;
  CertificateKeeper& keeper_;
  std::map<std::string, std::string> answers_;  // on the main thread
  std::atomic<bool> stopping_{false};
  acme::Service service_;
};

}  // namespace pqedge::edge
