# sdx_isa_sources(<target> <file>...): compiles each *.isa.cpp once per ISA, in that ISA's namespace (SDX_ISA).
#
# A line per row of SDX_FOR_EACH_ISA (src/kernels/dispatch.h): its name and its flags. The flags are chosen for Highway:
# plain -mavx2 or -mavx512f make it select 16-byte vectors (see docs/architecture.md).
set(SDX_ISAS "baseline")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND SDX_ISAS "avx2 -march=x86-64-v3 -maes -mpclmul"
                       "avx512 -march=x86-64-v4 -maes -mpclmul")
endif()

# Vectors under the sanitizers of a fuzz build: unrolled tiles would compile six times as long with each access checked in
# place, pointers checked as well, and edges counted. The baseline's form of the same source has what the rest of the
# build has.
set(SDX_ISA_FUZZ_FLAGS -fno-sanitize=fuzzer-no-link,null,alignment,pointer-overflow,object-size,vptr
                       -mllvm -asan-instrumentation-with-call-threshold=0)

# Loops of float kernels gain from -O3 (1.6 % of 41 networks, up to 4 %). Integer tiles keep -O2: there the sums of a
# quantized MiniLM lose 4 %.
function(sdx_isa_sources target)
  foreach(file IN LISTS ARGN)
    if(file MATCHES "int8|clipped|nbits" AND CMAKE_BUILD_TYPE STREQUAL "Release")
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS -O2)
    endif()
  endforeach()
  foreach(line IN LISTS SDX_ISAS)
    separate_arguments(flags UNIX_COMMAND "${line}")
    list(POP_FRONT flags isa)
    add_library(${target}_${isa} OBJECT ${ARGN})
    target_include_directories(${target}_${isa} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target}_${isa} PRIVATE sdx::hwy)
    target_compile_options(${target}_${isa} PRIVATE ${flags} -ffp-contract=fast
                           -fopenmp-simd -fno-trapping-math -fno-math-errno)
    if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT SDX_FUZZ)
      target_compile_options(${target}_${isa} PRIVATE -O3)
    endif()
    if(SDX_FUZZ AND flags)
      target_compile_options(${target}_${isa} PRIVATE ${SDX_ISA_FUZZ_FLAGS})
    endif()
    target_compile_definitions(${target}_${isa} PRIVATE SDX_ISA=${isa})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
  endforeach()
endfunction()
