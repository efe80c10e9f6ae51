// What an ACME server may answer: any bytes give a message or a reason, and texts fit for a log.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "jobs/acme/messages.h"

namespace {

using namespace pqedge::acme;

void expect_printable(std::string_view text) {
  for (const char c : text) {
    if (c < 0x20 || c > 0x7e) std::abort();
  }
}

void expect_https(std::string_view url) {
  if (!url.empty() && !url.starts_with("https://")) std::abort();
  expect_printable(url);
}

void look_at(const std::optional<ProblemDocument>& problem) {
  if (!problem) return;
  expect_printable(problem->type);
  expect_printable(problem->text);
  if (problem->text.size() > 64 * 1024) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto d = parse_directory(text)) {
    expect_https(d->new_nonce);
    expect_https(d->new_order);
    expect_https(d->renewal_info);
    expect_https(d->terms);
    if (d->new_nonce.empty() || d->new_account.empty()) std::abort();
  }
  if (const auto o = parse_order(text)) {
    for (const auto& url : o->authorizations) expect_https(url);
    expect_https(o->finalize);
    expect_https(o->certificate);
    look_at(o->error);
  }
  if (const auto a = parse_authorization(text)) {
    for (const auto& c : a->challenges) {
      expect_https(c.url);
      if (c.token.find('/') != c.token.npos || c.token.find('.') != c.token.npos) std::abort();
      look_at(c.error);
    }
  }
  if (const auto c = parse_challenge(text)) expect_https(c->url);
  if (const auto r = parse_renewal_info(text)) {
    if (r->end <= r->start) std::abort();
    expect_https(r->explanation);
  }
  [[maybe_unused]] const auto account = parse_account(text);
  look_at(parse_problem(text));
  return 0;
}
