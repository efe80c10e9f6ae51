// A request on its connection, as templates, rules and rewrites see it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "http/uri.h"
#include "route/template.h"

namespace pqedge::route {

struct TestScene {
  explicit TestScene(std::string_view target = "/a/b?x=1",
                     std::string_view authority = "A.test:8443")
      : request(arena) {
    request.method = http::Method::get;
    request.method_text = "GET";
    request.version = http::Version::http2;
    request.scheme = "https";
    request.authority = authority;
    request.target = target;
    good = http::canonicalise(request).has_value();
    facts.peer = *net::Address::parse("192.0.2.7:5000");
    facts.local = *net::Address::parse("192.0.2.9:443");
    facts.transport = net::Transport::tls;
    facts.tls_version = "TLSv1.3";
    facts.group = "X25519MLKEM768";
    facts.cipher = "TLS_AES_256_GCM_SHA384";
    facts.alpn = "h2";
    facts.sni = "a.test";
    facts.post_quantum = true;
    identity.client_ip = "198.51.100.4";
    identity.request_id = "id-1";
  }
  Scene scene() {
    return {.request = request, .facts = facts, .identity = identity, .arena = arena};
  }
  // "name: value" lines in their order.
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    request.fields.for_each([&](const http::Field& f) {
      all.push_back(std::string(f.name) + ": " + std::string(f.value));
    });
    return all;
  }

  Arena arena;
  http::Request request;
  net::ConnectionFacts facts;
  http::Identity identity;
  bool good = false;
};

}  // namespace pqedge::route
