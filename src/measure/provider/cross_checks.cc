// Providers with themselves and with each other.
#include <format>

#include "measure/provider/catalogue.h"
#include "measure/provider/known_answers.h"

namespace pqedge::measure {

namespace {

using Buffer = std::vector<uint8_t>;

constexpr std::string_view kMessage = "The cost of a signature is measured, not guessed.";

#define PQCOST_TRY(name, expression)                                 \
  auto name##_result = (expression);                                 \
  if (!name##_result) return std::unexpected(name##_result.error()); \
  auto& name = *name##_result

Result<void> expect_length(size_t got, size_t expected, std::string_view what) {
  if (got != expected)
    return fail("{} of {} bytes, where the standard has {}", what, got, expected);
  return {};
}

// The KEM of `receiver` has the key, that of `sender` encapsulates to it.
Result<void> check_kem(Kem& receiver, Kem& sender, Sizes sizes) {
  PQCOST_TRY(pair, receiver.generate());
  PQCOST_TRY(encoded, pair->public_key());
  if (auto ok = expect_length(encoded.size(), sizes.public_key, "a public key"); !ok) return ok;
  PQCOST_TRY(key, sender.parse_public(encoded));
  Buffer ciphertext, sent, received, first;
  for (int round = 0; round < 2; ++round) {  // handles are used again
    if (auto ok = key->encapsulate(ciphertext, sent); !ok) return ok;
    if (auto ok = expect_length(ciphertext.size(), sizes.output, "a ciphertext"); !ok) return ok;
    if (auto ok = expect_length(sent.size(), sizes.secret, "a secret"); !ok) return ok;
    if (auto ok = pair->decapsulate(ciphertext, received); !ok) return ok;
    if (sent != received) return fail("the two sides have different secrets");
    if (sent == first) return fail("two encapsulations gave one secret");
    first = sent;
  }
  ciphertext.front() ^= 1;
  if (pair->decapsulate(ciphertext, received) && sent == received) {
    return fail("a changed ciphertext gives the same secret");
  }
  return {};
}

Result<void> check_agreement(KeyAgreement& one, KeyAgreement& other, Sizes sizes) {
  PQCOST_TRY(mine, one.generate());
  PQCOST_TRY(theirs, other.generate());
  PQCOST_TRY(my_public, mine->public_key());
  PQCOST_TRY(their_public, theirs->public_key());
  if (auto ok = expect_length(my_public.size(), sizes.public_key, "a public key"); !ok) return ok;
  if (my_public == their_public) return fail("two keys are equal");
  Buffer my_secret, their_secret;
  for (int round = 0; round < 2; ++round) {
    if (auto ok = mine->derive(their_public, my_secret); !ok) return ok;
    if (auto ok = theirs->derive(my_public, their_secret); !ok) return ok;
    if (my_secret != their_secret) return fail("the two sides have different secrets");
  }
  return expect_length(my_secret.size(), sizes.secret, "a secret");
}

Result<void> check_signature(Signature& signer, Signature& verifier, const CatalogueEntry& entry) {
  PQCOST_TRY(pair, signer.generate());
  PQCOST_TRY(encoded, pair->public_key());
  // A modulus is as long as it should be, but for its first bits nothing says so.
  if (auto ok = expect_length(encoded.size(), entry.sizes.public_key, "a public key"); !ok) {
    return ok;
  }
  PQCOST_TRY(key, verifier.parse_public(encoded));
  // A signature of the small sets of SLH-DSA takes up to a second or more, and their vectors are
  // signatures already.
  bool hash_based = entry.family == Family::hash_based;
  if (hash_based && entry.name.ends_with('s')) return {};
  int rounds = hash_based ? 1 : 2;  // twice shows that handles can be used again
  Buffer signature;
  for (int round = 0; round < rounds; ++round) {
    if (auto ok = pair->sign(as_bytes(kMessage), signature); !ok) return ok;
    if (entry.output_varies ? signature.size() > entry.sizes.output
                            : signature.size() != entry.sizes.output) {
      return fail("a signature of {} bytes, where the standard has {}{}", signature.size(),
                  entry.output_varies ? "at most " : "", entry.sizes.output);
    }
    PQCOST_TRY(fits, key->verify(as_bytes(kMessage), signature));
    if (!fits) return fail("the signature is refused");
    if (key->verify(as_bytes(kMessage.substr(1)), signature).value_or(false)) {
      return fail("the signature fits another message");
    }
  }
  signature[signature.size() / 2] ^= 1;
  if (key->verify(as_bytes(kMessage), signature).value_or(false)) {
    return fail("a changed signature is accepted");
  }
  return {};
}

Result<void> check_aead(Aead& aead) {
  Buffer plaintext(1000, uint8_t{'x'}), sealed, again, opened;
  Bytes associated = as_bytes("associated");
  if (auto ok = aead.seal(plaintext, associated, again); !ok) return ok;
  if (auto ok = aead.seal(plaintext, associated, sealed); !ok) return ok;
  if (sealed == again) return fail("two records have one nonce");
  if (auto ok = expect_length(sealed.size(), plaintext.size() + 16, "a sealed text"); !ok) {
    return ok;
  }
  for (int round = 0; round < 2; ++round) {
    if (auto ok = aead.open(sealed, associated, opened); !ok) return ok;
    if (opened != plaintext) return fail("another text is opened than was sealed");
  }
  sealed.front() ^= 1;
  if (aead.open(sealed, associated, opened)) return fail("a changed text is opened");
  return {};
}

constexpr HybridParts kHybrids[] = {
    {"X25519MLKEM768", "ML-KEM-768", "X25519", true},
    {"SecP256r1MLKEM768", "ML-KEM-768", "P-256", false},
    {"SecP384r1MLKEM1024", "ML-KEM-1024", "P-384", false},
};

Buffer join(const HybridParts& parts, const Buffer& kem, const Buffer& agreement) {
  Buffer all = parts.kem_first ? kem : agreement;
  const auto& rest = parts.kem_first ? agreement : kem;
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

// The KEM's part of `all` and the curve's.
std::pair<Bytes, Bytes> split(const HybridParts& parts, Bytes all, size_t kem_length) {
  if (parts.kem_first) return {all.first(kem_length), all.subspan(kem_length)};
  return {all.last(kem_length), all.first(all.size() - kem_length)};
}

}  // namespace

Result<void> check_alone(Provider& provider, const Algorithm& algorithm) {
  if (algorithm.kind != Kind::aead) return check_together(provider, provider, algorithm);
  auto aead = provider.aead(algorithm.name);
  if (!aead) return fail("the provider does not make it");
  return check_aead(*aead);
}

Result<void> check_together(Provider& one, Provider& other, const Algorithm& algorithm) {
  const auto& entry = *find_algorithm(algorithm.name);
  auto both_ways = [&](auto&& check) -> Result<void> {
    if (auto ok = check(one, other); !ok) return ok;
    return &one == &other ? Result<void>{} : check(other, one);
  };
  switch (entry.kind) {
    case Kind::kem:
      return both_ways([&](Provider& receiver, Provider& sender) -> Result<void> {
        auto receiving = receiver.kem(entry.name);
        auto sending = sender.kem(entry.name);
        if (!receiving || !sending) return fail("the provider does not make it");
        return check_kem(*receiving, *sending, entry.sizes);
      });
    case Kind::key_agreement: {
      auto mine = one.key_agreement(entry.name);
      auto theirs = other.key_agreement(entry.name);
      if (!mine || !theirs) return fail("the provider does not make it");
      return check_agreement(*mine, *theirs, entry.sizes);
    }
    case Kind::signature:
      return both_ways([&](Provider& signer, Provider& verifier) -> Result<void> {
        auto signing = signer.signature(entry.name);
        auto verifying = verifier.signature(entry.name);
        if (!signing || !verifying) return fail("the provider does not make it");
        return check_signature(*signing, *verifying, entry);
      });
    case Kind::aead: return fail("keys of two providers cannot be put together");
  }
  return fail("unknown kind");
}

const HybridParts* parts_of(std::string_view hybrid) {
  for (const auto& parts : kHybrids) {
    if (hybrid == parts.hybrid) return &parts;
  }
  return nullptr;
}

Result<void> check_hybrid(Provider& provider, const HybridParts& parts, Provider& kem_provider,
                          Provider& agreement_provider) {
  auto hybrid = provider.kem(parts.hybrid);
  auto kem = kem_provider.kem(parts.kem);
  auto agreement = agreement_provider.key_agreement(parts.agreement);
  if (!hybrid || !kem || !agreement) return fail("the provider does not make it");
  auto kem_sizes = kem->sizes();

  // The hybrid encapsulates to a key of two parts.
  PQCOST_TRY(kem_pair, kem->generate());
  PQCOST_TRY(curve_pair, agreement->generate());
  PQCOST_TRY(kem_public, kem_pair->public_key());
  PQCOST_TRY(curve_public, curve_pair->public_key());
  PQCOST_TRY(key, hybrid->parse_public(join(parts, kem_public, curve_public)));
  Buffer ciphertext, secret, kem_secret, curve_secret;
  if (auto ok = key->encapsulate(ciphertext, secret); !ok) return ok;
  auto [kem_ciphertext, curve_share] = split(parts, ciphertext, kem_sizes.output);
  if (auto ok = kem_pair->decapsulate(kem_ciphertext, kem_secret); !ok) return ok;
  if (auto ok = curve_pair->derive(curve_share, curve_secret); !ok) return ok;
  if (secret != join(parts, kem_secret, curve_secret)) {
    return fail("its encapsulation is not that of its parts");
  }

  // Two parts encapsulate to a key of the hybrid.
  PQCOST_TRY(pair, hybrid->generate());
  PQCOST_TRY(encoded, pair->public_key());
  auto [kem_part, curve_part] = split(parts, encoded, kem_sizes.public_key);
  PQCOST_TRY(kem_key, kem->parse_public(kem_part));
  Buffer part_ciphertext;
  if (auto ok = kem_key->encapsulate(part_ciphertext, kem_secret); !ok) return ok;
  if (auto ok = curve_pair->derive(curve_part, curve_secret); !ok) return ok;
  if (auto ok = pair->decapsulate(join(parts, part_ciphertext, curve_public), secret); !ok) {
    return ok;
  }
  if (secret != join(parts, kem_secret, curve_secret)) {
    return fail("its decapsulation is not that of its parts");
  }
  return {};
}

#undef PQCOST_TRY

}  // namespace pqedge::measure
