# Writes a header with the commit of the sources: cmake -D SOURCE= -D BUILD_TYPE= -D OUTPUT= -P
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/GitCommit.cmake)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#pragma once

namespace atl::tools {
inline constexpr char const commit_id[] = "@commit@";
inline constexpr char const build_type[] = "@BUILD_TYPE@";
}  // namespace atl::tools
]] @ONLY)
