// What of a request a pool chooses by, and whom its client is tied to.
#include <algorithm>

#include "upstream/pool.h"

namespace pqedge::upstream {
namespace {

constexpr Nanos kTieTtl = 3600 * kSecond;

}  // namespace

Nanos Pool::tie_ttl() const {
  return settings_->affinity_ttl != 0 ? settings_->affinity_ttl : kTieTtl;
}

void Pool::read_choice(const http::Request& request, std::string_view client_ip,
                       Choice& choice) const {
  choice = {};
  const PoolSettings& s = *settings_;
  if (s.balance == Balance::hash) {
    choice.key = key_hash(s.hash_by, request, client_ip);
    choice.keyed = choice.key != 0;
  }
  if (s.affinity.kind == KeySource::Kind::none) return;
  if (ties_ == nullptr) {
    const std::string_view value = cookie_value(request.fields, s.affinity.name);
    if (!value.empty()) choice.tied_to = member_of_cookie(value, wall_now() / kSecond);
    return;
  }
  read_tie(key_hash(s.affinity, request, client_ip), choice);
}

void Pool::read_choice(const net::Address& client, Choice& choice) const {
  choice = {};
  if (settings_->balance == Balance::hash &&
      settings_->hash_by.kind == KeySource::Kind::client_ip) {
    choice.key = address_hash(client);
    choice.keyed = true;
  }
  if (settings_->affinity.kind == KeySource::Kind::client_ip) {
    read_tie(address_hash(client), choice);
  }
}

void Pool::read_tie(uint64_t key, Choice& choice) const {
  if (key == 0) return;
  choice.tie_key = key;
  choice.tied_to = ties_->find(key, owner_.loop_.now(), tie_ttl());
}

std::string_view Pool::tie_cookie(const Choice& choice, const ServerState* server, bool secure,
                                  Arena& arena) const {
  if (settings_->affinity.kind != KeySource::Kind::cookie || server == nullptr) return {};
  const auto it =
      std::ranges::find_if(*members_, [&](const Member& m) { return m.state.get() == server; });
  if (it == members_->end() || it->id == choice.tied_to) return {};
  // Its own server was only busy: the client goes back there.
  const size_t tied = choice.tied_to == 0 ? Balancer::kNone : balancer_.find(choice.tied_to);
  if (tied != Balancer::kNone && may_take_tied(tied, choice)) return {};
  return make_tie_cookie(settings_->affinity.name, it->id, settings_->affinity_ttl,
                         wall_now() / kSecond, secure, arena);
}

// A server that is drained still serves the clients that it has.
bool Pool::may_take_tied(size_t at, const Choice& choice) const {
  const ServerState& server = *(*members_)[at].state;
  return !choice.avoids(&server) && server.standing(owner_.loop_.now()).use != Standing::Use::no;
}

size_t Pool::claim(size_t candidate, const Choice& choice) {
  const Nanos now = owner_.loop_.now();
  const uint64_t id = (*members_)[candidate].id;
  const uint64_t holder = ties_->claim(choice.tie_key, id, choice.tied_to, now, tie_ttl());
  if (holder == id) return candidate;
  // Another request of the client was faster.
  const size_t at = balancer_.find(holder);
  if (at != Balancer::kNone && may_take_tied(at, choice)) return at;
  ties_->claim(choice.tie_key, id, holder, now, tie_ttl());
  return candidate;
}

}  // namespace pqedge::upstream
