# sdx_isa_sources(<target> <file>...): compiles each *.isa.cpp once per ISA, in that ISA's namespace (SDX_ISA).
#
# The flags are chosen for Highway: plain -mavx2 or -mavx512f make it select 16-byte vectors (see docs/architecture.md).
set(SDX_ISA_LIST baseline)
set(SDX_ISA_FLAGS_baseline "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT SDX_FUZZ)  # tests/fuzz/one_isa.h says why
  set(SDX_ISA_LIST baseline avx2 avx512)
  set(SDX_ISA_FLAGS_avx2 -march=x86-64-v3 -maes -mpclmul)
  set(SDX_ISA_FLAGS_avx512 -march=x86-64-v4 -maes -mpclmul)
endif()

function(sdx_isa_sources target)
  foreach(isa IN LISTS SDX_ISA_LIST)
    add_library(${target}_${isa} OBJECT ${ARGN})
    target_include_directories(${target}_${isa} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target}_${isa} PRIVATE sdx::hwy)
    target_compile_options(${target}_${isa} PRIVATE ${SDX_ISA_FLAGS_${isa}} -ffp-contract=fast
                           -fopenmp-simd -fno-trapping-math -fno-math-errno)
    target_compile_definitions(${target}_${isa} PRIVATE SDX_ISA=${isa})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
  endforeach()
endfunction()
