# Run at every build: cmake -DSOURCE_DIR= -DVERSION= -DFLAGS= -DOUTPUT= -P WriteVersion.cmake

execute_process(
  COMMAND git --no-optional-locks -c safe.directory=${SOURCE_DIR} describe --always --dirty --abbrev=12 --exclude=*
  WORKING_DIRECTORY ${SOURCE_DIR}
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_QUIET RESULT_VARIABLE result)
if(NOT result EQUAL 0 OR commit STREQUAL "")
  set(commit unknown)
endif()

file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "base/version.h"

namespace pqedge {

std::string_view version() { return "@VERSION@"; }
std::string_view git_commit() { return "@commit@"; }
std::string_view compiler_flags() { return "@FLAGS@"; }

}  // namespace pqedge
]])
