# Third-party libraries of the core: header-only but for RE2, found where Debian, vcpkg or Conan put them.
#
# sdx_header_library(<name> <header>): an interface target sdx::<name> with the folder that holds <header>.
function(sdx_header_library name header)
  find_path(SDX_${name}_INCLUDE ${header} REQUIRED)
  add_library(sdx_${name} INTERFACE)
  target_include_directories(sdx_${name} SYSTEM INTERFACE ${SDX_${name}_INCLUDE})
  add_library(sdx::${name} ALIAS sdx_${name})
endfunction()

find_package(Threads REQUIRED)
sdx_header_library(hwy hwy/highway.h)
sdx_header_library(protozero protozero/pbf_reader.hpp)
sdx_header_library(cli11 CLI/CLI.hpp)
sdx_header_library(json nlohmann/json.hpp)

# Regular expressions (RegexFullMatch): the one dependency that is linked.
find_path(SDX_re2_INCLUDE re2/re2.h REQUIRED)
find_library(SDX_re2_LIBRARY re2 REQUIRED)
add_library(sdx_re2 INTERFACE)
target_include_directories(sdx_re2 SYSTEM INTERFACE ${SDX_re2_INCLUDE})
target_link_libraries(sdx_re2 INTERFACE ${SDX_re2_LIBRARY})
add_library(sdx::re2 ALIAS sdx_re2)
