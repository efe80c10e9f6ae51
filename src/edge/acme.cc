#include "edge/acme.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace pqedge::edge {
namespace {

constexpr Nanos kPatience = 10 * kSecond;  // with workers that are busy

std::string certificate_id(const std::string& id) { return "acme:" + id; }
std::string challenge_id(const std::string& name) { return "challenge:" + name; }

// Opened by the last worker that has taken a change.
class Gate {
 public:
  explicit Gate(size_t workers) : left_(workers) {}
  void pass() {
    const std::lock_guard lock(mutex_);
    if (--left_ == 0) all_.notify_all();
  }
  // False: the time is up, or `stop` was set.
  bool wait(const std::atomic<bool>& stop) {
    const Nanos deadline = monotonic_now() + kPatience;
    std::unique_lock lock(mutex_);
    while (left_ != 0) {
      if (stop.load(std::memory_order_relaxed) || monotonic_now() > deadline) return false;
      all_.wait_for(lock, std::chrono::milliseconds(50));
    }
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  size_t left_;
};

}  // namespace

Result<crypto::CertificateRef> Acme::make(const acme::Stored& stored) const {
  crypto::PemPair pem;
  if (stored.pem.empty()) {
    auto placeholder = crypto::make_self_signed(stored.names);
    if (!placeholder) return std::unexpected(placeholder.error());
    pem = std::move(*placeholder);
  }
  const std::string what = "the certificate of " + stored.names.front();
  auto parsed = stored.pem.empty()
                    ? crypto::parse_certificate({pem.chain, pem.key, what, what, false})
                    : crypto::parse_certificate({stored.pem, stored.pem, what, what, false});
  if (!parsed) return std::unexpected(parsed.error());
  parsed->id = certificate_id(stored.id);
  parsed->is_default = stored.is_default;
  return std::make_shared<const crypto::Certificate>(std::move(*parsed));
}

Result<void> Acme::configure(const acme::Settings& settings) {
  auto changes = service_.configure(std::make_shared<const acme::Settings>(settings));
  if (!changes) return std::unexpected(changes.error());
  for (const acme::Stored& stored : changes->present) {
    auto certificate = make(stored);
    if (!certificate) return std::unexpected(certificate.error());
    keeper_.add(std::move(*certificate));
  }
  for (const std::string& id : changes->gone) keeper_.remove(certificate_id(id));
  return {};
}

void Acme::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  service_.stop();
}

bool Acme::request(std::string_view host, const net::Address&, crypto::Resume resume) {
  return service_.request(host, [resume = std::move(resume)] { resume(); });
}

// Runs `change` on the main loop; what that sends to the workers is before the gate's message, and
// messages keep their order.
Result<void> Acme::everywhere(std::function<void()> change) {
  auto gate = std::make_shared<Gate>(shared_.workers.size());
  loop_.post([this, gate, change = std::move(change)] {
    if (stopping_.load(std::memory_order_relaxed)) return;
    change();
    for (auto& worker : shared_.workers) {
      worker->loop().post([gate] { gate->pass(); });
    }
  });
  if (gate->wait(stopping_)) return {};
  return fail("{}", stopping_.load(std::memory_order_relaxed) ? "the process is stopping"
                                                              : "a worker did not answer in time");
}

Result<void> Acme::publish(const acme::Stored& stored) {
  auto certificate = make(stored);
  if (!certificate) return std::unexpected(certificate.error());
  return everywhere([this, one = std::move(*certificate)] {
    keeper_.add(one);
    keeper_.publish_now();
  });
}

void Acme::withdraw(const std::string& id) {
  [[maybe_unused]] const auto done = everywhere([this, id] {
    keeper_.remove(certificate_id(id));
    keeper_.publish_now();
  });
}

Result<void> Acme::add_challenge(const std::string& name, const crypto::PemPair& pem) {
  const std::string what = "the challenge certificate of " + name;
  auto parsed = crypto::parse_certificate({pem.chain, pem.key, what, what, false});
  if (!parsed) return std::unexpected(parsed.error());
  parsed->id = challenge_id(name);
  parsed->is_challenge = true;
  auto one = std::make_shared<const crypto::Certificate>(std::move(*parsed));
  return everywhere([this, one] {
    keeper_.add(one);
    keeper_.publish_now();
  });
}

void Acme::remove_challenge(const std::string& name) {
  [[maybe_unused]] const auto done = everywhere([this, name] {
    keeper_.remove(challenge_id(name));
    keeper_.publish_now();
  });
}

void Acme::hand_out_answers() {
  std::shared_ptr<const ChallengeAnswers> table;
  if (!answers_.empty()) {
    table = std::make_shared<const ChallengeAnswers>(answers_.begin(), answers_.end());
  }
  for (auto& worker : shared_.workers) {
    worker->loop().post([&w = *worker, table] { w.set_challenge_answers(table); });
  }
}

Result<void> Acme::add_token(const std::string& token, const std::string& answer) {
  return everywhere([this, token, answer] {
    answers_[token] = answer;
    hand_out_answers();
  });
}

void Acme::remove_token(const std::string& token) {
  [[maybe_unused]] const auto done = everywhere([this, token] {
    answers_.erase(token);
    hand_out_answers();
  });
}

}  // namespace pqedge::edge
