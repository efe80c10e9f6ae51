// The tracks as data: which suites there are, what each is made of, and which phases an exchange
// has, how often and on which side (M1 to M5, M23). How they are timed is in work.h and runner.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pqedge::measure {

enum class Track : uint8_t { tls, ssh, ipsec, signatures, bulk };

inline constexpr Track kTracks[] = {Track::tls, Track::ssh, Track::ipsec, Track::signatures,
                                    Track::bulk};

std::string_view track_name(Track track);   // "tls"
std::string_view track_title(Track track);  // "TLS 1.3 key exchange"
std::optional<Track> track_of(std::string_view name);

// ---- phases -------------------------------------------------------------------------------------

enum class Step : uint8_t {
  kem_keygen,
  kem_encapsulate,
  kem_decapsulate,
  classical_keygen,
  classical_derive,
  second_share_keygen,
  keygen,
  sign,
  verify,
  encrypt,
  decrypt,
};

enum class Side : uint8_t { client, server, both };
std::string_view side_name(Side side);

struct PhasePlan {
  Step step;
  std::string_view name;
  Side side;        // both: half of the weight each
  unsigned weight;  // how often one exchange does it
};

// A KEM is asymmetric: who speaks first makes the key and decapsulates. In a Diffie-Hellman
// exchange each of the two makes a key and derives the secret: twice in all.
inline constexpr PhasePlan kKemPhases[] = {
    {Step::kem_keygen, "KEM keygen", Side::client, 1},
    {Step::kem_encapsulate, "KEM encapsulate", Side::server, 1},
    {Step::kem_decapsulate, "KEM decapsulate", Side::client, 1},
};
inline constexpr PhasePlan kClassicalPhases[] = {
    {Step::classical_keygen, "Classical keygen", Side::both, 2},
    {Step::classical_derive, "Classical derive", Side::both, 2},
};
// A client that sends a classical share too, for servers without the hybrid, makes one key more,
// and nobody derives from it (aws/s2n-tls#5989 asks what it costs).
inline constexpr PhasePlan kSecondSharePhases[] = {
    {Step::second_share_keygen, "Second share keygen", Side::client, 1},
};
inline constexpr PhasePlan kSignaturePhases[] = {
    {Step::keygen, "Keygen", Side::server, 1},
    {Step::sign, "Sign", Side::server, 1},
    {Step::verify, "Verify", Side::client, 1},
};
inline constexpr PhasePlan kBulkPhases[] = {
    {Step::encrypt, "Encrypt", Side::both, 1},
    {Step::decrypt, "Decrypt", Side::both, 1},
};

// ---- key exchange -------------------------------------------------------------------------------

struct KexSuite {
  std::string_view name;       // as the protocol's registry spells it
  std::string_view classical;  // the primitives' names; empty: no such part
  std::string_view kem;
  uint16_t code = 0;        // TLS group, IKEv2 transform ID of the first exchange; SSH has none
  uint16_t additional = 0;  // IKEv2: of the exchange by IKE_INTERMEDIATE
  bool baseline = false;
  bool second_share = false;
  std::string_view note;
};

// The baseline comes first. Only tls, ssh and ipsec have such suites.
std::span<const KexSuite> kex_suites(Track track);
std::vector<PhasePlan> phases_of(const KexSuite& suite);
std::string_view family_of(const KexSuite& suite);

// ---- one primitive a suite ----------------------------------------------------------------------

struct PrimitiveSuite {
  std::string_view name;  // of the primitive too
  bool baseline = false;
  std::string_view note;
};

std::span<const PrimitiveSuite> signature_suites();
std::span<const PrimitiveSuite> bulk_suites();

// Of a selection by name, case ignored; an empty one is all. Baselines belong to each.
bool selected(std::span<const std::string> selection, std::string_view suite, bool baseline);

// Whether a selected suite of the track is made of this primitive.
struct Algorithm;
bool uses(Track track, std::span<const std::string> selection, const Algorithm& algorithm);

// Names of all suites of the track.
std::vector<std::string_view> suite_names(Track track);

}  // namespace pqedge::measure
