// Names of TLS's numbers: those of crypto/code_names.h, which the edge uses too.
#pragma once

#include "crypto/code_names.h"

namespace pqedge::measure::live {

using crypto::alert_name;
using crypto::cipher_suite_name;
using crypto::compression_name;
using crypto::group_name;
using crypto::signature_scheme_name;

}  // namespace pqedge::measure::live
