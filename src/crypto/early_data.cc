#include "crypto/early_data.h"

#include <openssl/sha.h>

#include <algorithm>
#include <string>

#include "base/bytes.h"
#include "base/counters.h"

namespace pqedge::crypto {
namespace {

// In the order of EarlyDataVerdict; `none` stands for what OpenSSL refused by itself.
constexpr std::string_view kResults[] = {"other_session",  "accepted", "off",      "client_auth",
                                         "foreign_ticket", "changed",  "replayed", "full"};
static_assert(std::size(kResults) == static_cast<size_t>(EarlyDataVerdict::full) + 1);

struct EarlyDataCounters {
  std::array<std::array<counters::Counter, std::size(kResults)>, 2> by_result;  // [QUIC]
  EarlyDataCounters() {
    for (const bool quic : {false, true}) {
      for (size_t i = 0; i < std::size(kResults); ++i) {
        by_result[quic ? 1 : 0][i] = counters::Counter(
            "pqedge_tls_early_data_total", "TLS handshakes with early data, by what was said of it",
            {{"result", std::string(kResults[i])}, {"transport", quic ? "quic" : "tcp"}});
      }
    }
  }
};
const EarlyDataCounters early_data_counters;

void count(const SessionState& state, EarlyDataVerdict verdict) {
  const bool quic = state.facts->transport == net::Transport::quic;
  early_data_counters.by_result[quic ? 1 : 0][static_cast<size_t>(verdict)].add();
}

ReplayStore& replays(const Policy& policy) {
  return policy.tickets->replays(policy.settings.early_data.replay_entries);
}

// Nothing before the client's Finished may pass for the owner of a certificate.
bool has_client_auth(SSL* ssl, const SSL_SESSION* session) {
  return SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE ||
         SSL_SESSION_get0_peer(const_cast<SSL_SESSION*>(session)) != nullptr;
}

EarlyDataVerdict judge(SSL* ssl, const SessionState& state, const Policy& policy) {
  if (!policy.settings.early_data.on) return EarlyDataVerdict::off;
  SSL_SESSION* session = SSL_get_session(ssl);
  if (session == nullptr || !state.ticket_opened) return EarlyDataVerdict::none;
  if (has_client_auth(ssl, session)) return EarlyDataVerdict::client_auth;
  void* data = nullptr;
  size_t size = 0;
  const EarlyDataMark mark = early_data_mark(ssl, policy);
  if (SSL_SESSION_get0_ticket_appdata(session, &data, &size) != 1 || size < 1 + mark.size()) {
    return EarlyDataVerdict::foreign_ticket;
  }
  const auto* bytes = static_cast<const uint8_t*>(data);
  const size_t half = sizeof(ReplayStore::Id);
  if (bytes[0] != kTicketDataVersion || !std::equal(mark.begin(), mark.begin() + half, bytes + 1)) {
    return EarlyDataVerdict::foreign_ticket;
  }
  if (!std::equal(mark.begin() + half, mark.end(), bytes + 1 + half)) {
    return EarlyDataVerdict::changed;
  }
  switch (replays(policy).use(state.ticket_id)) {
    case ReplayStore::Verdict::fresh: return EarlyDataVerdict::accepted;
    case ReplayStore::Verdict::used: return EarlyDataVerdict::replayed;
    case ReplayStore::Verdict::full: break;
  }
  return EarlyDataVerdict::full;
}

}  // namespace

EarlyDataMark early_data_mark(SSL* ssl, const Policy& policy) {
  EarlyDataMark mark{};
  const auto end = std::ranges::copy(replays(policy).id(), mark.begin()).out;
  if (const SessionState* state = session_of(ssl); state != nullptr) {
    // OpenSSL keeps the server name with a session only where it is asked to choose by it.
    std::string text(as_text(state->endpoint_digest));
    text += state->facts->sni;
    std::array<uint8_t, SHA256_DIGEST_LENGTH> digest;
    SHA256(as_bytes(text).data(), text.size(), digest.data());
    std::copy_n(digest.begin(), mark.end() - end, end);
  }
  return mark;
}

bool set_early_data(SSL_CTX* context, const Policy& policy, bool quic) {
  const EarlyDataSettings& settings = policy.settings.early_data;
  if (!settings.on) return true;
  replays(policy);  // its memory is taken now, not within a handshake
  // OpenSSL's own guard against replays needs its cache of sessions, which no two contexts share.
  SSL_CTX_set_options(context, SSL_OP_NO_ANTI_REPLAY);
  SSL_CTX_set_allow_early_data_cb(context, on_early_data, nullptr);
  // On QUIC it is switched on for each SSL, with the size that RFC 9001 4.6.1 asks for.
  if (quic) return true;
  // What is refused is read over, as far as a client can send on older tickets or by its default.
  const uint32_t skipped = std::max<uint32_t>(settings.max_bytes, SSL3_RT_MAX_PLAIN_LENGTH);
  return SSL_CTX_set_max_early_data(context, settings.max_bytes) == 1 &&
         SSL_CTX_set_recv_max_early_data(context, skipped) == 1;
}

int on_early_data(SSL* ssl, void*) {
  SessionState* state = session_of(ssl);
  const Policy* policy = policy_of(ssl);
  if (state == nullptr || policy == nullptr) return 0;
  const EarlyDataVerdict verdict = judge(ssl, *state, *policy);
  state->early_data = verdict;
  if (verdict != EarlyDataVerdict::none) count(*state, verdict);
  return verdict == EarlyDataVerdict::accepted ? 1 : 0;
}

int do_handshake(SSL* ssl) {
  int result = SSL_do_handshake(ssl);
  if (result == 1 && SSL_get_state(ssl) == TLS_ST_EARLY_DATA) result = SSL_do_handshake(ssl);
  return result;
}

void note_early_data(SSL* ssl, const SessionState& state, net::ConnectionFacts& facts) {
  const int status = SSL_get_early_data_status(ssl);
  facts.early_data = status == SSL_EARLY_DATA_ACCEPTED;
  facts.early_data_refused = status == SSL_EARLY_DATA_REJECTED;
  if (facts.early_data_refused && state.early_data == EarlyDataVerdict::none) {
    count(state, EarlyDataVerdict::none);
  }
}

}  // namespace pqedge::crypto
