# Files that are part of a program: each becomes a std::string_view with the file's own bytes.

# pqedge_embed(<target> HEADER <header> NAMESPACE <namespace> FILES <constant>=<path>...)
# <header>, as it is included, declares each constant as "extern const std::string_view <constant>;".
# A path is of text, relative to the source directory; those under node_modules are installed by
# `make deps`.
function(pqedge_embed target)
  cmake_parse_arguments(arg "" "HEADER;NAMESPACE" "FILES" ${ARGN})
  string(MAKE_C_IDENTIFIER "${arg_HEADER}" name)
  set(folder "${CMAKE_BINARY_DIR}/generated/embedded")
  foreach(entry IN LISTS arg_FILES)
    string(REGEX MATCH "^([A-Za-z0-9_]+)=(.+)$" matched "${entry}")
    if(NOT matched)
      message(FATAL_ERROR "pqedge_embed: '${entry}' is not CONSTANT=PATH")
    endif()
    set(constant "${CMAKE_MATCH_1}")
    set(path "${CMAKE_SOURCE_DIR}/${CMAKE_MATCH_2}")
    if(NOT EXISTS "${path}")
      message(FATAL_ERROR "${CMAKE_MATCH_2} is missing: 'make deps' installs what comes from npm")
    endif()
    # One source a file: a change of one recompiles that one.
    set(output "${folder}/${name}/${constant}.cc")
    add_custom_command(OUTPUT "${output}"
      COMMAND ${CMAKE_COMMAND}
        "-DINPUT=${path}" "-DOUTPUT=${output}" "-DCONSTANT=${constant}"
        "-DNAMESPACE=${arg_NAMESPACE}" "-DHEADER=${arg_HEADER}"
        -P "${CMAKE_SOURCE_DIR}/cmake/WriteEmbedded.cmake"
      DEPENDS "${path}" "${CMAKE_SOURCE_DIR}/cmake/WriteEmbedded.cmake"
      COMMENT "Embed ${CMAKE_MATCH_2}"
      VERBATIM)
    # Each by itself: all name the bytes alike.
    set_source_files_properties("${output}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_sources(${target} PRIVATE "${output}")
  endforeach()
endfunction()
