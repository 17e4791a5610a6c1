# Compiler cache, precompiled headers, fast linker, warnings and sanitizers: what every target of the project shares.
find_program(SDX_CCACHE ccache)
if(SDX_CCACHE AND CMAKE_HOST_UNIX)
  set(SDX_CCACHE_COMMAND ${CMAKE_CURRENT_LIST_DIR}/cached_compiler.sh ${SDX_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SDX_CCACHE_COMMAND})
  set(CMAKE_C_COMPILER_LAUNCHER ${SDX_CCACHE_COMMAND})
endif()

# sdx_precompile(<target> <header>...): reads these headers once for all of the target's files, and with them what nearly
# every file includes anyway. Each file still names what it needs: -DSDX_PRECOMPILED_HEADERS=OFF finds what is missing.
option(SDX_PRECOMPILED_HEADERS "Precompile the headers that nearly every file reads" ON)
function(sdx_precompile target)
  if(SDX_PRECOMPILED_HEADERS AND NOT MSVC)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <cmath> <cstddef> <cstdint> <cstring> <functional>
                                                <memory> <optional> <span> <string> <string_view> <tuple> <type_traits>
                                                <unordered_map> <utility> <variant> <vector> ${ARGN})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # The first is for the compiler cache. The others: g++ 12 takes what it inlines from a precompiled <string> for our
      # own code and reports false positives that it hides otherwise.
      target_compile_options(${target} PRIVATE -fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow)
    else()
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # for the compiler cache
    endif()
  endif()
endfunction()
find_program(SDX_MOLD mold)
if(SDX_MOLD)
  # The prefix: hot functions are put side by side (ops/registry.h says what for), as GNU ld does by itself.
  add_link_options(-fuse-ld=mold -Wl,-z,keep-text-section-prefix)
endif()

# -Wno-restrict: g++ 12 reports a false positive on std::string + std::string at -O2.
add_compile_options(-Wall -Wextra $<$<COMPILE_LANGUAGE:CXX>:-Wmissing-declarations> -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict -Wno-psabi -Wno-missing-field-initializers)
  # A unique symbol cannot be made local: a program that links libsardonyx.a would share the standard library's with it,
  # or not link at all.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
endif()
if(SDX_WARNINGS_AS_ERRORS)
  add_compile_options(-Werror)
endif()
if(SDX_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1")
  add_compile_options(-fsanitize=${SDX_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${SDX_SANITIZE})
endif()
# Checks that cost too much for a release (src/base/debug_build.h).
if(SDX_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(SDX_DEBUG_CHECKS)
endif()
# Every object reports the edges it takes; only the fuzz targets link the fuzzer itself. Comparisons are not reported: that
# would take a third of the time, and the targets' bytes are fields and choices rather than magic numbers.
#
# Two checks of undefined behaviour are left to the address sanitizer, which sees any access outside an object or through a
# null pointer: before each access they would take a quarter of the compiler's time.
if(SDX_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp -fno-sanitize=null,object-size)
endif()
