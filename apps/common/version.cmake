# Writes version.hpp with the version and the commit of the sources: cmake -D SOURCE= -D VERSION= -D OUTPUT= -P
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/GitCommit.cmake)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#pragma once

namespace apps {
inline constexpr char const version[] = "@VERSION@";
inline constexpr char const commit_id[] = "@commit@";
}  // namespace apps
]] @ONLY)
