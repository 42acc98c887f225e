# Writes a header with the commit of the sources: cmake -D SOURCE= -D BUILD_TYPE= -D OUTPUT= -P
set(commit unknown)
find_program(git git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE} describe --always --dirty --abbrev=12 --match nothing
                  OUTPUT_VARIABLE found RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed)
    set(commit ${found})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#pragma once

namespace atl::tools {
inline constexpr char const commit_id[] = "@commit@";
inline constexpr char const build_type[] = "@BUILD_TYPE@";
}  // namespace atl::tools
]] @ONLY)
