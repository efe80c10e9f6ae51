#include "measure/track/kex_exchange.h"

#include "measure/wire/ike_message.h"
#include "measure/wire/ssh_packet.h"
#include "measure/wire/tls_share.h"

namespace pqedge::measure {

namespace {

// A new key of one side, and its encoding.
Result<void> new_share(KeyAgreement& agreement, std::unique_ptr<AgreementKeyPair>& pair,
                       std::vector<uint8_t>& encoded) {
  auto made = agreement.generate();
  if (!made) return std::unexpected(made.error());
  pair = std::move(*made);
  auto bytes = pair->public_key();
  if (!bytes) return std::unexpected(bytes.error());
  encoded = std::move(*bytes);
  return {};
}

}  // namespace

Result<KexPrimitives> kex_primitives(const KexSuite& suite, Provider& provider) {
  KexPrimitives out;
  const auto missing = [&](std::string_view what) {
    return fail("{} does not offer {}", provider.facts().name, what);
  };
  if (!suite.kem.empty()) {
    out.kem = provider.kem(suite.kem);
    if (!out.kem) return missing(suite.kem);
  }
  if (!suite.classical.empty()) {
    out.agreement = provider.key_agreement(suite.classical);
    if (!out.agreement) return missing(suite.classical);
  }
  return out;
}

Result<std::shared_ptr<KexExchange>> KexExchange::make(const KexSuite& suite, Provider& provider) {
  auto with = kex_primitives(suite, provider);
  if (!with) return std::unexpected(with.error());
  auto exchange = std::make_shared<KexExchange>();
  exchange->with_ = std::move(*with);
  exchange->second_share_ = suite.second_share;
  return exchange;
}

Result<void> KexExchange::client_hello() {
  if (with_.kem) {
    auto pair = with_.kem->generate();
    if (!pair) return std::unexpected(pair.error());
    kem_pair_ = std::move(*pair);
    auto encoded = kem_pair_->public_key();
    if (!encoded) return std::unexpected(encoded.error());
    keys_.kem_public = std::move(*encoded);
  }
  if (with_.agreement) {
    auto done = new_share(*with_.agreement, client_, keys_.classical_client);
    if (!done) return done;
  }
  if (second_share_) return new_share(*with_.agreement, second_, second_public_);
  return {};
}

Result<void> KexExchange::server_answer() {
  if (with_.kem) {
    auto peer = with_.kem->parse_public(keys_.kem_public);
    if (!peer) return std::unexpected(peer.error());
    kem_peer_ = std::move(*peer);
    if (auto done = kem_peer_->encapsulate(keys_.kem_ciphertext, kem_server_); !done) return done;
  }
  if (!with_.agreement) return {};
  if (auto done = new_share(*with_.agreement, server_, keys_.classical_server); !done) return done;
  return server_->derive(keys_.classical_client, agreed_server_);
}

Result<void> KexExchange::client_finish() {
  if (with_.kem) {
    if (auto done = kem_pair_->decapsulate(keys_.kem_ciphertext, kem_client_); !done) return done;
  }
  if (with_.agreement) return client_->derive(keys_.classical_server, agreed_client_);
  return {};
}

Result<void> KexExchange::run() {
  if (auto done = client_hello(); !done) return done;
  if (auto done = server_answer(); !done) return done;
  return client_finish();
}

Result<void> KexExchange::check_and_clear() {
  if (kem_client_ != kem_server_ || agreed_client_ != agreed_server_) {
    return fail("client and server did not come to the same secret");
  }
  kem_pair_.reset();
  kem_peer_.reset();
  client_.reset();
  server_.reset();
  second_.reset();
  return {};
}

Result<WireFigures> KexExchange::wire(Track track, const KexSuite& suite) const {
  if (track == Track::ssh) return ssh_figures(keys_);
  if (track == Track::ipsec) return ike_figures(suite.code, suite.additional, keys_);
  const TlsShare second{kTlsX25519, second_public_};
  return tls_figures(suite.code, keys_, suite.second_share ? &second : nullptr);
}

Result<void> KexExchange::describe(Track track, const KexSuite& suite, SuiteRecord& record) {
  if (auto done = run(); !done) return done;
  const auto figures = wire(track, suite);
  if (!figures) return std::unexpected(figures.error());
  record.wire_bytes = figures->bytes;
  record.wire_details = figures->details;
  if (with_.kem) {
    record.sizes["kem_public_key"] = keys_.kem_public.size();
    record.sizes["kem_ciphertext"] = keys_.kem_ciphertext.size();
    record.sizes["kem_secret"] = kem_client_.size();
  }
  if (with_.agreement) {
    record.sizes["classical_public_key"] = keys_.classical_client.size();
    record.sizes["classical_secret"] = agreed_client_.size();
  }
  return check_and_clear();
}

}  // namespace pqedge::measure
