# What `cmake --install` installs, and where: the library, headers, the tool, a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)
set(SDX_PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/Sardonyx)

install(TARGETS sardonyx EXPORT SardonyxTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                                RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
                                                ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS sardonyx_cli EXPORT SardonyxTargets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sardonyx)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/sardonyx)
if(EXISTS ${SDX_RE2_SOURCE}/LICENSE)
  install(FILES ${SDX_RE2_SOURCE}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/sardonyx RENAME LICENSE.re2)
endif()

install(EXPORT SardonyxTargets NAMESPACE Sardonyx:: DESTINATION ${SDX_PACKAGE_FOLDER})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/SardonyxConfig.cmake.in
                              ${CMAKE_BINARY_DIR}/package/SardonyxConfig.cmake INSTALL_DESTINATION ${SDX_PACKAGE_FOLDER})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/SardonyxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/SardonyxConfig.cmake ${CMAKE_BINARY_DIR}/package/SardonyxConfigVersion.cmake
        DESTINATION ${SDX_PACKAGE_FOLDER})

# The prefix is found from where the file lies, so that an installation can be moved.
file(RELATIVE_PATH SDX_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(name sardonyx libonnxruntime)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/package/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/package/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# The names of ONNX Runtime's own package, for projects that were made for it.
set(SDX_PEER_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/onnxruntime)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/onnxruntimeConfig.cmake.in
                              ${CMAKE_BINARY_DIR}/package/onnxruntimeConfig.cmake INSTALL_DESTINATION ${SDX_PEER_FOLDER})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/onnxruntimeConfigVersion.cmake VERSION ${SDX_ORT_VERSION}
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/onnxruntimeConfig.cmake
              ${CMAKE_BINARY_DIR}/package/onnxruntimeConfigVersion.cmake DESTINATION ${SDX_PEER_FOLDER})
