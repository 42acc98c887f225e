# Headers of libfabric (<rdma/fabric.h>), of 1.12 or later. Nothing is linked.
#
#   Libfabric_FOUND, Libfabric_VERSION, target Libfabric::headers

find_path(ATOLL_OFI_INCLUDE_DIR rdma/fabric.h)
mark_as_advanced(ATOLL_OFI_INCLUDE_DIR)
set(Libfabric_VERSION "")
if(ATOLL_OFI_INCLUDE_DIR)
  file(STRINGS ${ATOLL_OFI_INCLUDE_DIR}/rdma/fabric.h _lines REGEX "define FI_(MAJOR|MINOR)_VERSION")
  string(REGEX REPLACE ".*FI_MAJOR_VERSION +([0-9]+).*FI_MINOR_VERSION +([0-9]+).*" "\\1.\\2" Libfabric_VERSION
                       "${_lines}")
endif()
include(FindPackageHandleStandardArgs)
if(Libfabric_VERSION AND Libfabric_VERSION VERSION_LESS 1.12)
  set(Libfabric_FOUND FALSE)
else()
  find_package_handle_standard_args(Libfabric REQUIRED_VARS ATOLL_OFI_INCLUDE_DIR VERSION_VAR Libfabric_VERSION)
endif()
if(Libfabric_FOUND AND NOT TARGET Libfabric::headers)
  add_library(Libfabric::headers INTERFACE IMPORTED GLOBAL)
  target_include_directories(Libfabric::headers SYSTEM INTERFACE ${ATOLL_OFI_INCLUDE_DIR})
endif()
