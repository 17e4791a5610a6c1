# libsardonyx.a: the whole library, RE2 and utf8proc included, as one object in an archive.
#
# Only what libsardonyx.so exports is visible in it: a program may have another RE2, and names like ours. The symbol
# versions of ONNX Runtime's releases are left out, for only a shared library can have them.
if(NOT SDX_STATIC_LIBRARY OR APPLE OR WIN32 OR SDX_SANITIZE)
  return()
endif()
if(NOT EXISTS ${SDX_RE2_SOURCE}/re2/re2.cc OR NOT SDX_re2_ARCHIVE OR NOT SDX_utf8proc_ARCHIVE)
  message(NOTICE "libsardonyx.a is left out: it would need RE2's sources, libre2.a and libutf8proc.a (`make setup` "
                 "fetches them)")
  return()
endif()
file(STRINGS ${PROJECT_SOURCE_DIR}/src/capi/exports.map names REGEX "^    [A-Z][A-Za-z_]+;")
list(TRANSFORM names REPLACE "^ *([A-Za-z_]+);.*" "--keep-global-symbol=\\1")
set(SDX_STATIC_FILE ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libsardonyx.a)
set(SDX_STATIC_OBJECT ${CMAKE_BINARY_DIR}/sardonyx_static.o)
add_custom_command(
  OUTPUT ${SDX_STATIC_FILE}
  COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${SDX_STATIC_OBJECT}
          "$<FILTER:$<TARGET_OBJECTS:sdx_capi>,EXCLUDE,(capi/symbol_versions\\.cpp|cmake_pch)>" --whole-archive
          $<TARGET_FILE:sdx_core> $<TARGET_FILE:sdx_re2> --no-whole-archive ${SDX_re2_ARCHIVE} ${SDX_utf8proc_ARCHIVE}
  COMMAND ${CMAKE_OBJCOPY} ${names} ${SDX_STATIC_OBJECT}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${SDX_STATIC_FILE}
  COMMAND ${CMAKE_AR} rcs ${SDX_STATIC_FILE} ${SDX_STATIC_OBJECT}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${SDX_STATIC_OBJECT}
  DEPENDS sdx_core sdx_re2 sdx_capi $<TARGET_OBJECTS:sdx_capi>
  COMMENT "Linking libsardonyx.a"
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(sardonyx_static ALL DEPENDS ${SDX_STATIC_FILE})
install(FILES ${SDX_STATIC_FILE} DESTINATION ${CMAKE_INSTALL_LIBDIR})
