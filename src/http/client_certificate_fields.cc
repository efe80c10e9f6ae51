#include "http/client_certificate_fields.h"

#include <algorithm>

#include "http/names.h"
#include "http/protected_names.h"

namespace pqedge::http {
namespace {

constexpr std::array<std::string_view, 8> kKeys = {"verify", "subject",     "issuer",      "san",
                                                   "serial", "fingerprint", "certificate", "chain"};

// A byte sequence of RFC 8941 3.3.5, as RFC 9440 2.2 and 2.3 have it.
std::string_view chain_text(const net::ClientCertificate& client, Arena& arena) {
  size_t size = 0;
  for (const std::string& one : client.chain) size += one.size() + 4;
  char* const text = static_cast<char*>(arena.allocate(size));
  char* p = text;
  const auto put = [&](std::string_view part) { p = std::ranges::copy(part, p).out; };
  for (const std::string& one : client.chain) {
    put(p == text ? ":" : ", :");
    put(one);
    put(":");
  }
  return {text, static_cast<size_t>(p - text)};
}

}  // namespace

bool ClientCertificateFields::is_one(std::string_view name) const {
  return std::ranges::any_of(all(), [&](std::string_view ours) {
    return ours.size() == name.size() && folds_alike(ours, name);
  });
}

// The texts live as long as the connection; the request may live longer: they are copied.
void add_client_certificate_fields(Request& request, const net::ConnectionFacts& facts,
                                   const ClientCertificateFields& names) {
  if (!facts.client_asked) return;
  Arena& arena = *request.arena;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!name.empty() && !value.empty()) request.fields.push({.name = name, .value = value});
  };
  const net::ClientCertificate* client = facts.client.get();
  if (client == nullptr) return add(names.verify, "NONE");
  add(names.verify,
      client->verified ? std::string_view("SUCCESS") : arena.concat("FAILED:", client->failure));
  add(names.subject, arena.copy(client->subject));
  add(names.issuer, arena.copy(client->issuer));
  add(names.san, arena.copy(client->sans));
  add(names.serial, arena.copy(client->serial));
  add(names.fingerprint, arena.copy(client->fingerprint));
  if (!names.certificate.empty()) add(names.certificate, arena.concat(":", client->der, ":"));
  if (!names.chain.empty() && !client->chain.empty()) add(names.chain, chain_text(*client, arena));
}

Problems validate(const ClientCertificateFields& names) {
  Problems out;
  const auto all = names.all();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].empty()) continue;
    const std::string key = "client_certificate_fields." + std::string(kKeys[i]);
    const Protection protection = protection_of(all[i]);
    if (!is_token(all[i])) {
      out.push_back({key, in_quotes(all[i]) + " is not the name of a field"});
    } else if (known_name(all[i]) != Name::other || protection == Protection::exact) {
      out.push_back({key, in_quotes(all[i]) + " has a meaning of its own",
                     "take another name, or leave the key out for the usual one"});
    }
    for (size_t earlier = 0; earlier < i; ++earlier) {
      if (all[earlier].size() == all[i].size() && folds_alike(all[earlier], all[i])) {
        out.push_back({key, in_quotes(all[i]) + " is there twice", "",
                       "client_certificate_fields." + std::string(kKeys[earlier])});
      }
    }
  }
  return out;
}

}  // namespace pqedge::http
