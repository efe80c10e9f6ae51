// Who allocates in pqedge gets its memory by the rules of base/memory.h: our own code through
// operator new, which is replaced here, and OpenSSL.
#pragma once

namespace pqedge {

// First of all in main(): OpenSSL takes other functions only before it has allocated anything.
void start_allocation();

}  // namespace pqedge
