# Checks that the compiler refuses SOURCE with a diagnostic matching EXPECT, and accepts it with -DCONTROL, so that
# the refusal is due to the line in question and nothing else.
# INCLUDE is a list of folders; the first may hold upcxx/upcxx.hpp.gch, which saves GCC nearly all of the time.
#   cmake -D COMPILER= -D STANDARD= -D INCLUDE= -D SOURCE= -D EXPECT= -P compile_fail.cmake

list(TRANSFORM INCLUDE PREPEND -I)
set(header "")
list(LENGTH INCLUDE folders)
if(folders GREATER 1)
  set(header -include upcxx/upcxx.hpp)
endif()
set(command ${COMPILER} -std=c++${STANDARD} -fsyntax-only ${INCLUDE} ${header} -fdiagnostics-color=never ${SOURCE})
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
