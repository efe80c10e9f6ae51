// The sections of the configuration file: which key goes into which setting.
#pragma once

#include "config/load.h"
#include "config/reader.h"

namespace pqedge::config {

// Reads the whole document into `out`. What is wrong goes into the table's problems.
void read_document(Table& root, Configuration& out);

}  // namespace pqedge::config
