// What an exchange keeps of a gRPC call (P13).
#pragma once

#include "http/grpc.h"
#include "http/grpc_web.h"

namespace pqedge::edge {

struct GrpcCall {
  explicit GrpcCall(http::GrpcKind k) : kind(k) {}

  http::GrpcKind kind;      // as the client speaks it
  bool answered = false;    // the backend's answer is one of gRPC
  bool expired = false;     // its deadline has passed
  Nanos timeout = 0;        // of grpc-timeout; 0: it has none
  http::Base64Stream text;  // of the request's body

  // A client of gRPC-Web: what goes to the backend is gRPC.
  bool translates() const { return kind != http::GrpcKind::grpc; }
  bool as_text() const { return kind == http::GrpcKind::web_text; }
};

}  // namespace pqedge::edge
