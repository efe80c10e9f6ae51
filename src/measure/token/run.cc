#include <format>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "measure/provider/registry.h"
#include "measure/token/documented_limits.h"
#include "measure/token/field_cost.h"
#include "measure/token/jws.h"
#include "measure/token/request_forms.h"
#include "measure/token/token.h"

namespace pqedge::measure {
namespace {

// The claims of the reference figures (Q-Advantage, benchmark/protocols/jose_composed.py): issuer,
// subject, audience, times, scope and identifier, as an OAuth access token carries them.
constexpr std::string_view kClaims =
    R"({"iss":"https://issuer.example","sub":"01J0000000000000000000000",)"
    R"("aud":"https://api.example","exp":1893456000,"iat":1893452400,)"
    R"("scope":"read:metrics write:metrics","jti":"00000000-0000-4000-8000-000000000000"})";
static_assert(kClaims.size() == 210);

// A key of another library.
class ProviderSigner : public TokenSigner {
 public:
  ProviderSigner(std::unique_ptr<Signature> scheme, std::unique_ptr<SignatureKeyPair> key)
      : scheme_(std::move(scheme)), key_(std::move(key)) {}

  Result<std::vector<uint8_t>> sign(Bytes message) override {
    std::vector<uint8_t> signature;
    if (auto made = key_->sign(message, signature); !made) return std::unexpected(made.error());
    return signature;
  }

  Result<bool> verify(Bytes message, Bytes signature) override {
    const auto encoded = key_->public_key();
    if (!encoded) return std::unexpected(encoded.error());
    const auto verifier = scheme_->parse_public(*encoded);
    if (!verifier) return std::unexpected(verifier.error());
    return (*verifier)->verify(message, signature);
  }

 private:
  std::unique_ptr<Signature> scheme_;
  std::unique_ptr<SignatureKeyPair> key_;
};

struct Source {
  std::unique_ptr<TokenSigner> signer;
  std::string provider;
};

// Falcon with signatures of one length is preferred: a token's size is then no matter of luck.
Result<Source> falcon(const Registry* registry) {
  if (registry == nullptr) return fail("no library for it was asked");
  for (const char* name : {"Falcon-512 padded (round 3)", "Falcon-512 (round 3)"}) {
    for (Provider* provider : registry->offering(name)) {
      auto scheme = provider->signature(name);
      if (scheme == nullptr) continue;
      auto key = scheme->generate();
      if (!key) return std::unexpected(key.error());
      const ProviderFacts facts = provider->facts();
      return Source{std::make_unique<ProviderSigner>(std::move(scheme), std::move(*key)),
                    std::format("signed by {} {}, {}", facts.name, facts.version, name)};
    }
  }
  return fail("no library here signs with Falcon-512");
}

Result<Source> source_of(const JoseAlgorithm& algorithm, const Registry* registry) {
  if (algorithm.key == "Falcon-512") return falcon(registry);
  auto signer = new_openssl_signer(algorithm);
  if (!signer) return std::unexpected(signer.error());
  return Source{std::move(*signer), {}};
}

Result<void> count_fields(const std::string& token, TokenRecord& record) {
  const std::string bearer = "Bearer " + token;
  const std::string cookie = "token=" + token;
  const auto note = [&record](const char* name, const Result<FieldCost>& cost) -> Result<void> {
    if (!cost) return std::unexpected(cost.error());
    record.first_request[name] = cost->first;
    record.following_request[name] = cost->following;
    return {};
  };
  const std::pair<const char*, Result<FieldCost>> costs[] = {
      {"hpack", hpack_cost("authorization", bearer)},
      {"hpack cookie", hpack_cost("cookie", cookie)},
      {"hpack if indexed", hpack_cost_if_indexed(bearer)},
      {"qpack", qpack_cost("authorization", bearer, 0)},
      {"qpack table 4096", qpack_cost("authorization", bearer, kHeaderTable)},
      {"qpack table 4096, asked to index", qpack_cost("authorization", bearer, kHeaderTable, true)},
      {"qpack cookie, table 4096", qpack_cost("cookie", cookie, kHeaderTable)},
  };
  for (const auto& [name, cost] : costs) {
    if (auto noted = note(name, cost); !noted) return noted;
  }
  return {};
}

void judge(TokenRecord& record) {
  for (const DocumentedLimit& limit : documented_limits()) {
    const bool fits = bytes_against(limit.counted, record.total) <= limit.bytes;
    (fits ? record.fits_in : record.too_large_for).emplace_back(limit.name);
  }
  const RequestForms forms(record.total);
  record.forms = {
      {"authorization line", forms.authorization_line()},
      {"cookie line", forms.cookie_line()},
      {"cookie name and value", forms.cookie_pair()},
      {"request line, token in the query", forms.request_line()},
      {"whole HTTP/1.1 head", forms.whole_head()},
      {"HTTP/2 field list", forms.field_list()},
      {"two such tokens in one head", forms.whole_head() + forms.cookie_line()},
  };
}

Result<TokenRecord> run_one(const JoseAlgorithm& algorithm, const TokenRunOptions& options) {
  auto source = source_of(algorithm, options.registry);
  if (!source) return std::unexpected(source.error());
  const auto token = sign_token(*source->signer, algorithm.alg, options.claims);
  if (!token) return std::unexpected(token.error());
  TokenRecord record;
  record.algorithm = algorithm.shown;
  record.registered = algorithm.registered;
  record.note = algorithm.note;
  if (!source->provider.empty()) record.note += "; " + source->provider;
  record.header = token->header.size();
  record.payload = token->payload.size();
  record.signature = token->signature.size();
  record.signature_raw = token->signature_raw;
  const std::string compact = token->compact();
  record.total = compact.size();
  if (auto counted = count_fields(compact, record); !counted) {
    return std::unexpected(counted.error());
  }
  judge(record);
  return record;
}

void add_documented_limits(Record& record) {
  if (!record.documented_limits.empty()) return;
  for (const DocumentedLimit& limit : documented_limits()) {
    record.documented_limits.push_back({.name = std::string(limit.name),
                                        .bytes = limit.bytes,
                                        .counts = std::string(counted_text(limit.counted)),
                                        .answer = std::string(limit.answer),
                                        .source = std::string(limit.source)});
  }
}

}  // namespace

std::string_view default_token_claims() { return kClaims; }

Result<void> run_tokens(const TokenRunOptions& options, Record& record) {
  if (options.claims.empty()) return fail("a token has claims: '{{}}' at least");
  record.token_claims = options.claims;
  add_documented_limits(record);
  size_t done = 0;
  std::optional<double> baseline;
  for (const JoseAlgorithm& algorithm : jose_algorithms()) {
    if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) {
      record.complete = false;
      return {};
    }
    if (options.progress) options.progress(done, jose_algorithms().size(), algorithm.shown);
    ++done;
    auto made = run_one(algorithm, options);
    if (!made) {
      record.absent.push_back({"", "token " + std::string(algorithm.shown), made.error().message});
      continue;
    }
    if (algorithm.alg == "ES256") baseline = static_cast<double>(made->total);
    if (!baseline) return fail("no ES256 token could be made to compare with");
    made->multiple_of_es256 = static_cast<double>(made->total) / *baseline;
    record.tokens.push_back(std::move(*made));
  }
  return {};
}

}  // namespace pqedge::measure
