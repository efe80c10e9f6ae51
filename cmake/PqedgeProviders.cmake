# The cryptographic libraries that pqcost compares beside OpenSSL, each where it is found, and the C
# sources of the npm package pqclean. A library that is missing is named by the program, too
# (src/measure/provider/absent.cc).

# Each by itself: their headers do not bear one another (wolfSSL has macros of OpenSSL's names).
file(GLOB PQCOST_PROVIDER_SOURCES CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/measure/provider/*_*.cc")
set_source_files_properties(${PQCOST_PROVIDER_SOURCES} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# pqedge_provider(<name> <sources' beginning> [PACKAGE <pkg-config module>] [LIBRARY <name> HEADER <file>])
# Defines PQCOST_<NAME> for the module measure, or takes the sources away from it.
function(pqedge_provider name prefix)
  cmake_parse_arguments(arg "" "PACKAGE;LIBRARY;HEADER" "" ${ARGN})
  string(TOUPPER "${name}" upper)
  set(found FALSE)
  if(arg_PACKAGE)
    pkg_check_modules(pc_${name} QUIET IMPORTED_TARGET GLOBAL "${arg_PACKAGE}")
    if(TARGET PkgConfig::pc_${name})
      set(found TRUE)
      target_link_libraries(pqedge_measure PRIVATE PkgConfig::pc_${name})
    endif()
  else()
    find_library(PQCOST_${upper}_LIBRARY "${arg_LIBRARY}")
    find_path(PQCOST_${upper}_INCLUDE "${arg_HEADER}")
    mark_as_advanced(PQCOST_${upper}_LIBRARY PQCOST_${upper}_INCLUDE)
    if(PQCOST_${upper}_LIBRARY AND PQCOST_${upper}_INCLUDE)
      set(found TRUE)
      target_link_libraries(pqedge_measure PRIVATE "${PQCOST_${upper}_LIBRARY}")
    endif()
  endif()
  if(found)
    target_compile_definitions(pqedge_measure PRIVATE PQCOST_${upper})
    return()
  endif()
  if(PQEDGE_REQUIRE_TESTS)
    message(FATAL_ERROR "the library ${name} is missing: 'make deps' installs it")
  endif()
  message(STATUS "${name} is missing, pqcost does without it: 'make deps' installs it")
  pqedge_without("${prefix}")
endfunction()

function(pqedge_without prefix)
  get_target_property(sources pqedge_measure SOURCES)
  list(FILTER sources EXCLUDE REGEX "/measure/provider/${prefix}[^/]*\\.cc$")
  set_target_properties(pqedge_measure PROPERTIES SOURCES "${sources}")
endfunction()

pqedge_provider(botan botan_ PACKAGE "botan-3>=3.7")
pqedge_provider(wolfssl wolfssl_ PACKAGE "wolfssl>=5.7")
pqedge_provider(libgcrypt gcrypt_ PACKAGE "libgcrypt>=1.11")
pqedge_provider(libntruprime ntruprime_ LIBRARY ntruprime HEADER ntruprime.h)
target_link_libraries(pqedge_measure PRIVATE ${CMAKE_DL_LIBS})

# --- PQClean --------------------------------------------------------------------------------------

set(PQCLEAN_ROOT "${CMAKE_SOURCE_DIR}/node_modules/pqclean")
if(NOT EXISTS "${PQCLEAN_ROOT}/package.json")
  if(PQEDGE_REQUIRE_TESTS)
    message(FATAL_ERROR "node_modules is missing: 'make deps' installs it")
  endif()
  message(STATUS "node_modules is missing, pqcost does without PQClean: 'make deps' installs it")
  pqedge_without(pqclean_)
  return()
endif()

# The compiler of C that belongs to that of C++.
if(NOT CMAKE_C_COMPILER)
  string(REGEX REPLACE "clang\\+\\+" "clang" c_compiler "${CMAKE_CXX_COMPILER}")
  string(REGEX REPLACE "g\\+\\+" "gcc" c_compiler "${c_compiler}")
  set(CMAKE_C_COMPILER "${c_compiler}")
endif()
enable_language(C)
set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})

set(pqclean_sources "${PQCLEAN_ROOT}/deps/PQClean/common/fips202.c")
foreach(scheme
    kem/ml-kem-512 kem/ml-kem-768 kem/ml-kem-1024 kem/hqc-128 kem/hqc-192 kem/hqc-256
    sign/ml-dsa-44 sign/ml-dsa-65 sign/ml-dsa-87
    sign/falcon-512 sign/falcon-1024 sign/falcon-padded-512 sign/falcon-padded-1024)
  file(GLOB scheme_sources "${PQCLEAN_ROOT}/deps/PQClean/crypto_${scheme}/clean/*.c")
  list(APPEND pqclean_sources ${scheme_sources})
endforeach()

# With PQClean's own flags, whatever the build type, so that its figures are of one code. It is not
# our code: its warnings are off. Its names stay inside the program (fips202.c has common ones), and
# common/randombytes.c is replaced (pqclean_random.cc).
add_library(pqclean STATIC EXCLUDE_FROM_ALL ${pqclean_sources})
target_include_directories(pqclean PRIVATE "${PQCLEAN_ROOT}/deps/PQClean/common")
target_compile_options(pqclean PRIVATE -O3 -std=c99 -w -fPIE -fvisibility=hidden)

file(READ "${PQCLEAN_ROOT}/package.json" pqclean_package)
string(JSON pqclean_version GET "${pqclean_package}" version)
set_property(DIRECTORY "${CMAKE_SOURCE_DIR}" APPEND PROPERTY
             CMAKE_CONFIGURE_DEPENDS "${PQCLEAN_ROOT}/package.json")
target_compile_definitions(pqedge_measure PRIVATE
  PQCOST_PQCLEAN
  "PQCOST_PQCLEAN_VERSION=\"${pqclean_version}\""
  "PQCOST_PQCLEAN_COMPILER=\"${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}\"")
target_link_libraries(pqedge_measure PRIVATE pqclean)
