// Measured figures by name, each with the place in a record that it comes from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/record/record.h"

namespace pqedge::measure {

struct Figure {
  double value = 0;
  std::string source;  // "tracks.tls.X25519.server.mean_us of record 0123abcd, OpenSSL 3.5.9, ..."
};

// Looks through several records, the last one given first. A figure that none holds is an error
// that says how to measure it; so is one that was withheld, unless that is allowed.
class Figures {
 public:
  Figures(std::vector<Record> records, std::string provider, bool allow_withheld);

  // A key exchange of the tls track: mean microseconds of the server, or of both sides.
  Result<Figure> exchange_server(std::string_view group) const;
  Result<Figure> exchange(std::string_view group) const;
  // Mean microseconds of "Sign" or "Verify" with a key named as chains and tokens name it.
  Result<Figure> signature(std::string_view key, std::string_view phase) const;
  // Mean microseconds to encrypt one byte of a full record with AES-256-GCM.
  Result<Figure> encrypt_byte() const;

  struct Flight {
    const ChainRecord* chain;
    const FlightRecord* flight;
    std::string source;
  };
  // `client_certificate`: of the same chain on both sides.
  Result<Flight> flight(std::string_view chain, std::string_view transport, std::string_view group,
                        bool client_certificate) const;

  struct Token {
    const TokenRecord* token;
    std::string source;
  };
  Result<Token> token(std::string_view name) const;

 private:
  struct Found {
    const Record* record = nullptr;
    const SuiteRecord* suite = nullptr;
  };
  Result<Found> suite(std::string_view track, std::string_view name) const;

  std::vector<Record> records_;
  std::string provider_;
  bool allow_withheld_;
};

// Letters and digits alone, in lower case: "ECDSA-P256" and "ECDSA P-256" are one name.
std::string plain_name(std::string_view name);

}  // namespace pqedge::measure
