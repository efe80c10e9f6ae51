// An input of the targets that play both ends of an exchange, from its first byte to the last look.
#pragma once

#include "base/bytes.h"
#include "base/chunk.h"
#include "fuzz/exchange/message.h"
#include "fuzz/exchange/script.h"
#include "fuzz/exchange/world.h"

namespace pqedge::fuzz {

// A `Run` is made of the byte of choices, plays one step after the other, and judges at the end.
template <typename Run>
void play_input(Bytes input) {
  if (input.empty() || input.size() > 16 * 1024) return;
  World::instance();
  const size_t chunks = Chunk::live();
  {
    Run run(input[0]);
    for (const ScriptStep& step : read_script(as_text(input.subspan(1)))) run.play(step);
    run.finish();
  }
  require(Chunk::live() == chunks, "no chunk is left behind");
}

}  // namespace pqedge::fuzz
