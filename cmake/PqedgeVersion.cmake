# "base/version.h", generated. The header never changes; the commit and the flags are in a source
# file of its own that is rewritten only when they changed, so that a commit recompiles one small
# file.

set(PQEDGE_GENERATED "${CMAKE_BINARY_DIR}/generated")
configure_file("${CMAKE_SOURCE_DIR}/cmake/version.h.in" "${PQEDGE_GENERATED}/base/version.h" @ONLY)

string(TOUPPER "${CMAKE_BUILD_TYPE}" _build_type)
get_target_property(_flags pqedge_flags INTERFACE_COMPILE_OPTIONS)
string(JOIN " " _flags ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${_build_type}} -std=c++23 ${_flags})

set(_version_command
  ${CMAKE_COMMAND}
  -DSOURCE_DIR=${CMAKE_SOURCE_DIR}
  -DVERSION=${PROJECT_VERSION}
  -DFLAGS=${_flags}
  -DOUTPUT=${PQEDGE_GENERATED}/base/version.cc
  -P ${CMAKE_SOURCE_DIR}/cmake/WriteVersion.cmake)
execute_process(COMMAND ${_version_command} COMMAND_ERROR_IS_FATAL ANY)
add_custom_target(pqedge_write_version
  COMMAND ${_version_command}
  BYPRODUCTS "${PQEDGE_GENERATED}/base/version.cc"
  COMMENT "Version"
  VERBATIM)

add_library(pqedge_version STATIC "${PQEDGE_GENERATED}/base/version.cc")
add_dependencies(pqedge_version pqedge_write_version)
target_include_directories(pqedge_version PUBLIC "${PQEDGE_GENERATED}")
target_link_libraries(pqedge_version PRIVATE pqedge_flags)
