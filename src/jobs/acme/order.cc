#include "jobs/acme/order.h"

#include <algorithm>
#include <format>
#include <functional>

#include "base/base64.h"
#include "jobs/acme/certificate_request.h"
#include "jobs/acme/challenge.h"

namespace pqedge::acme {
namespace {

constexpr Nanos kFirstLook = 100 * kMillisecond;
constexpr Nanos kMostBetween = 15 * kSecond;
constexpr Nanos kMostForAll = 300 * kSecond;  // of waiting for one thing

struct Wiped {
  std::string text;
  Wiped() = default;
  explicit Wiped(std::string t) : text(std::move(t)) {}
  ~Wiped() { OPENSSL_cleanse(text.data(), text.size()); }
  Wiped(const Wiped&) = delete;
  Wiped& operator=(const Wiped&) = delete;
};

// Asks again until done(), as often as the CA says, else more and more seldom.
template <typename T>
Outcome<T> poll(Session& session, const std::string& url, const std::string& what,
                Result<T> (*parse)(std::string_view), const std::function<bool(const T&)>& done) {
  const Nanos deadline = monotonic_now() + kMostForAll;
  Nanos pause = kFirstLook;
  for (;;) {
    auto answer = session.post_as_get(url);
    if (!answer) return std::unexpected(answer.error());
    auto object = parse(answer->body);
    if (!object) return failure(what + ": " + object.error().message);
    if (done(*object)) return std::move(*object);
    const Nanos wait = answer->retry_after != 0 ? answer->retry_after : pause;
    pause = std::min(pause * 2, kMostBetween);
    if (monotonic_now() + wait > deadline) {
      return failure(std::format("{}: the CA does not come to a decision", what));
    }
    if (!session.sleep(std::min(wait, kMostBetween))) return failure("stopped");
  }
}

std::string explain(const std::optional<ProblemDocument>& error) {
  return error ? error->text : "the CA gives no reason";
}

class Obtaining {
 public:
  Obtaining(Session& session, Responder& responder, const OrderRequest& request)
      : session_(session), request_(request), shown_(session, responder) {}

  Outcome<std::string> run() {
    if (auto ok = place(); !ok) return std::unexpected(ok.error());
    if (auto ok = authorize(); !ok) return std::unexpected(ok.error());
    return finish();
  }

 private:
  struct Pending {
    std::string url;  // of the authorization
    std::string challenge;
    std::string name;
  };

  Outcome<void> place();
  Outcome<HttpAnswer> post_order(bool with_replaces);
  Outcome<void> authorize();
  Outcome<void> look_at(const std::string& url);
  bool is_ours(const Authorization& authorization) const;
  Outcome<void> await(const Pending& one);
  Outcome<std::string> finish();

  Session& session_;
  const OrderRequest& request_;
  ShownChallenges shown_;
  std::string url_;
  Order order_;
  std::vector<Pending> pending_;
};

Outcome<HttpAnswer> Obtaining::post_order(bool with_replaces) {
  std::string payload = R"({"identifiers":[)";
  for (const std::string& name : request_.names) {
    payload +=
        std::format(R"({}{{"type":"dns","value":"{}"}})", payload.ends_with('[') ? "" : ",", name);
  }
  payload += "]";
  if (with_replaces) payload += std::format(R"(,"replaces":"{}")", request_.replaces);
  return session_.post(session_.directory().new_order, payload + "}");
}

Outcome<void> Obtaining::place() {
  const bool replaces = !request_.replaces.empty() && !session_.directory().renewal_info.empty();
  auto answer = post_order(replaces);
  if (!answer && replaces &&
      (answer.error().type == "alreadyReplaced" || answer.error().type == "malformed")) {
    answer = post_order(false);
  }
  if (!answer) return std::unexpected(answer.error());
  auto order = parse_order(answer->body);
  if (!order) return failure("the order: " + order.error().message);
  if (!answer->location.starts_with("https://")) return failure("the CA named no order URL");
  url_ = answer->location;
  order_ = std::move(*order);
  if (order_.status == Status::invalid) return failure("the order: " + explain(order_.error));
  return {};
}

// All answers are shown before the CA looks at the first.
Outcome<void> Obtaining::authorize() {
  for (const std::string& url : order_.authorizations) {
    if (auto ok = look_at(url); !ok) return ok;
  }
  if (pending_.empty()) return {};
  if (session_.settings().challenge == Challenge::dns_01 &&
      !session_.sleep(session_.settings().dns.propagation)) {
    return failure("stopped");
  }
  for (const Pending& one : pending_) {
    if (auto answer = session_.post(one.challenge, "{}"); !answer) {
      return std::unexpected(answer.error());
    }
  }
  for (const Pending& one : pending_) {
    if (auto ok = await(one); !ok) return ok;
  }
  return {};
}

bool Obtaining::is_ours(const Authorization& a) const {
  return std::ranges::contains(request_.names, a.wildcard ? "*." + a.name : a.name);
}

Outcome<void> Obtaining::look_at(const std::string& url) {
  auto answer = session_.post_as_get(url);
  if (!answer) return std::unexpected(answer.error());
  const auto authorization = parse_authorization(answer->body);
  if (!authorization) return failure(authorization.error());
  // It would have us vouch for a name that nobody asked for.
  if (!is_ours(*authorization)) return failure("the CA wants proof of a name that was not ordered");
  const std::string& name = authorization->name;
  if (authorization->status == Status::valid) return {};
  const std::string_view kind = to_text(session_.settings().challenge);
  const auto challenge = std::ranges::find(authorization->challenges, kind, &ChallengeObject::type);
  if (authorization->status != Status::pending) {
    return failure(std::format(
        "{}: the authorization is no longer open: {}", name,
        explain(challenge == authorization->challenges.end() ? std::nullopt : challenge->error)));
  }
  if (challenge == authorization->challenges.end() || challenge->token.empty()) {
    return failure(std::format("{}: the CA offers no {} challenge", name, kind));
  }
  if (auto ok = shown_.show(name, challenge->token); !ok) {
    return failure(std::format("{}: {}", name, ok.error().message));
  }
  pending_.push_back({url, challenge->url, name});
  return {};
}

Outcome<void> Obtaining::await(const Pending& one) {
  const auto authorization =
      poll<Authorization>(session_, one.url, one.name, parse_authorization,
                          [](const Authorization& a) { return a.status != Status::pending; });
  if (!authorization) return std::unexpected(authorization.error());
  if (authorization->status == Status::valid) return {};
  std::optional<ProblemDocument> error;
  for (const ChallengeObject& c : authorization->challenges) {
    if (c.error) error = c.error;
  }
  Failure out;
  out.text = std::format("{}: the CA's check failed: {}", one.name, explain(error));
  if (error) out.type = error->type;
  return std::unexpected(std::move(out));
}

Outcome<std::string> Obtaining::finish() {
  auto ready = poll<Order>(session_, url_, "the order", parse_order,
                           [](const Order& o) { return o.status != Status::pending; });
  if (!ready) return std::unexpected(ready.error());
  if (ready->status == Status::invalid) return failure("the order: " + explain(ready->error));
  const KeyType type = session_.settings().key_type;
  auto made = make_request(request_.names, type);
  if (!made) return failure(made.error());
  const Wiped key(std::exchange(made->key_pem, {}));
  // Only an order that another run of ours left may be further already; it has that run's key.
  if (ready->status != Status::ready) return failure("the order is not ready to be finalized");
  auto finalized =
      session_.post(ready->finalize, std::format(R"({{"csr":"{}"}})", base64url(made->csr)));
  if (!finalized) return std::unexpected(finalized.error());
  auto order = poll<Order>(session_, url_, "the order", parse_order, [](const Order& o) {
    return o.status == Status::valid || o.status == Status::invalid;
  });
  if (!order) return std::unexpected(order.error());
  if (order->status == Status::invalid) return failure("the order: " + explain(order->error));
  if (order->certificate.empty()) return failure("the order is valid and names no certificate");
  auto chain = session_.post_as_get(order->certificate);
  if (!chain) return std::unexpected(chain.error());
  std::string pem = key.text + chain->body;
  if (auto ok = check_issued(pem, "what the CA issued", request_.names, type); !ok) {
    OPENSSL_cleanse(pem.data(), pem.size());
    return failure(ok.error());
  }
  return pem;
}

}  // namespace

Outcome<std::string> obtain(Session& session, Responder& responder, const OrderRequest& request) {
  if (auto ok = session.begin(); !ok) return std::unexpected(ok.error());
  return Obtaining(session, responder, request).run();
}

}  // namespace pqedge::acme
