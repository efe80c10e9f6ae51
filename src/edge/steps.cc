// Reads top to bottom as the life of a request.
#include "edge/steps.h"

#include <array>
#include <format>

#include "base/memory.h"
#include "edge/client_steps.h"
#include "edge/connection_steps.h"
#include "edge/exchange.h"
#include "edge/listener_view.h"
#include "edge/tunnel_steps.h"
#include "edge/worker.h"

namespace pqedge::edge {
namespace {

constexpr std::string_view kMethods = "GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH";

Verdict refuse(Exchange& x, const http::Refusal& refusal) {
  x.answer(refusal.status, refusal.reason);
  return Verdict::answered;
}

// ---- before the route --------------------------------------------------------------------------

// While what runs may have the rest of the memory (base/memory.h).
Verdict memory_left(Exchange& x) {
  if (!memory::refusing()) [[likely]]
    return Verdict::next;
  x.answer(503, "the process is out of memory");
  return Verdict::answered;
}

// The same rules for every version: Host against :authority, lengths, forbidden fields.
Verdict frame(Exchange& x) {
  if (const auto ok = http::check_request(x.request()); !ok) return refuse(x, ok.error());
  return Verdict::next;
}

Verdict method(Exchange& x) {
  switch (x.request().method) {
    case http::Method::trace: {
      // It would send credentials back to scripts.
      Exchange::Fixed fixed{.status = 405, .body = "405 Method Not Allowed\n", .allow = kMethods};
      x.answer_with(fixed, "TRACE is not served");
      return Verdict::answered;
    }
    default: return Verdict::next;
  }
}

Verdict canonicalise(Exchange& x) {
  if (const auto ok = http::canonicalise(x.request()); !ok) return refuse(x, ok.error());
  return Verdict::next;
}

Verdict identify(Exchange& x) {
  const http::IdentitySettings& settings = x.snapshot().settings.identity;
  x.identity() = http::identify(x.request(), x.facts(), settings);
  if (http::is_loop(x.request(), settings)) {
    x.answer(508, "the request has passed this proxy before (Via)");
    return Verdict::answered;
  }
  return Verdict::next;
}

const counters::Counter kChallengesAnswered("pqedge_acme_challenges_answered_total",
                                            "Requests that got the answer to an ACME challenge.");

// RFC 8555 8.3, before any redirect or route. A token that is not ours may be a backend's.
Verdict acme_challenge(Exchange& x) {
  constexpr std::string_view kPrefix = "/.well-known/acme-challenge/";
  const ChallengeAnswers* answers = x.worker().challenge_answers();
  if (answers == nullptr || !x.request().path.starts_with(kPrefix)) return Verdict::next;
  const auto answer = answers->find(x.request().path.substr(kPrefix.size()));
  if (answer == answers->end()) return Verdict::next;
  kChallengesAnswered.add();
  x.answer_with({.status = 200,
                 .body = x.arena().copy(answer->second),
                 .content_type = "application/octet-stream"},
                "ACME challenge");
  return Verdict::answered;
}

Verdict redirect(Exchange& x, uint16_t port) {
  const http::Request& r = x.request();
  if (r.host.empty() || r.target.empty() || r.target.front() != '/') {
    x.answer(400, "no host to redirect to");
    return Verdict::answered;
  }
  std::string_view suffix;
  if (port != 443) {
    char text[8];
    const auto end = std::format_to_n(text, sizeof text, ":{}", port).out;
    suffix = x.arena().copy({text, static_cast<size_t>(end - text)});
  }
  Exchange::Fixed fixed;
  fixed.status = 308;
  fixed.body = "308 Permanent Redirect\n";
  fixed.location = x.arena().concat("https://", r.host, suffix, r.target);
  x.answer_with(fixed, "redirected to https");
  return Verdict::answered;
}

// A plain listener that only sends people to https.
Verdict listener_redirect(Exchange& x) {
  const ListenerView& listener = x.listener();
  if (!listener.settings.redirect_to_https) return Verdict::next;
  if (!listener.redirects(x.request().host)) {
    x.answer(421, "the host is not one that this listener redirects");
    return Verdict::answered;
  }
  return redirect(x, listener.settings.redirect_port);
}

Verdict match(Exchange& x) {
  x.match();
  return Verdict::next;
}

constexpr std::array kBeforeRoute = {
    Step{"memory", memory_left},
    Step{"frame", frame},
    Step{"method", method},
    Step{"canonicalise", canonicalise},
    Step{"scheme", check_scheme},
    Step{"identify", identify},
    Step{"ACME challenge", acme_challenge},
    Step{"key exchange", check_key_exchange},
    Step{"listener redirect", listener_redirect},
    Step{"early data", check_early_data},
    Step{"match", match},
    Step{"tunnel", check_tunnel},
    Step{"TLS policy of the host", check_tls_policy},
};

Verdict match_stream(Exchange& x) {
  x.match_stream();
  if (x.plan().settings != nullptr) return Verdict::next;
  x.answer(503, "the listener is no longer configured");
  return Verdict::answered;
}

constexpr std::array kBeforeStream = {
    Step{"memory", memory_left},
    Step{"identify", identify},
    Step{"key exchange", check_key_exchange},
    Step{"early data", check_early_data},
    Step{"match", match_stream},
    Step{"TLS policy of the host", check_tls_policy},
};

// ---- the route's own ---------------------------------------------------------------------------

Verdict encoded_slash(Exchange& x) {
  if (x.request().path.find("%2F") == std::string_view::npos) return Verdict::next;
  x.answer(400, "the route takes no encoded slash");
  return Verdict::answered;
}

// Counted as limits.max_head is (RFC 9113 10.5.1).
Verdict head_size(Exchange& x) {
  size_t size = 0;
  x.request().fields.for_each(
      [&](const http::Field& f) { size += f.name.size() + f.value.size() + 32; });
  if (size <= x.plan().settings->max_head) return Verdict::next;
  x.answer(431, "header section larger than the route takes");
  return Verdict::answered;
}

Verdict body_size(Exchange& x) {
  const http::Request& r = x.request();
  if (x.body_received() > x.plan().max_body) {  // it came while the request waited
    x.answer(413, "request body larger than the limit");
    return Verdict::answered;
  }
  if (r.body != http::BodyKind::length || r.content_length <= x.plan().max_body) {
    return Verdict::next;
  }
  x.answer(413, "content-length larger than the limit");
  return Verdict::answered;
}

// RFC 9110 7.6.2: with no hops left the request is ours to answer.
Verdict max_forwards(Exchange& x) {
  if (http::take_hop(x.request())) return Verdict::next;
  x.answer_with({.status = 200, .body = "", .allow = kMethods}, "Max-Forwards reached 0");
  return Verdict::answered;
}

Verdict fixed_answer(Exchange& x) {
  const uint16_t status = x.plan().settings->answer_status;
  const RouteShape& shape = *x.plan().shape;
  if (shape.answer_body.empty() && x.answer_page(status, "fixed answer", false)) {
    return Verdict::answered;
  }
  x.answer_with({.status = status, .body = shape.answer_body, .content_type = shape.answer_type},
                "fixed answer");
  return Verdict::answered;
}

Verdict redirect_to(Exchange& x) {
  const route::Redirect& redirect = *x.plan().shape->redirect;
  const auto location = redirect.location(x.scene(redirect.status()));
  if (!location) return refuse(x, location.error());
  const std::string_view phrase = http::reason_phrase(redirect.status());
  x.answer_with(
      {.status = redirect.status(), .body = x.arena().concat(phrase, "\n"), .location = *location},
      "redirected");
  return Verdict::answered;
}

Verdict choose_canary(Exchange& x) {
  x.choose_side();
  return Verdict::next;
}

Verdict redirect_https(Exchange& x) { return redirect(x, x.plan().settings->redirect_port); }

Verdict early_hints(Exchange& x) {
  x.send_early_hints();
  return Verdict::next;
}

Verdict forward(Exchange& x) {
  x.forward();
  return Verdict::answered;
}

Verdict not_found(Exchange& x) {
  // `OPTIONS *` asks about the server as a whole (RFC 9110 9.3.7).
  if (x.request().method == http::Method::options && x.request().target == "*") {
    x.answer_with({.status = 200, .body = "", .allow = kMethods}, "OPTIONS *");
  } else {
    x.answer(404, "no route");
  }
  return Verdict::answered;
}

}  // namespace

std::span<const Step> steps_before_route() { return kBeforeRoute; }

std::span<const Step> steps_before_stream() { return kBeforeStream; }

std::vector<Step> steps_of_stream() { return {{"forward", forward}}; }

std::vector<Step> compile_steps(const route::RouteSettings& route) {
  std::vector<Step> steps;
  if (route.wants_client()) steps.push_back({"client certificate", check_client});
  if (route.encoded_slash == http::EncodedSlash::refuse) {
    steps.push_back({"encoded slash", encoded_slash});
  }
  if (route.max_head != 0) steps.push_back({"header size", head_size});
  if (route.redirect_https) {
    steps.push_back({"redirect", redirect_https});
  } else if (!route.redirect.to.empty()) {
    steps.push_back({"redirect", redirect_to});
  } else if (route.answer_status != 0) {
    steps.push_back({"fixed answer", fixed_answer});
  } else {
    steps.push_back({"body size", body_size});
    steps.push_back({"max forwards", max_forwards});
    if (route.canary.on()) steps.push_back({"canary", choose_canary});
    if (!route.early_hints.empty()) steps.push_back({"early hints", early_hints});
    steps.push_back({"forward", forward});
  }
  return steps;
}

std::vector<Step> steps_without_route() { return {{"not found", not_found}}; }

}  // namespace pqedge::edge
