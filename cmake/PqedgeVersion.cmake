# "base/version.h", generated. The header never changes; the commit is in a source file of its own
# that is rewritten only when the commit changed, so that a commit recompiles one small file.

set(PQEDGE_GENERATED "${CMAKE_BINARY_DIR}/generated")
configure_file("${CMAKE_SOURCE_DIR}/cmake/version.h.in" "${PQEDGE_GENERATED}/base/version.h" @ONLY)

set(_version_command
  ${CMAKE_COMMAND}
  -DSOURCE_DIR=${CMAKE_SOURCE_DIR}
  -DVERSION=${PROJECT_VERSION}
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
