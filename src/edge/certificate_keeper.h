// The certificates in use, on the main thread. Files (edge/certificate_files.h), OCSP and ACME
// change them; the workers get a new store by message, and use it from the next handshake on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/certificates.h"
#include "crypto/certificates_internal.h"
#include "net/loop.h"

namespace pqedge::edge {

class CertificateKeeper {
 public:
  using Publish = std::function<void(std::shared_ptr<const crypto::CertificateStore>)>;
  // Told when a certificate came, was exchanged or went (`now` is null). Not told of a stapled
  // copy.
  using Observer = std::function<void(const std::string& id, const crypto::CertificateRef& now)>;

  // `publish` hands a store to every worker; called at the end of a turn of `main_loop`, once for
  // all changes of that turn.
  CertificateKeeper(net::Loop& main_loop, Publish publish);

  // All on the main thread. Ids are Certificate::id and name their owner by prefix: "file:",
  // "acme:", "challenge:".
  void add(crypto::CertificateRef certificate);  // or exchanges the one of the same id
  void remove(const std::string& id);
  // Exchanges `old` for a changed copy of it (what is stapled). False, and nothing is done, when
  // `old` is no longer the one in use.
  bool update(const crypto::CertificateRef& old, crypto::CertificateRef changed);
  // All whose id begins with `prefix` are exchanged for these, which come first from then on (a
  // reload). One whose content is the same stays as it is, with what is stapled to it.
  void replace_all(std::string_view prefix, std::vector<crypto::CertificateRef> certificates);
  // The store that this would make: for contexts that are made before it is certain.
  std::shared_ptr<const crypto::CertificateStore> with(
      std::string_view prefix, const std::vector<crypto::CertificateRef>& certificates) const;
  crypto::CertificateRef find(const std::string& id) const;  // null: there is none
  std::vector<crypto::CertificateRef> all() const;
  // Called for each present certificate at once, then for each change.
  void observe(Observer observer);
  // Hands out now what waits for the end of the turn: before a Resume that counts on it.
  void publish_now();
  // Never null; empty as long as there is no certificate.
  std::shared_ptr<const crypto::CertificateStore> store() const { return store_; }

 private:
  std::vector<crypto::CertificateRef> merged(
      std::string_view prefix, const std::vector<crypto::CertificateRef>& certificates) const;
  void changed(const std::string& id, const crypto::CertificateRef& now);
  void publish_soon();

  net::Loop& loop_;
  Publish publish_;
  // In the order they came: the first of a name or the first of all counts as the default.
  std::vector<crypto::CertificateRef> certificates_;
  std::shared_ptr<const crypto::CertificateStore> store_;
  std::vector<Observer> observers_;
  bool dirty_ = false;
  net::Deferred publish_later_;
};

}  // namespace pqedge::edge
