// What HTTP/1 connections had to refuse or give up.
#pragma once

#include <cstdint>

#include "base/counters.h"

namespace pqedge::http1::counters {

using pqedge::counters::Counter;

// Requests that the codec refused, by the status given.
const Counter& refused(uint16_t status);

extern const Counter lingering_closes;  // connections read and dropped after an early answer
extern const Counter linger_overruns;   // of them: closed with the peer still sending
extern const Counter send_timeouts;     // clients that took nothing for too long
extern const Counter broken_answers;    // answers cut off visibly
extern const Counter bad_responses;     // answers of backends that were no valid HTTP/1
extern const Counter stray_responses;   // bytes of backends that answered nothing

}  // namespace pqedge::http1::counters
