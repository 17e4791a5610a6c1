# cmake -P write_joined_tests.cmake <source> <test>...: writes the tests into one source.
#
# All that a test declares lies in its unnamed namespace. Here that gets a named one around it, so that tests may give
# the same name to different things. Messages name the test's own file and line.
set(joined "")
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(number RANGE 4 ${last})
  set(file ${CMAKE_ARGV${number}})
  file(READ ${file} text)
  string(REGEX MATCHALL "\n(namespace {|}  // namespace)\n" ends "${text}")
  if(NOT ends STREQUAL "\nnamespace {\n;\n}  // namespace\n")
    message(FATAL_ERROR "${file}: expected one unnamed namespace around all tests, between the lines `namespace {` and "
                        "`}  // namespace`")
  endif()
  string(REPLACE "\nnamespace {\n" "\nnamespace joined_${number} { namespace {\n" text "${text}")
  string(REPLACE "\n}  // namespace\n" "\n}}\n" text "${text}")
  string(APPEND joined "#line 1 \"${file}\"\n${text}")
endforeach()
file(WRITE ${CMAKE_ARGV3} "${joined}")
