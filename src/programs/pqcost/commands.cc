#include "programs/pqcost/commands.h"

#include <array>

namespace pqedge::pqcost {

// One line each, with the declaration of its function; the file is named after the command.

namespace {

constexpr std::array<Command, 0> kCommands{};

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace pqedge::pqcost
