# The Python that the package is built for: the project's .venv when `make setup` made one, else the one CMake finds.
if(NOT Python_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python)
endif()
find_package(Python 3.11 COMPONENTS Interpreter Development.Module)
if(Python_FOUND AND NOT nanobind_DIR)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_DIR
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(nanobind_DIR)
  find_package(nanobind CONFIG)
endif()
if(NOT nanobind_FOUND)
  message(WARNING "The Python package is left out: expected Python 3.11 or newer with its headers and nanobind "
                  "(`make setup` installs both), found Python '${Python_EXECUTABLE}', nanobind '${nanobind_DIR}'")
endif()
