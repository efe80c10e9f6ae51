// What a server has to do with certificates while it runs: they change without a reload, and slow
// signatures are made beside the workers.
#include "base/log.h"
#include "edge/server.h"

namespace pqedge::edge {

// Of ids that stand for certificates of the configuration.
static constexpr std::string_view kOfFiles = "file:";

void Server::begin_certificates(const Settings& settings) {
  keeper_ = std::make_unique<CertificateKeeper>(
      loop_, [this](std::shared_ptr<const crypto::CertificateStore> store) {
        if (!running_) return;
        for (auto& w : shared_.workers) {
          w->loop().post([&worker = *w, store] { worker.set_certificates(store); });
        }
      });
  watcher_ = std::make_unique<CertificateWatcher>(loop_, *keeper_);
  stapling_ = std::make_unique<Stapling>(loop_, *keeper_);
  acme_ = std::make_shared<Acme>(loop_, shared_, *keeper_);
  services_.requester = acme_;
  if (settings.signing.threads > 0) {
    signer_ = jobs::SigningThreads::start(settings.signing);
    services_.signer = signer_;
  }
}

std::shared_ptr<const crypto::CertificateStore> Server::store_of(const Snapshot& snapshot) const {
  return snapshot.certificates == nullptr ? keeper_->store()
                                          : keeper_->with(kOfFiles, snapshot.certificates->all());
}

// The workers have it before they are told of the rest.
void Server::adopt_certificates(const Snapshot& snapshot) {
  const std::vector<crypto::CertificateRef> read = snapshot.certificates == nullptr
                                                       ? std::vector<crypto::CertificateRef>()
                                                       : snapshot.certificates->all();
  keeper_->replace_all(kOfFiles, read);
  keeper_->publish_now();
  watcher_->follow(snapshot.settings, read);
  if (signer_ != nullptr) signer_->update(snapshot.settings.signing);
}

Result<std::string> Server::reload_certificates() {
  if (draining_) return fail("the process is shutting down");
  return watcher_->look();
}

// Before the workers' loops are gone: threads of jobs still speak to them.
void Server::end_certificates() {
  stapling_.reset();
  if (acme_ != nullptr) acme_->stop();
  if (signer_ != nullptr) signer_->stop();
}

}  // namespace pqedge::edge
