// Handshakes that pause: their signature is made by another thread (T19), or their certificate is
// fetched first.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "crypto/certificates_internal.h"
#include "unit/crypto/identity.h"
#include "unit/crypto/tls_pair.h"

namespace pqedge::crypto {
namespace {

using testing::make_identity;
using testing::Pair;

// One thread. Tasks wait until they are let go.
class Signer final : public SlowSigner {
 public:
  Signer() : thread_([this] { work(); }) {}
  ~Signer() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  std::shared_ptr<Place> reserve(const net::Address&) override {
    return full ? nullptr : std::make_shared<Place>();
  }
  void submit(Task task) override {
    const std::lock_guard lock(mutex_);
    EXPECT_NE(task.place, nullptr);
    waiting_.push_back(std::move(task));
  }
  size_t waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }
  // `in_time`: its deadline has not passed.
  void let_go(bool in_time = true) {
    {
      const std::lock_guard lock(mutex_);
      for (Task& task : waiting_) ready_.push_back({std::move(task), in_time});
      waiting_.clear();
    }
    wake_.notify_all();
  }

  bool full = false;
  std::atomic<int> runs{0};

 private:
  struct Ready {
    Task task;
    bool in_time;
  };
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
      if (stopping_) return;
      auto next = std::make_shared<Ready>(std::move(ready_.front()));
      ready_.pop_front();
      lock.unlock();
      if (next->in_time) {
        next->task.run();
        ++runs;
      }
      net::Loop* loop = next->task.loop;
      loop->post([next] { next->task.finished(next->in_time); });
      next = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> waiting_;
  std::deque<Ready> ready_;
  bool stopping_ = false;
  std::thread thread_;
};

CertificateRef certificate(const std::string& type, bool slow) {
  const auto identity = make_identity({.dns = {"a.test"}, .common_name = type, .key_type = type});
  auto parsed = parse_certificate({identity.chain_pem, identity.key_pem, type, type});
  EXPECT_TRUE(parsed) << parsed.error().message;
  parsed->slow = slow;
  return std::make_shared<const Certificate>(std::move(*parsed));
}

class SlowSignature : public ::testing::Test {
 protected:
  std::shared_ptr<ServerContexts> contexts(std::vector<CertificateRef> certificates,
                                           const TlsSettings& settings = {}) {
    HandshakeServices services;
    services.signer = signer;
    services.requester = requester;
    auto made = ServerContexts::create(settings, CertificateStore::make(std::move(certificates)),
                                       TicketKeyRing::create(settings.ticket_lifetime), nullptr,
                                       nullptr, services);
    EXPECT_TRUE(made) << made.error().message;
    return *made;
  }
  // Until a task waits; the client has sent its hello by then.
  static bool pauses(Pair& pair, Signer& signer) {
    return pair.run([&] { return signer.waiting() > 0 || pair.over(); }) && signer.waiting() > 0;
  }
  // The signing thread takes its time, and the pair's steps none.
  static bool completes(Pair& pair) {
    for (int i = 0; i < 200; ++i) {
      if (pair.handshake() || pair.over()) break;
      pair.loop->run_once(20 * kMillisecond);
    }
    return pair.server->done && pair.client->connected();
  }

  std::shared_ptr<Signer> signer = std::make_shared<Signer>();
  std::shared_ptr<CertificateRequester> requester;
};

TEST_F(SlowSignature, IsMadeByAnotherThread) {
  Pair pair(contexts({certificate("ML-DSA-65", true)}), {.server_name = "a.test"});
  ASSERT_TRUE(pauses(pair, *signer));
  EXPECT_FALSE(pair.client->connected());
  signer->let_go();
  ASSERT_TRUE(completes(pair)) << pair.client->failure() << pair.server->handshake_error;
  EXPECT_EQ(signer->runs, 1);
  EXPECT_EQ(pair.client->peer_common_name(), "ML-DSA-65");
  EXPECT_EQ(pair.server->facts.sni, "a.test");
  EXPECT_EQ(pair.server->facts.group, "X25519MLKEM768");
  pair.client->write("ping");
  EXPECT_TRUE(pair.run([&] { return pair.server->received == "ping"; }));
}

TEST_F(SlowSignature, AfterAHelloRetryRequestToo) {
  Pair pair(contexts({certificate("P-256", true)}), {.groups = "*X25519:X25519MLKEM768"});
  ASSERT_TRUE(pauses(pair, *signer));
  EXPECT_EQ(pair.client->client_hellos, 2);  // nothing is signed for the first
  signer->let_go();
  ASSERT_TRUE(completes(pair)) << pair.client->failure();
  EXPECT_EQ(signer->runs, 1);
  EXPECT_TRUE(pair.server->facts.hello_retry);
}

TEST_F(SlowSignature, InTls12Too) {
  Pair pair(contexts({certificate("P-256", true)}, {.min_version = "1.2"}),
            {.max_version = TLS1_2_VERSION});
  ASSERT_TRUE(pauses(pair, *signer));
  signer->let_go();
  ASSERT_TRUE(completes(pair)) << pair.client->failure();
  EXPECT_EQ(pair.client->alpn(), "http/1.1");
}

// There OpenSSL is driven by SSL_read_early_data().
TEST_F(SlowSignature, WhereEarlyDataIsTakenToo) {
  TlsSettings settings;
  settings.early_data.on = true;
  Pair pair(contexts({certificate("P-256", true)}, settings));
  ASSERT_TRUE(pauses(pair, *signer));
  signer->let_go();
  ASSERT_TRUE(completes(pair)) << pair.client->failure() << pair.server->handshake_error;
  pair.client->write("ping");
  EXPECT_TRUE(pair.run([&] { return pair.server->received == "ping"; }));
  EXPECT_EQ(signer->runs, 1);
}

TEST_F(SlowSignature, AFullQueueGivesAnotherCertificate) {
  signer->full = true;
  Pair pair(contexts({certificate("ML-DSA-65", true), certificate("P-256", false)}));
  ASSERT_TRUE(pair.handshake()) << pair.client->failure();
  EXPECT_EQ(pair.client->peer_common_name(), "P-256");
  EXPECT_EQ(signer->runs, 0);
}

TEST_F(SlowSignature, AFullQueueEndsTheHandshakeWhereThereIsNoOther) {
  signer->full = true;
  Pair pair(contexts({certificate("ML-DSA-65", true)}));
  EXPECT_FALSE(pair.handshake());
  pair.settle();
  EXPECT_TRUE(pair.client->failure().find("internal error") != std::string::npos)
      << pair.client->failure();
}

TEST_F(SlowSignature, PastItsDeadlineAnotherCertificateIsGiven) {
  Pair pair(contexts({certificate("ML-DSA-65", true), certificate("P-256", false)}));
  ASSERT_TRUE(pauses(pair, *signer));
  signer->let_go(false);
  ASSERT_TRUE(completes(pair)) << pair.client->failure();
  EXPECT_EQ(pair.client->peer_common_name(), "P-256");
  EXPECT_EQ(signer->runs, 0);
}

TEST_F(SlowSignature, AResumedSessionNeedsNone) {
  const auto served = contexts({certificate("P-256", true)});
  Pair first(served);
  ASSERT_TRUE(pauses(first, *signer));
  signer->let_go();
  ASSERT_TRUE(completes(first));
  first.settle();
  SSL_SESSION* session = first.client->take_session();
  ASSERT_NE(session, nullptr);
  Pair second(served, {.session = session});
  EXPECT_TRUE(second.handshake()) << second.client->failure();
  EXPECT_TRUE(second.client->resumed());
  EXPECT_EQ(signer->runs, 1);
  SSL_SESSION_free(session);
}

TEST_F(SlowSignature, TheStreamMayGoMeanwhile) {
  auto pair = std::make_unique<Pair>(contexts({certificate("P-256", true)}));
  ASSERT_TRUE(pauses(*pair, *signer));
  pair->server->stream.reset();
  signer->let_go();
  for (int i = 0; i < 200 && signer->runs == 0; ++i) pair->loop->run_once(20 * kMillisecond);
  EXPECT_EQ(signer->runs, 1);
  pair->loop->run_once(20 * kMillisecond);
  EXPECT_FALSE(pair->server->done);
}

TEST_F(SlowSignature, WhatTheClientSendsMeanwhileWaits) {
  Pair pair(contexts({certificate("P-256", true)}), {}, {"http/1.1"});
  ASSERT_TRUE(pauses(pair, *signer));
  // An alert that nobody asked for: it is seen when the step is done.
  const std::string alert("\x15\x03\x03\x00\x02\x02\x28", 7);
  ASSERT_EQ(::send(pair.client->fd(), alert.data(), alert.size(), MSG_NOSIGNAL), 7);
  pair.loop->run_once(0);
  EXPECT_FALSE(pair.over());
  signer->let_go();
  EXPECT_FALSE(completes(pair));
  EXPECT_FALSE(pair.server->handshake_error.empty());
}

// ---- a certificate that is fetched -------------------------------------------------------------

class Requester final : public CertificateRequester {
 public:
  bool request(std::string_view host, const net::Address&, Resume resume) override {
    asked.emplace_back(host);
    waiting = std::move(resume);
    return answer;
  }
  std::vector<std::string> asked;
  Resume waiting;
  bool answer = true;
};

TEST_F(SlowSignature, AHandshakeWaitsForItsCertificate) {
  const auto source = std::make_shared<Requester>();
  requester = source;
  const auto served = contexts({certificate("P-256", false)});
  Pair pair(served, {.server_name = "new.test"});
  ASSERT_TRUE(pair.run([&] { return !source->asked.empty(); }));
  pair.settle();
  EXPECT_FALSE(pair.over());
  EXPECT_EQ(source->asked, std::vector<std::string>{"new.test"});
  const auto identity = make_identity({.dns = {"new.test"}, .common_name = "new.test"});
  auto fresh = parse_certificate({identity.chain_pem, identity.key_pem, "new", "new"});
  ASSERT_TRUE(fresh);
  served->set_certificates(CertificateStore::make(
      {certificate("P-256", false), std::make_shared<const Certificate>(std::move(*fresh))}));
  std::thread([&] { source->waiting(); }).join();
  ASSERT_TRUE(completes(pair)) << pair.client->failure();
  EXPECT_EQ(pair.client->peer_common_name(), "new.test");
  EXPECT_EQ(source->asked.size(), 1u);
}

TEST_F(SlowSignature, WithoutOneTheDefaultIsServed) {
  const auto source = std::make_shared<Requester>();
  requester = source;
  Pair pair(contexts({certificate("P-256", false)}), {.server_name = "new.test"});
  ASSERT_TRUE(pair.run([&] { return !source->asked.empty(); }));
  source->waiting();
  ASSERT_TRUE(completes(pair));
  EXPECT_EQ(pair.client->peer_common_name(), "P-256");
  EXPECT_EQ(source->asked.size(), 1u);
  source->answer = false;
  Pair refused(contexts({certificate("P-256", false)}), {.server_name = "other.test"});
  ASSERT_TRUE(refused.handshake());
  EXPECT_EQ(source->asked.size(), 2u);
}

TEST_F(SlowSignature, AResumeAfterTheConnectionIsHarmless) {
  const auto source = std::make_shared<Requester>();
  requester = source;
  Pair pair(contexts({certificate("P-256", false)}), {.server_name = "new.test"});
  ASSERT_TRUE(pair.run([&] { return !source->asked.empty(); }));
  pair.server->stream.reset();
  source->waiting();
  pair.loop->run_once(0);
  EXPECT_FALSE(pair.server->done);
}

// ---- a store that changes -----------------------------------------------------------------------

TEST(SetCertificates, CountsFromTheNextHandshakeOn) {
  const auto contexts =
      testing::make_contexts({}, CertificateStore::make({certificate("P-256", false)}));
  const auto served = [&] {
    Pair pair(contexts);
    return pair.handshake() ? pair.client->peer_common_name() : pair.client->failure();
  };
  EXPECT_EQ(served(), "P-256");
  const SSL_CTX* context = contexts->tcp();
  // Of the same kind of key, of another, and back.
  for (const char* type : {"P-256", "RSA", "ML-DSA-44", "P-256"}) {
    const auto identity =
        make_identity({.common_name = std::string("second ") + type, .key_type = type});
    contexts->set_certificates(testing::store_of(identity));
    EXPECT_EQ(served(), std::string("second ") + type);
  }
  EXPECT_EQ(contexts->tcp(), context);
}

}  // namespace
}  // namespace pqedge::crypto
