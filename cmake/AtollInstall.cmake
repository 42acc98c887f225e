# Install rules: the library, the headers, the CMake package UPCXX and the pkg-config files. Programs install
# themselves where they are defined, with `install(TARGETS x RUNTIME)`.

include(CMakePackageConfigHelpers)

install(TARGETS upcxx EXPORT UPCXXTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/upcxx include/atoll DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.cuh")

set(_package ${CMAKE_INSTALL_DATADIR}/cmake/UPCXX)
configure_package_config_file(cmake/UPCXXConfig.cmake.in ${PROJECT_BINARY_DIR}/UPCXXConfig.cmake
  INSTALL_DESTINATION ${_package} PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/UPCXXConfigVersion.cmake
  VERSION ${ATOLL_UPCXX_RELEASE} COMPATIBILITY AnyNewerVersion)
install(FILES ${PROJECT_BINARY_DIR}/UPCXXConfig.cmake ${PROJECT_BINARY_DIR}/UPCXXConfigVersion.cmake
  DESTINATION ${_package})
install(EXPORT UPCXXTargets NAMESPACE UPCXX:: DESTINATION ${_package})
# The build tree can be found as well: cmake -DUPCXX_DIR=<build>.
export(EXPORT UPCXXTargets NAMESPACE UPCXX:: FILE ${PROJECT_BINARY_DIR}/UPCXXTargets.cmake)

# ${prefix} is taken from where the .pc file lies, so that the installed tree can be moved.
file(RELATIVE_PATH _up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" _up "${_up}")
set(ATOLL_PC_PREFIX "\${pcfiledir}/${_up}")
foreach(_name upcxx atoll)
  if(_name STREQUAL upcxx)
    set(ATOLL_PC_VERSION ${ATOLL_UPCXX_RELEASE})
  else()
    set(ATOLL_PC_VERSION ${PROJECT_VERSION})
  endif()
  set(ATOLL_PC_NAME ${_name})
  configure_file(cmake/upcxx.pc.in ${PROJECT_BINARY_DIR}/${_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${_name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
install(FILES LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The guide, the reference and what they link to, side by side as in the sources.
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN "*.md" PATTERN "*.cpp" PATTERN _* EXCLUDE PATTERN man EXCLUDE PATTERN data EXCLUDE)
