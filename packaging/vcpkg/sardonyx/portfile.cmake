# A vcpkg port of the source tree that it lies in: vcpkg install sardonyx --overlay-ports=packaging/vcpkg
#
# It cannot be installed beside the port onnxruntime: both have libonnxruntime and its CMake package. The library is a
# shared one in every triplet, with libsardonyx.a beside it. tests/install/test_vcpkg_port.py takes the steps below one
# by one without vcpkg, which nobody has run on them yet.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DSDX_BUILD_TESTS=OFF -DSDX_BUILD_PYTHON=OFF -DSDX_WARNINGS_AS_ERRORS=OFF
          "-DSDX_FLATC=${CURRENT_HOST_INSTALLED_DIR}/tools/flatbuffers/flatc${VCPKG_HOST_EXECUTABLE_SUFFIX}")
vcpkg_cmake_install()
vcpkg_copy_tools(TOOL_NAMES sardonyx AUTO_CLEAN)
vcpkg_cmake_config_fixup(PACKAGE_NAME Sardonyx CONFIG_PATH lib/cmake/Sardonyx DO_NOT_DELETE_PARENT_CONFIG_PATH)
vcpkg_cmake_config_fixup(PACKAGE_NAME onnxruntime CONFIG_PATH lib/cmake/onnxruntime)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
