// What a route asks of a request beyond its host and path (R1), compiled.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/message.h"
#include "net/address.h"
#include "route/pattern.h"
#include "route/settings.h"

namespace pqedge::route {

// A request as routes see it. Both outlive the look-up.
struct Subject {
  const http::Request& request;  // canonicalised
  std::string_view client_ip;    // of the client, behind trusted proxies; empty: not known
};

class Conditions {
 public:
  static Result<Conditions> compile(const RouteSettings& settings);

  bool empty() const {
    return methods_.empty() && headers_.empty() && query_.empty() && clients_.empty();
  }
  bool hold(const Subject& subject) const {
    return method_holds(subject) && headers_hold(subject) && query_holds(subject) &&
           client_holds(subject);
  }
  // Which does not hold, for people; empty when all do.
  std::string failed(const Subject& subject) const;

  // Of two routes with the same host and path the one that asks for more is looked at first. As the
  // Gateway API orders them: method, number of fields, number of parameters, client.
  struct Rank {
    bool method = false;
    size_t fields = 0;
    size_t parameters = 0;
    bool client = false;
    auto operator<=>(const Rank&) const = default;
  };
  Rank rank() const;

 private:
  struct Value {
    ValueMatch match;
    http::Name id = http::Name::other;  // of a field
    std::optional<Pattern> pattern;     // of a regex
    bool accepts(std::string_view value) const;
  };
  static Result<std::vector<Value>> compile(const std::vector<ValueMatch>& matches);
  static bool field_holds(const Value& value, const http::Fields& fields);
  static bool parameter_holds(const Value& value, const http::Request& request);
  bool method_holds(const Subject& subject) const;
  bool headers_hold(const Subject& subject) const;
  bool query_holds(const Subject& subject) const;
  bool client_holds(const Subject& subject) const;

  std::vector<std::string> methods_;
  std::vector<Value> headers_;
  std::vector<Value> query_;
  std::vector<net::Network> clients_;
};

// "is \"blue\"", "begins with \"v2\"", "is there": after the name of a field or parameter.
std::string to_text(const ValueMatch& match);

}  // namespace pqedge::route
