# Benchmark programs, built by the target bench_programs only:
#   bench/floor/*.cc           -> build/bench_floor
#   bench/micro/<x>_bench.cc   -> build/bench_<x>, with Google Benchmark

add_custom_target(bench_programs)
foreach(program pqedge pqload)
  if(TARGET ${program})
    add_dependencies(bench_programs ${program})
  endif()
endforeach()

function(pqedge_bench name)
  add_executable(${name} EXCLUDE_FROM_ALL ${ARGN})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}/bench")
  pqedge_link_modules(${name} WITHOUT measure)
  pqedge_link_allocator(${name})
  add_dependencies(bench_programs ${name})
endfunction()

file(GLOB floor_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/bench/floor/*.cc")
if(floor_sources)
  pqedge_bench(bench_floor ${floor_sources})
endif()

file(GLOB micro_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/bench/micro/*_bench.cc")
if(micro_sources)
  find_package(benchmark QUIET)
  if(NOT benchmark_FOUND)
    message(STATUS "Google Benchmark is missing, bench/micro is left out: 'make deps DEPS=bench' installs it")
    return()
  endif()
  foreach(source IN LISTS micro_sources)
    get_filename_component(name "${source}" NAME_WE)
    string(REGEX REPLACE "_bench$" "" name "${name}")
    pqedge_bench(bench_${name} "${source}")
    target_link_libraries(bench_${name} PRIVATE benchmark::benchmark_main benchmark::benchmark)
  endforeach()
endif()
