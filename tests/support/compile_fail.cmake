# Checks that the compiler refuses SOURCE with a diagnostic matching EXPECT, and accepts it with -DCONTROL, so that
# the refusal is due to the line in question and nothing else.
#   cmake -D COMPILER= -D STANDARD= -D INCLUDE= -D SOURCE= -D EXPECT= -P compile_fail.cmake

set(command ${COMPILER} -std=c++${STANDARD} -fsyntax-only -I${INCLUDE} -fdiagnostics-color=never ${SOURCE})
execute_process(COMMAND ${command} -DCONTROL RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the control (-DCONTROL) does not compile, so the test proves nothing:\n${output}")
endif()
execute_process(COMMAND ${command} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "compiled, but should have been refused with: ${EXPECT}")
endif()
if(NOT output MATCHES "${EXPECT}")
  message(FATAL_ERROR "refused, but no diagnostic matches: ${EXPECT}\n${output}")
endif()
