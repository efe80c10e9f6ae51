// pqedge explain: which route takes a request, and why no other does (R1).
#pragma once

#include <string>
#include <vector>

namespace pqedge {

struct ExplainOptions {
  std::string config;  // empty: the embedded default
  std::string method;
  std::string url;
  std::vector<std::string> fields;  // "Name: value"
  std::string client = "192.0.2.1";
};

// Exit status: 0 a route takes it, 3 none does, 1 the configuration or the request is no good.
int explain(const ExplainOptions& options);

}  // namespace pqedge
