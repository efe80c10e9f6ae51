// A handshake may pause in the certificate callback: while a certificate is fetched for its name,
// or while its slow signature is made by another thread. The worker goes on with other connections.
//
// The certificate callback returns -1; SSL_do_handshake() then says SSL_ERROR_WANT_X509_LOOKUP, on
// TCP and over ngtcp2. Resumed, OpenSSL calls the certificate callback again.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "net/address.h"
#include "net/loop.h"

namespace pqedge::crypto {

// Who drives a handshake: a TLS stream over TCP, a QUIC connection. On its worker's thread.
class HandshakeDriver {
 public:
  // Run the handshake on from where it paused. Called by the loop, from no call of the driver's.
  virtual void resume_handshake() = 0;

 protected:
  ~HandshakeDriver() = default;
};

// Wakes one paused handshake, from any thread, once or more; a connection that is gone by then, or
// that has gone on, is left alone. Copyable.
class Resume {
 public:
  Resume() = default;
  void operator()() const;
  explicit operator bool() const { return slot_ != nullptr; }

 private:
  friend class PausePoint;
  struct Slot {
    net::Loop* loop = nullptr;
    HandshakeDriver* driver = nullptr;  // read and written on the loop's thread; null: gone
  };
  explicit Resume(std::shared_ptr<Slot> slot) : slot_(std::move(slot)) {}
  std::shared_ptr<Slot> slot_;
};

// Where a driver can be woken. Part of the driver, and lives on its worker.
class PausePoint {
 public:
  PausePoint() = default;
  PausePoint(net::Loop& loop, HandshakeDriver& driver) : loop_(&loop), driver_(&driver) {}
  ~PausePoint() { forget(); }
  PausePoint(const PausePoint&) = delete;
  PausePoint& operator=(const PausePoint&) = delete;

  void set(net::Loop& loop, HandshakeDriver& driver) {
    loop_ = &loop;
    driver_ = &driver;
  }
  // False where nobody set a driver (tests that drive an SSL by hand): never pause there.
  bool can_pause() const { return driver_ != nullptr; }
  Resume resume();
  // No Resume reaches the driver any more.
  void forget();
  net::Loop* loop() const { return loop_; }

 private:
  net::Loop* loop_ = nullptr;
  HandshakeDriver* driver_ = nullptr;
  std::shared_ptr<Resume::Slot> slot_;  // made when it is first asked for
};

// Certificates made when they are first asked for (on-demand issuance).
class CertificateRequester {
 public:
  virtual ~CertificateRequester() = default;
  // On a worker's thread within a handshake, for a host that no certificate covers: must be quick
  // and bounded. True: `resume` is called when there is news, good or bad; a new store was given to
  // the workers before. The handshake's own timeout holds meanwhile. False: the handshake goes on
  // with the default certificate. Asked at most once a handshake.
  virtual bool request(std::string_view host, const net::Address& peer, Resume resume) = 0;
};

// Makes slow signatures off the workers. Bounded: threads, queue, share an address, deadline.
class SlowSigner {
 public:
  // A place in the queue: given back when it is destroyed.
  class Place {
   public:
    virtual ~Place() = default;
  };
  struct Task {
    std::shared_ptr<Place> place;
    std::function<void()> run;               // on a signing thread
    std::function<void(bool ran)> finished;  // on the loop's thread; false: its deadline passed
    net::Loop* loop = nullptr;
    // Set by the worker when nobody waits for it any more: it is not begun then. May be null.
    std::shared_ptr<std::atomic<bool>> dropped;
  };
  virtual ~SlowSigner() = default;
  // On a worker's thread. Null: no room, or this address has its share.
  virtual std::shared_ptr<Place> reserve(const net::Address& peer) = 0;
  virtual void submit(Task task) = 0;
};

// What handshakes need of the rest of the process; any may be null.
struct HandshakeServices {
  std::shared_ptr<CertificateRequester> requester;
  std::shared_ptr<SlowSigner> signer;
};

}  // namespace pqedge::crypto
