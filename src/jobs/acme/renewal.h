// When a certificate is renewed, and when a failure is tried again. Pure functions of the time and
// of a random number in [0, 1), so that they can be tested.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "jobs/acme/messages.h"

namespace pqedge::acme {

// By share of the lifetime: with `percent_left` of it left, and up to a twentieth of that earlier,
// so that certificates made together are not renewed together. Unix seconds.
double renewal_by_share(int64_t not_before, int64_t not_after, uint32_t percent_left,
                        double random);

// A moment of the CA's window (RFC 9773 4.2); in the past: at once, but for a jitter that grows
// with the lifetime up to a minute, since a CA that withdraws many says so to many.
double renewal_by_window(const RenewalInfo& info, int64_t not_before, int64_t not_after, double now,
                         double random);

// After the n-th failure in a row (from 1): the least, doubled with each, at most the most; then
// between half and all of it. Not sooner than the CA asked for.
Nanos back_off(uint32_t failures, Nanos least, Nanos most, Nanos retry_after, double random);

// How long until the CA is asked about renewal again: what it said, within a minute and a day
// (RFC 9773 4.3.2); six hours when it said nothing.
Nanos next_poll(Nanos retry_after);

// A CA whose window for each new certificate is in the past again would be asked for ever: seconds
// from one renewal for the window's sake to the next.
double between_windows(int64_t not_before, int64_t not_after);

double random_unit();

}  // namespace pqedge::acme
