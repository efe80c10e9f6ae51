# Modules (src/<name>/, one static library each) and programs (src/programs/<name>.cc).

find_package(PkgConfig REQUIRED)

set(PQEDGE_OPENSSL_PREFIX "" CACHE PATH
    "Build against the OpenSSL in this folder and not the system's (tools/openssl4.sh makes one)")
if(PQEDGE_OPENSSL_PREFIX)
  set(ENV{PKG_CONFIG_PATH} "${PQEDGE_OPENSSL_PREFIX}/lib/pkgconfig:$ENV{PKG_CONFIG_PATH}")
  # What OpenSSL 4 calls deprecated has no other name in 3.5.
  target_compile_options(pqedge_flags INTERFACE -Wno-deprecated-declarations)
endif()

set(PQEDGE_MODULES "" CACHE INTERNAL "modules declared so far, in the order of includes")

# ngtcp2's helper is a shared library over the system's libssl: over another OpenSSL it is linked
# statically, and its names stay in the program (libcurl has the shared one).
function(pqedge_static_ngtcp2_crypto target)
  find_library(PQEDGE_NGTCP2_CRYPTO_OSSL_STATIC libngtcp2_crypto_ossl.a REQUIRED)
  mark_as_advanced(PQEDGE_NGTCP2_CRYPTO_OSSL_STATIC)
  set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES
    "${PQEDGE_NGTCP2_CRYPTO_OSSL_STATIC};PkgConfig::pc_libngtcp2;PkgConfig::pc_openssl")
  target_link_options(${target} INTERFACE -Wl,--exclude-libs,libngtcp2_crypto_ossl.a)
endfunction()

# The imported target of a pkg-config module, which may carry a minimum: "libfoo>=1.2".
function(pqedge_package out requirement)
  string(REGEX REPLACE "[^A-Za-z0-9_].*" "" name "${requirement}")
  if(NOT TARGET PkgConfig::pc_${name})
    pkg_check_modules(pc_${name} QUIET IMPORTED_TARGET GLOBAL "${requirement}")
    if(NOT TARGET PkgConfig::pc_${name})
      message(FATAL_ERROR "the library ${requirement} is missing: 'make deps' installs it")
    endif()
    # pkg-config's "-isystem DIR" comes back in another place when CMake reads it from its cache,
    # and everything would be compiled again after the second run of cmake.
    get_target_property(options PkgConfig::pc_${name} INTERFACE_COMPILE_OPTIONS)
    if(options MATCHES "-isystem")
      list(REMOVE_ITEM options -isystem)
      set(folders ${options})
      list(FILTER folders INCLUDE REGEX "^/")
      list(FILTER options EXCLUDE REGEX "^/")
      set_target_properties(PkgConfig::pc_${name} PROPERTIES INTERFACE_COMPILE_OPTIONS "${options}")
      target_include_directories(PkgConfig::pc_${name} SYSTEM INTERFACE ${folders})
    endif()
    if(PQEDGE_OPENSSL_PREFIX AND name STREQUAL "libngtcp2_crypto_ossl")
      pqedge_static_ngtcp2_crypto(PkgConfig::pc_${name})
    endif()
  endif()
  set(${out} PkgConfig::pc_${name} PARENT_SCOPE)
endfunction()

# Most of a file's compile time goes into the headers that it includes: files of one target that are
# compiled as one unit share them. OFF compiles each by itself, which shows an include that is missing.
option(PQEDGE_UNITY "Compile several files of a target as one unit" ON)
function(pqedge_unity target files)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${PQEDGE_UNITY}
    UNITY_BUILD_BATCH_SIZE ${files})
endfunction()

# pqedge_module(<name> [OVER <module>...] [PACKAGES <pkg-config module>...] [LIBRARIES <target>...])
# Everything under src/<name>/ becomes pqedge_<name>, linked to all modules declared before it, or
# only to those after OVER.
# A module without sources yet is an interface library.
function(pqedge_module name)
  cmake_parse_arguments(arg "" "" "OVER;PACKAGES;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${name}/*.cc")
  if(sources)
    add_library(pqedge_${name} STATIC ${sources})
    pqedge_unity(pqedge_${name} 10)
    target_link_libraries(pqedge_${name} PRIVATE pqedge_flags)
    set(scope PUBLIC)
  else()
    add_library(pqedge_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(pqedge_${name} ${scope} "${CMAKE_SOURCE_DIR}/src")
  # Nearest first: static libraries are searched in the order of the command line.
  set(before ${PQEDGE_MODULES})
  if(arg_OVER)
    set(before ${arg_OVER})
  endif()
  list(REVERSE before)
  list(TRANSFORM before PREPEND pqedge_)
  target_link_libraries(pqedge_${name} ${scope} ${before} ${arg_LIBRARIES})
  foreach(requirement IN LISTS arg_PACKAGES)
    pqedge_package(package "${requirement}")
    target_link_libraries(pqedge_${name} ${scope} ${package})
  endforeach()
  set(PQEDGE_MODULES "${PQEDGE_MODULES};${name}" CACHE INTERNAL "")
  list(REMOVE_ITEM PQEDGE_MODULES "")
  set(PQEDGE_MODULES "${PQEDGE_MODULES}" CACHE INTERNAL "")
endfunction()

# pqedge_link_modules(<target> [WITHOUT <module>...])
# Links all modules, less those, to a program, a fuzz target or a benchmark.
function(pqedge_link_modules target)
  cmake_parse_arguments(arg "" "" "WITHOUT" ${ARGN})
  set(all ${PQEDGE_MODULES})
  if(arg_WITHOUT)
    list(REMOVE_ITEM all ${arg_WITHOUT})
  endif()
  list(REVERSE all)
  list(TRANSFORM all PREPEND pqedge_)
  target_link_libraries(${target} PRIVATE pqedge_flags ${all})
endfunction()

# The allocator replaces malloc by being loaded; nothing refers to it, so --as-needed would drop it.
# Sanitizers bring their own.
if(NOT PQEDGE_SANITIZER_OPTIONS)
  find_package(mimalloc REQUIRED)
endif()
function(pqedge_link_allocator target)
  if(NOT PQEDGE_SANITIZER_OPTIONS)
    target_link_libraries(${target} PRIVATE
      -Wl,--push-state,--no-as-needed mimalloc -Wl,--pop-state)
  endif()
endfunction()

# What `make build` builds.
add_custom_target(programs)

# pqedge_program(<name> [WITHOUT <module>...])
# A program, if its source is there: build/<name> from src/programs/<name>.cc, and from the folder
# src/programs/<name>/ where there is one.
function(pqedge_program name)
  file(GLOB source CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/programs/${name}.cc"
       "${CMAKE_SOURCE_DIR}/src/programs/${name}/*.cc")
  if(NOT source)
    return()
  endif()
  file(GLOB_RECURSE more CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/programs/${name}/*.cc")
  add_executable(${name} ${source} ${more})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/src")
  pqedge_package(cli11 CLI11)
  target_link_libraries(${name} PRIVATE ${cli11})
  pqedge_link_modules(${name} ${ARGN})
  pqedge_link_allocator(${name})
  add_dependencies(programs ${name})
endfunction()
