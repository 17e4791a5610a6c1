# sdx_join_tests(<result> <name> <count> <file>...): sources that compile these tests together, <count> or fewer of them.
#
# Most of a test's compilation is what it has in common with every other: templates of the library, of graphs and of
# GoogleTest. Eight tests in one source take a quarter of the time that they take one by one. Who edits one test waits
# longer for it, though: so this is for builds from nothing. The hash of a file's name chooses its source, so that a
# new test changes a single one.
option(SDX_JOINED_TESTS "Compile several unit tests as one source: sooner from nothing, later after an edit" OFF)
function(sdx_join_tests result name count)
  foreach(file IN LISTS ARGN)
    file(RELATIVE_PATH path ${CMAKE_CURRENT_SOURCE_DIR} ${file})
    string(MD5 hash ${path})
    string(SUBSTRING ${hash} 0 6 digits)
    math(EXPR number "0x${digits} % ${count}")
    list(APPEND files_${number} ${file})
  endforeach()
  set(sources "")
  math(EXPR last "${count} - 1")
  foreach(number RANGE ${last})
    if(files_${number})
      set(source ${CMAKE_CURRENT_BINARY_DIR}/joined_tests/${name}_${number}.cpp)
      add_custom_command(OUTPUT ${source}
                         COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/cmake/write_joined_tests.cmake ${source}
                                 ${files_${number}}
                         DEPENDS ${files_${number}} ${PROJECT_SOURCE_DIR}/cmake/write_joined_tests.cmake VERBATIM)
      list(APPEND sources ${source})
    endif()
  endforeach()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()
