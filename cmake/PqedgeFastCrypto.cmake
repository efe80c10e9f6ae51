# build/pqedge-fast.so, once `make fast-crypto` has built AWS-LC's libcrypto (tools/fast_crypto.sh).
#
# AWS-LC's functions have OpenSSL's names. It is linked into the module whole, none of its names leaves
# it, and its headers are seen by one unit alone, which sees none of OpenSSL's.

set(PQEDGE_FAST_CRYPTO "${CMAKE_SOURCE_DIR}/build/fast-crypto" CACHE PATH
    "Where tools/fast_crypto.sh has put AWS-LC; without it there is no pqedge-fast.so")

if(PQEDGE_SANITIZER_OPTIONS OR NOT EXISTS "${PQEDGE_FAST_CRYPTO}/complete")
  return()
endif()
# As tools/fast_crypto.sh tells it.
if(NOT EXISTS "${PQEDGE_FAST_CRYPTO}/include/crypto/fipsmodule/ml_dsa/ml_dsa.h")
  message(WARNING "${PQEDGE_FAST_CRYPTO} is of an older version: run `make fast-crypto` again")
  return()
endif()

add_library(pqedge_fast_aws_lc OBJECT "${CMAKE_SOURCE_DIR}/src/fastcrypto/aws_lc.cc")
target_include_directories(pqedge_fast_aws_lc BEFORE PRIVATE
  "${PQEDGE_FAST_CRYPTO}/include" "${CMAKE_SOURCE_DIR}/src")

file(GLOB fast_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/fastcrypto/*.cc")
list(FILTER fast_sources EXCLUDE REGEX "/aws_lc\\.cc$")
add_library(pqedge_fast MODULE ${fast_sources} $<TARGET_OBJECTS:pqedge_fast_aws_lc>)
target_include_directories(pqedge_fast PRIVATE "${CMAKE_SOURCE_DIR}/src")

foreach(target pqedge_fast pqedge_fast_aws_lc)
  target_compile_features(${target} PRIVATE cxx_std_23)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wshadow -Werror -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti
    -fno-threadsafe-statics -fstack-protector-strong)
endforeach()
set_target_properties(pqedge_fast PROPERTIES
  PREFIX "" OUTPUT_NAME pqedge-fast SUFFIX ".so"
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}"
  LINK_DEPENDS "${CMAKE_SOURCE_DIR}/src/fastcrypto/exports.map")
target_link_options(pqedge_fast PRIVATE
  "-Wl,--version-script=${CMAKE_SOURCE_DIR}/src/fastcrypto/exports.map"
  -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=free  # memory.cc
  -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,--as-needed -Wl,--gc-sections -Wl,--no-undefined
  -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,nodelete)
target_link_libraries(pqedge_fast PRIVATE "${PQEDGE_FAST_CRYPTO}/lib/libcrypto.a" Threads::Threads)
add_dependencies(programs pqedge_fast)
