// One ClientHello of our own, and what the server says to it.
#pragma once

#include "probe/dial.h"
#include "probe/flight.h"
#include "probe/hello.h"

namespace pqedge::probe {

// How the hello is delivered.
enum class Delivery : uint8_t {
  whole,
  segments,  // in two TCP segments, the second after the first was acknowledged
  records,   // in two TLS records (RFC 8446 5.1 allows it)
};

// Opens a connection, sends the hello, reads up to the ServerHello or what came instead, closes.
Answer ask(Dialer& dialer, const HelloShape& shape, Delivery delivery = Delivery::whole);

// A hello for TLS 1.3 that asks for everything the probe knows, with the options' server name.
HelloShape modern_hello(const Options& options);
// The same for one older version.
HelloShape old_hello(const Options& options, uint16_t version);

}  // namespace pqedge::probe
