#include "jobs/acme/session.h"

#include <algorithm>
#include <ctime>
#include <format>

#include "base/base64.h"
#include "base/log.h"
#include "base/text.h"

namespace pqedge::acme {
namespace {

constexpr int kNonceTries = 12;  // a CA may refuse nonces under load; each refusal brings a new one
constexpr Nanos kDirectoryLives = 3600 * kSecond;
constexpr Nanos kLookAtStop = 50 * kMillisecond;
constexpr std::string_view kJose = "application/jose+json";

}  // namespace

std::unexpected<Failure> failure(std::string text) {
  return std::unexpected(Failure{std::move(text), "", 0});
}
std::unexpected<Failure> failure(const Error& error) { return failure(error.message); }

bool Session::sleep(Nanos time) const {
  const Nanos end = monotonic_now() + time;
  for (;;) {
    if (stopped()) return false;
    const Nanos now = monotonic_now();
    if (now >= end) return true;
    const Nanos part = std::min(end - now, kLookAtStop);
    const timespec wait{0, static_cast<long>(part)};
    ::nanosleep(&wait, nullptr);
  }
}

Failure Session::refused(const std::string& what, const HttpAnswer& answer) const {
  Failure out;
  const ProblemDocument problem = parse_problem(answer.body);
  out.type = problem.type;
  out.text = std::format("{}: status {}, {}", what, answer.status, problem.text);
  out.retry_after = answer.retry_after;
  return out;
}

Outcome<void> Session::begin() {
  if (http_ == nullptr) {
    auto client = HttpClient::create(
        {.ca_file = settings_.ca_file, .timeout = settings_.timeout, .stop = &stop_});
    if (!client) return failure(client.error());
    http_ = std::move(*client);
  }
  if (auto ok = read_directory(); !ok) return ok;
  if (auto ok = load_key(); !ok) return ok;
  return account_.empty() ? open_account() : Outcome<void>{};
}

Outcome<void> Session::read_directory() {
  if (directory_ && monotonic_now() - directory_read_ < kDirectoryLives) return {};
  auto answer = http_->get(settings_.directory);
  if (!answer) return failure("the CA cannot be reached: " + answer.error().message);
  if (answer->status != 200) {
    return std::unexpected(refused("the directory " + settings_.directory, *answer));
  }
  auto directory = parse_directory(answer->body);
  if (!directory) {
    return failure(
        std::format("{} is no ACME directory: {}", settings_.directory, directory.error().message));
  }
  directory_ = std::move(*directory);
  directory_read_ = monotonic_now();
  return {};
}

// One key for all processes of the folder: whoever comes first makes it.
Outcome<void> Session::load_key() {
  if (key_) return {};
  const std::string file = storage_.account_key_file();
  for (;;) {
    auto lock = Storage::lock(file);
    if (!lock) return failure(lock.error());
    if (*lock) {
      auto pem = Storage::read(file);
      if (!pem && pem.error().code != ENOENT) return failure(pem.error());
      if (pem) {
        auto key = AccountKey::from_pem(*pem, file);
        OPENSSL_cleanse(pem->data(), pem->size());
        if (!key) return failure(key.error());
        key_ = std::move(*key);
        return {};
      }
      auto key = AccountKey::generate();
      if (!key) return failure(key.error());
      auto text = key->to_pem();
      if (!text) return failure(text.error());
      auto written = Storage::write(file, *text);
      OPENSSL_cleanse(text->data(), text->size());
      if (!written) return failure(written.error());
      log::info("acme", "a new account key is in {}", file);
      key_ = std::move(*key);
      return {};
    }
    if (!sleep(kLookAtStop)) return failure("stopped");
  }
}

Outcome<std::string> Session::account_payload(const std::string& url) const {
  std::string payload = R"({"termsOfServiceAgreed":true)";
  if (!settings_.email.empty()) {
    payload += R"(,"contact":["mailto:)";
    append_json_escaped(payload, settings_.email);
    payload += "\"]";
  }
  if (!settings_.eab_key_id.empty()) {
    auto text = Storage::read(settings_.eab_key_file);
    if (!text) return failure(text.error());
    std::string_view trimmed = *text;
    while (trimmed.ends_with('\n') || trimmed.ends_with('\r')) trimmed.remove_suffix(1);
    auto mac_key = from_any_base64(trim_ows(trimmed));
    OPENSSL_cleanse(text->data(), text->size());
    if (!mac_key || mac_key->empty()) {
      return failure(settings_.eab_key_file + " holds no key in base64url");
    }
    payload += R"(,"externalAccountBinding":)" +
               external_account_binding(settings_.eab_key_id, *mac_key, url, key_->jwk());
    OPENSSL_cleanse(mac_key->data(), mac_key->size());
  } else if (directory_->needs_external_account) {
    return failure(
        "the CA wants an account of its own first (externalAccountRequired): set "
        "acme.eab_key_id and acme.eab_key_file");
  }
  return payload + "}";
}

// RFC 8555 7.3: for a key that the CA knows, newAccount answers with the account that there is.
Outcome<void> Session::open_account() {
  if (auto url = Storage::read(storage_.account_url_file()); url) {
    account_ = *url;
    return {};
  }
  auto payload = account_payload(directory_->new_account);
  if (!payload) return std::unexpected(payload.error());
  auto answer = post_with(directory_->new_account, *payload, true);
  if (!answer) {
    answer.error().text = "the account: " + answer.error().text;
    return std::unexpected(answer.error());
  }
  const auto status = parse_account(answer->body);
  if (!status) return failure("the account: " + status.error().message);
  if (*status != Status::valid) {
    return failure("the account at the CA is no longer valid; remove " +
                   storage_.account_key_file() + " to make another");
  }
  if (!answer->location.starts_with("https://")) return failure("the CA named no account URL");
  account_ = answer->location;
  if (auto ok = Storage::write(storage_.account_url_file(), account_); !ok) {
    return failure(ok.error());
  }
  log::info("acme", "account at {}{}{}", settings_.directory,
            directory_->terms.empty() ? "" : ", terms accepted: ", directory_->terms);
  return {};
}

Outcome<std::string> Session::take_nonce() {
  if (!nonce_.empty()) return std::exchange(nonce_, {});
  auto answer = http_->head(directory_->new_nonce);
  if (!answer) return failure("no nonce from the CA: " + answer.error().message);
  if (answer->nonce.empty()) {
    Failure out = {std::format("no nonce from the CA: status {}", answer->status), "",
                   answer->retry_after};
    return std::unexpected(std::move(out));
  }
  return std::move(answer->nonce);
}

Outcome<HttpAnswer> Session::post(const std::string& url, const std::string& payload) {
  auto answer = post_with(url, payload, false);
  if (!answer && answer.error().type == "accountDoesNotExist") {
    // The CA has lost it, or it is a test CA that forgets: the next attempt makes it anew.
    Storage::remove(storage_.account_url_file());
    account_.clear();
  }
  return answer;
}

Outcome<HttpAnswer> Session::post_with(const std::string& url, const std::string& payload,
                                       bool with_key) {
  for (int tries = 1;; ++tries) {
    if (stopped()) return failure("stopped");
    auto nonce = take_nonce();
    if (!nonce) return std::unexpected(nonce.error());
    std::string header = R"({"alg":"ES256","nonce":")" + *nonce + R"(","url":")";
    append_json_escaped(header, url);
    if (with_key) {
      header += R"(","jwk":)" + key_->jwk() + "}";
    } else {
      header += R"(","kid":")";
      append_json_escaped(header, account_);
      header += "\"}";
    }
    auto body = key_->sign(header, payload);
    if (!body) return failure(body.error());
    auto answer = http_->post(url, std::string(kJose), *body);
    if (!answer) return failure(answer.error());
    nonce_ = answer->nonce;
    if (answer->status < 400) return std::move(*answer);
    Failure why = refused(url, *answer);
    if (why.type != "badNonce" || tries == kNonceTries) return std::unexpected(std::move(why));
  }
}

Outcome<Session::Renewal> Session::renewal_info(const std::string& certificate_id) {
  const std::string url = directory_->renewal_info + "/" + certificate_id;
  auto answer = http_->get(url);
  if (!answer) return failure(answer.error());
  if (answer->status != 200) return std::unexpected(refused("renewal information", *answer));
  auto info = parse_renewal_info(answer->body);
  if (!info) return failure("renewal information: " + info.error().message);
  return Renewal{std::move(*info), answer->retry_after};
}

}  // namespace pqedge::acme
