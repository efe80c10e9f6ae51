# Compiler and linker flags of everything that is ours, as the target pqedge_flags.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

set(PQEDGE_SANITIZE "" CACHE STRING "Sanitizers to build with: empty, address or thread")
set_property(CACHE PQEDGE_SANITIZE PROPERTY STRINGS "" address thread)
option(PQEDGE_FUZZ "Build the fuzz targets for libFuzzer (Clang only)" OFF)
set(PQEDGE_MARCH "" CACHE STRING "Value of -march, empty for the compiler's own baseline")

# Symbols enough for a profile or a backtrace. The flags of CMake's build types are replaced, not
# extended, so that NDEBUG is ours to decide.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")

add_library(pqedge_flags INTERFACE)
target_compile_features(pqedge_flags INTERFACE cxx_std_23)
target_compile_options(pqedge_flags INTERFACE
  -Wall -Wextra -Wshadow -Werror
  # Designated initialisers leave out what has a default: that is what they are for.
  -Wno-missing-field-initializers
  -fno-omit-frame-pointer
  -fstack-protector-strong
  -fPIE)
target_link_options(pqedge_flags INTERFACE
  -pie
  -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack
  # A module's libraries are named where it is declared; a program that uses none of one's code
  # should not load it.
  -Wl,--as-needed)

find_package(Threads REQUIRED)
target_link_libraries(pqedge_flags INTERFACE Threads::Threads)

if(PQEDGE_MARCH)
  target_compile_options(pqedge_flags INTERFACE -march=${PQEDGE_MARCH})
endif()

if(PQEDGE_SANITIZE STREQUAL "address")
  set(PQEDGE_SANITIZER_OPTIONS -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(PQEDGE_SANITIZE STREQUAL "thread")
  set(PQEDGE_SANITIZER_OPTIONS -fsanitize=thread)
elseif(PQEDGE_SANITIZE)
  message(FATAL_ERROR "PQEDGE_SANITIZE is '${PQEDGE_SANITIZE}': it may be empty, address or thread")
endif()

if(PQEDGE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "PQEDGE_FUZZ needs Clang: use 'cmake --preset fuzz'")
  endif()
  list(APPEND PQEDGE_SANITIZER_OPTIONS -fsanitize=fuzzer-no-link)
endif()

if(PQEDGE_SANITIZER_OPTIONS)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -g1")
  target_compile_options(pqedge_flags INTERFACE ${PQEDGE_SANITIZER_OPTIONS})
  target_link_options(pqedge_flags INTERFACE ${PQEDGE_SANITIZER_OPTIONS})
  target_compile_definitions(pqedge_flags INTERFACE _GLIBCXX_ASSERTIONS)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumentation makes GCC see paths that are not there.
    target_compile_options(pqedge_flags INTERFACE
      -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow -Wno-restrict
      -Wno-null-dereference)
  endif()
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(pqedge_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  message(FATAL_ERROR "GCC 14 or newer is needed, this is ${CMAKE_CXX_COMPILER_VERSION}. "
                      "Use 'make build', or 'cmake --preset release'.")
endif()

# One cache for all build directories and clones: paths under the source tree are made relative, so
# that a second clone finds what the first compiled.
find_program(PQEDGE_CCACHE ccache)
mark_as_advanced(PQEDGE_CCACHE)
if(PQEDGE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${PQEDGE_CCACHE})
endif()
