# Third-party libraries of the core: header-only but for RE2 and utf8proc, found where tools/setup.py, vcpkg or Conan put them.
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

# Regular expressions. From its sources it becomes part of our library, for Debian's
# libre2.a cannot: it is not position independent and has a thread variable that only a program may have. Debian's sources
# lack the generated tables (Unicode, Perl classes); these three objects of libre2.a are data alone, which any library can
# take, and the linker takes nothing else of it.
set(SDX_RE2_SOURCE "${PROJECT_SOURCE_DIR}/third_party/re2" CACHE PATH "RE2's sources, of the version of libre2.a")
find_path(SDX_re2_INCLUDE re2/re2.h REQUIRED)
find_library(SDX_re2_ARCHIVE libre2.a)
if(SDX_re2_ARCHIVE AND EXISTS ${SDX_RE2_SOURCE}/re2/re2.cc)
  file(GLOB SDX_RE2_FILES ${SDX_RE2_SOURCE}/re2/*.cc ${SDX_RE2_SOURCE}/util/rune.cc ${SDX_RE2_SOURCE}/util/strutil.cc)
  add_library(sdx_re2 STATIC ${SDX_RE2_FILES})
  target_include_directories(sdx_re2 SYSTEM PUBLIC ${SDX_RE2_SOURCE})
  # Its messages name its files: not by the folder of whoever built them.
  target_compile_options(sdx_re2 PRIVATE -w "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
  target_link_libraries(sdx_re2 PUBLIC Threads::Threads INTERFACE ${SDX_re2_ARCHIVE})
else()
  find_library(SDX_re2_LIBRARY re2 REQUIRED)
  message(NOTICE "RE2 is linked as it is installed (${SDX_re2_LIBRARY}); where it is a shared library, ours will need it")
  add_library(sdx_re2 INTERFACE)
  target_include_directories(sdx_re2 SYSTEM INTERFACE ${SDX_re2_INCLUDE})
  target_link_libraries(sdx_re2 INTERFACE ${SDX_re2_LIBRARY})
endif()
add_library(sdx::re2 ALIAS sdx_re2)

# The cases of Unicode's letters. The archive becomes part of our library; where there is none, the library needs another.
find_path(SDX_utf8proc_INCLUDE utf8proc.h REQUIRED)
find_library(SDX_utf8proc_ARCHIVE libutf8proc.a)
if(NOT SDX_utf8proc_ARCHIVE)
  find_library(SDX_utf8proc_LIBRARY utf8proc REQUIRED)
  message(NOTICE "utf8proc is linked as it is installed (${SDX_utf8proc_LIBRARY}); where that is a shared library, ours "
                 "will need it")
endif()
add_library(sdx_utf8proc INTERFACE)
target_include_directories(sdx_utf8proc SYSTEM INTERFACE ${SDX_utf8proc_INCLUDE})
target_link_libraries(sdx_utf8proc INTERFACE $<IF:$<BOOL:${SDX_utf8proc_ARCHIVE}>,${SDX_utf8proc_ARCHIVE},${SDX_utf8proc_LIBRARY}>)
add_library(sdx::utf8proc ALIAS sdx_utf8proc)

# FlatBuffers: headers alone, and the compiler that makes a header from a schema.
sdx_header_library(flatbuffers flatbuffers/flatbuffers.h)
find_program(SDX_FLATC flatc REQUIRED)

# sdx_flatbuffers(<target> <schema> <sources>...): the header <name>_generated.h of the schema, which these sources of
# <target> can include. Others are not compiled anew for it.
function(sdx_flatbuffers target schema)
  cmake_path(GET schema STEM name)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/flatbuffers)
  add_custom_command(OUTPUT ${folder}/${name}_generated.h
                     COMMAND ${SDX_FLATC} --cpp --scoped-enums -o ${folder} ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
                     DEPENDS ${schema} VERBATIM)
  target_sources(${target} PRIVATE ${folder}/${name}_generated.h)
  # The compiler's own folders must keep their place behind those of the C++ library.
  set(includes ${folder} ${SDX_flatbuffers_INCLUDE})
  list(REMOVE_ITEM includes ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES} /usr/include)
  set_source_files_properties(${ARGN} PROPERTIES INCLUDE_DIRECTORIES "${includes}"
                              OBJECT_DEPENDS ${folder}/${name}_generated.h)
endfunction()
