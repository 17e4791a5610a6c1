# Third-party libraries of the core: all header-only here, found where Debian, vcpkg or Conan put them.
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
