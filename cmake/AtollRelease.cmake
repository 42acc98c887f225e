# Programs ask for a release of the specification's implementation (find_package(UPCXX 2022.3)), so the package
# carries UPCXX_VERSION, which grows with the calendar, and not Atoll's own version.
file(STRINGS include/upcxx/detail/config.hpp _line REGEX "define UPCXX_VERSION [0-9]+L")
if(NOT _line MATCHES "UPCXX_VERSION ([0-9][0-9][0-9][0-9])([0-9][0-9])([0-9][0-9])L")
  message(FATAL_ERROR "UPCXX_VERSION not found in include/upcxx/detail/config.hpp")
endif()
set(_year ${CMAKE_MATCH_1})
math(EXPR _month "1${CMAKE_MATCH_2} - 100")
math(EXPR _patch "1${CMAKE_MATCH_3} - 100")
set(ATOLL_UPCXX_RELEASE ${_year}.${_month}.${_patch})
