#pragma once

namespace pqedge {

// Gives the kernel back what this thread has freed and its allocator keeps for later. For a thread
// that has let go of much at once, and has time.
void give_back_memory();

}  // namespace pqedge
