# Headers of UCX (<ucp/api/ucp.h>), of 1.12 or later. Nothing is linked.
#
#   Ucx_FOUND, Ucx_VERSION, target Ucx::headers

find_path(ATOLL_UCX_INCLUDE_DIR ucp/api/ucp.h)
mark_as_advanced(ATOLL_UCX_INCLUDE_DIR)
set(Ucx_VERSION "")
if(ATOLL_UCX_INCLUDE_DIR AND EXISTS ${ATOLL_UCX_INCLUDE_DIR}/ucp/api/ucp_version.h)
  file(STRINGS ${ATOLL_UCX_INCLUDE_DIR}/ucp/api/ucp_version.h _lines REGEX "define UCP_API_(MAJOR|MINOR)")
  string(REGEX REPLACE ".*UCP_API_MAJOR +([0-9]+).*UCP_API_MINOR +([0-9]+).*" "\\1.\\2" Ucx_VERSION "${_lines}")
endif()
if(Ucx_VERSION AND Ucx_VERSION VERSION_LESS 1.12)
  set(Ucx_too_old TRUE)
endif()
include(FindPackageHandleStandardArgs)
if(Ucx_too_old)
  set(Ucx_FOUND FALSE)
else()
  find_package_handle_standard_args(Ucx REQUIRED_VARS ATOLL_UCX_INCLUDE_DIR VERSION_VAR Ucx_VERSION)
endif()
if(Ucx_FOUND AND NOT TARGET Ucx::headers)
  add_library(Ucx::headers INTERFACE IMPORTED GLOBAL)
  target_include_directories(Ucx::headers SYSTEM INTERFACE ${ATOLL_UCX_INCLUDE_DIR})
endif()
