// The answers to the challenges of one order: shown, and taken away when it ends, however it ends.
#pragma once

#include <string>
#include <vector>

#include "jobs/acme/order.h"

namespace pqedge::acme {

class ShownChallenges {
 public:
  ShownChallenges(Session& session, Responder& responder)
      : session_(session), responder_(responder) {}
  ~ShownChallenges();
  ShownChallenges(const ShownChallenges&) = delete;
  ShownChallenges& operator=(const ShownChallenges&) = delete;

  // `token` is of the configured kind of challenge.
  Result<void> show(const std::string& name, const std::string& token);

 private:
  struct Shown {
    std::string name;
    std::string token;
    std::string value;  // of the TXT record
  };
  Result<void> change_record(const Shown& one, bool add) const;

  Session& session_;
  Responder& responder_;
  std::vector<Shown> shown_;
};

std::string_view to_text(Challenge challenge);  // "http-01"

}  // namespace pqedge::acme
