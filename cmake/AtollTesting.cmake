# How tests are added. Needs GoogleTest from the system; without it only tests that need none are added.
#
#   atoll_add_unit_test(name SOURCES a.cpp ... [LIBS ...] [LIBRARY upcxx] [LABELS ...] [ENVIRONMENT VAR=value ...]
#                       [TIMEOUT s]
#                       [ARGS ...] [CODEMODE debug|opt] [THREADMODE seq|par] [OWN_MAIN] [UNSANITIZED])
#       One process, no launcher. Sees src/ and links the library's objects with every symbol in reach.
#
#   atoll_add_multirank_test(name SOURCES a.cpp ... [RANKS 1 2 4 5] [LIBS ...] [LABELS ...] [ENVIRONMENT ...]
#                            [TIMEOUT s] [ARGS ...] [HEAP 16M] [CODEMODE ...] [THREADMODE ...] [OWN_MAIN]
#                            [LIBRARY atoll_internal] [UNSANITIZED])
#       The public API under the launcher, one test `name.<R>ranks` per count. The main function comes from
#       tests/support/multirank_main.cpp unless OWN_MAIN is given. With LIBRARY it sees src/ as unit tests do.
#
#   atoll_add_compile_fail_test(name SOURCE f.cpp EXPECT "regex" [INCLUDE folders ...])
#       The file must be refused with a diagnostic that matches, and accepted with -DCONTROL.
#
#   atoll_add_compile_fail_tests(name FILES f.cpp ... [INCLUDE folders ...])
#       The same of many files at once, in one test.
#
#   atoll_add_script_test(name COMMAND ... [LABELS ...] [TIMEOUT s] [ENVIRONMENT ...] [PROCESSORS n] [SANITIZED])
#       Anything else. The build tree's programs come first on PATH.
#
# Three labels have a meaning here and in test.sh. `variant`: continuous integration leaves it out, as another test shows the same
# in another guise. `extra`: under a sanitizer only on demand, since the same code runs there in another test
# already (built by extra_tests, not by the target of its sort); runs with 4 ranks beside those with 5 get it by themselves.
# `threads`: several threads in a process, so that
# ThreadSanitizer has something to see (built by threads_tests, too).
#
# UNSANITIZED: runs without sanitizers in any case. It matters with ATOLL_TEST_ONCE, by which continuous integration leaves out
# what it runs under AddressSanitizer as well, but for scripts that do not say SANITIZED; programs of which no run is left are not
# even built then.
#
# Exit status 77 means skipped. TIMEOUT is in seconds and grows under a sanitizer. It only ends what hangs: beside
# jobs that compute, and on slow machines, tests take many times as long as alone.

include_guard(GLOBAL)

option(ATOLL_TEST_ONCE "Without sanitizers, only tests that are not run with AddressSanitizer by test.sh --asan" OFF)
mark_as_advanced(ATOLL_TEST_ONCE)

set(ATOLL_TEST_SUPPORT ${PROJECT_SOURCE_DIR}/tests/support)
set(ATOLL_TEST_TIMEOUT 300)
if(ATOLL_SANITIZE)
  set(ATOLL_TEST_TIME_FACTOR 3)
else()
  set(ATOLL_TEST_TIME_FACTOR 1)
endif()

# Clang's sanitizers ask a program where an address lies, which Debian calls by its version; suppressions need it.
set(_atoll_symbolizer "")
if(ATOLL_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  string(REGEX MATCH "^[0-9]+" _version ${CMAKE_CXX_COMPILER_VERSION})
  find_program(ATOLL_SYMBOLIZER NAMES llvm-symbolizer-${_version} llvm-symbolizer)
  mark_as_advanced(ATOLL_SYMBOLIZER)
  if(ATOLL_SYMBOLIZER)
    set(_atoll_symbolizer ":external_symbolizer_path=${ATOLL_SYMBOLIZER}")
  endif()
endif()

set(_atoll_test_environment
  "ASAN_OPTIONS=detect_stack_use_after_return=0:strict_string_checks=1:abort_on_error=0:handle_sigill=1${_atoll_symbolizer}"
  "UBSAN_OPTIONS=print_stacktrace=1${_atoll_symbolizer}"
  "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=${ATOLL_TEST_SUPPORT}/tsan.supp${_atoll_symbolizer}"
  "LSAN_OPTIONS=suppressions=${ATOLL_TEST_SUPPORT}/lsan.supp:print_suppressions=0")

# ThreadSanitizer of older compilers cannot start where the kernel randomises addresses with more bits than
# it knows (vm.mmap_rnd_bits=32, Ubuntu 24.04 with GCC before 14.1 or Clang before 18.1).
set(ATOLL_TEST_PREFIX "")
if(ATOLL_SANITIZE MATCHES "thread")
  find_program(ATOLL_SETARCH setarch)
  mark_as_advanced(ATOLL_SETARCH)
  if(ATOLL_SETARCH)
    execute_process(COMMAND ${ATOLL_SETARCH} -R true RESULT_VARIABLE _refused OUTPUT_QUIET ERROR_QUIET)
    if(NOT _refused)
      set(ATOLL_TEST_PREFIX ${ATOLL_SETARCH} -R)
    endif()
  endif()
endif()

add_custom_target(unit_tests)       # builds all of one sort but for the extra ones
add_custom_target(multirank_tests)
add_custom_target(extra_tests)
add_custom_target(threads_tests)

# Whether a test of the caller's arg_*, with these labels, is left to AddressSanitizer.
macro(_atoll_left_to_sanitizer out)
  set(${out} OFF)
  if(ATOLL_TEST_ONCE AND NOT ATOLL_SANITIZE AND NOT arg_UNSANITIZED AND NOT "extra" IN_LIST arg_LABELS)
    set(${out} ON)
  endif()
endmacro()

# Adds an executable to the targets that build its sort. Arguments: executable, target of the sort, labels.
function(_atoll_group_test name sort)
  if(extra IN_LIST ARGN)
    set(sort extra_tests)
  endif()
  set(groups ${sort})
  if(threads IN_LIST ARGN)
    list(APPEND groups threads_tests)
  endif()
  foreach(group IN LISTS groups)
    add_dependencies(${group} ${name})
    if(TARGET atoll AND NOT group STREQUAL "unit_tests")
      add_dependencies(${group} atoll)
    endif()
  endforeach()
endfunction()

macro(_atoll_parse_test)
  cmake_parse_arguments(arg "OWN_MAIN;SANITIZED;UNSANITIZED" "TIMEOUT;HEAP;CODEMODE;THREADMODE;SOURCE;EXPECT;PROCESSORS;LIBRARY"
                        "SOURCES;LIBS;LABELS;ENVIRONMENT;ARGS;RANKS;COMMAND" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${CMAKE_CURRENT_FUNCTION}(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
endmacro()

macro(_atoll_set_modes target)
  if(arg_CODEMODE)
    set_target_properties(${target} PROPERTIES ATOLL_TARGET_CODEMODE ${arg_CODEMODE})
  endif()
  if(arg_THREADMODE)
    set_target_properties(${target} PROPERTIES ATOLL_TARGET_THREADMODE ${arg_THREADMODE})
  endif()
endmacro()

# Continuous integration compiles what runs without sanitizers in the build's own code mode without optimisation, too: a third
# less to do. The library is optimised, and so are programs in the other code mode.
macro(_atoll_optimise_less target)
  if(ATOLL_TEST_ONCE AND (NOT arg_CODEMODE OR arg_CODEMODE STREQUAL ATOLL_CODEMODE))
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
  endif()
endmacro()

# Object library of a main function, compiled once for each combination of modes that is asked for.
function(_atoll_test_main out kind library)
  set(target atoll_${kind}_main)
  if(arg_CODEMODE AND NOT arg_CODEMODE STREQUAL ATOLL_CODEMODE)
    string(APPEND target _${arg_CODEMODE})
  endif()
  if(arg_THREADMODE AND NOT arg_THREADMODE STREQUAL ATOLL_THREADMODE)
    string(APPEND target _${arg_THREADMODE})
  endif()
  if(NOT TARGET ${target})
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${ATOLL_TEST_SUPPORT}/${kind}_main.cpp ${ARGN})
    target_link_libraries(${target} PRIVATE GTest::gtest atoll_warnings ${library})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    _atoll_set_modes(${target})
    if(kind STREQUAL "multirank")
      _atoll_optimise_less(${target})
    endif()
    # GoogleTest, and for several ranks the interface, take half of the time that an ordinary test file takes to compile.
    if(kind STREQUAL "multirank")
      target_precompile_headers(${target} PRIVATE <gtest/gtest.h> <upcxx/upcxx.hpp>)
    else()
      target_precompile_headers(${target} REUSE_FROM atoll_googletest)
    endif()
  endif()
  set(${out} ${target} PARENT_SCOPE)
endfunction()

function(_atoll_gmock out)
  if(TARGET GTest::gmock)
    set(${out} GTest::gmock GTest::gtest PARENT_SCOPE)
  else()
    set(${out} GTest::gtest PARENT_SCOPE)
  endif()
endfunction()

# GoogleTest's headers, compiled once for unit tests in all modes, of which they know nothing.
if(ATOLL_HAVE_GTEST)
  _atoll_gmock(_gtest)
  add_library(atoll_googletest OBJECT EXCLUDE_FROM_ALL ${ATOLL_TEST_SUPPORT}/googletest.cpp)
  target_link_libraries(atoll_googletest PRIVATE ${_gtest} atoll_warnings)
  target_precompile_headers(atoll_googletest PRIVATE <gtest/gtest.h>)
  if(TARGET GTest::gmock)
    target_precompile_headers(atoll_googletest PRIVATE <gmock/gmock.h>)
  endif()
endif()

function(atoll_add_unit_test name)
  _atoll_parse_test(${ARGN})
  if(NOT ATOLL_HAVE_GTEST)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${ATOLL_TEST_TIMEOUT})
  endif()
  if(NOT arg_LIBRARY)
    set(arg_LIBRARY atoll_internal)
  endif()
  math(EXPR timeout "${arg_TIMEOUT} * ${ATOLL_TEST_TIME_FACTOR}")
  _atoll_gmock(gtest)
  add_executable(${name} ${arg_SOURCES})
  if(NOT arg_OWN_MAIN)
    _atoll_test_main(main unit atoll_internal)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${main}>)
  endif()
  target_precompile_headers(${name} REUSE_FROM atoll_googletest)
  _atoll_set_modes(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LIBS} ${arg_LIBRARY} atoll_warnings ${gtest})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  _atoll_left_to_sanitizer(elsewhere)
  if(elsewhere)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  _atoll_group_test(${name} unit_tests ${arg_LABELS})
  add_test(NAME ${name} COMMAND ${ATOLL_TEST_PREFIX} $<TARGET_FILE:${name}> ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES
    LABELS "unit;${arg_LABELS}" TIMEOUT ${timeout} SKIP_RETURN_CODE 77
    ENVIRONMENT "${_atoll_test_environment};UPCXX_SHARED_HEAP_SIZE=16M;${arg_ENVIRONMENT}")
endfunction()

# The runs of a multirank test's program, <target>[.<how>].<ranks>ranks, as the caller's arg_* say.
function(_atoll_add_runs target how)
  _atoll_left_to_sanitizer(elsewhere)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${ATOLL_TEST_TIMEOUT})
  endif()
  if(NOT arg_HEAP)
    set(arg_HEAP 16M)
  endif()
  math(EXPR timeout "${arg_TIMEOUT} * ${ATOLL_TEST_TIME_FACTOR}")
  math(EXPR outer_timeout "${timeout} + 30")  # the launcher speaks first: it knows what the ranks were doing
  foreach(ranks IN LISTS arg_RANKS)
    set(id ${target}${how}.${ranks}ranks)
    if(TARGET atoll)
      set(launch $<TARGET_FILE:atoll> run -n ${ranks} --timeout ${timeout})
    elseif(ranks EQUAL 1)
      set(launch "")
    else()
      continue()
    endif()
    set(labels multirank ${arg_LABELS})
    if(ranks EQUAL 4 AND 5 IN_LIST arg_RANKS)
      if(ATOLL_SANITIZE)
        list(APPEND labels extra)
      endif()
    elseif(elsewhere)
      continue()
    endif()
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL OFF)
    # More would have it run alone at the end, where cores are few, though ranks that wait yield.
    set(processors ${ranks})
    if(processors GREATER 5)
      set(processors 5)
    endif()
    add_test(NAME ${id} COMMAND ${ATOLL_TEST_PREFIX} ${launch} $<TARGET_FILE:${target}> ${arg_ARGS})
    set_tests_properties(${id} PROPERTIES
      LABELS "${labels}" TIMEOUT ${outer_timeout} SKIP_RETURN_CODE 77 PROCESSORS ${processors}
      ENVIRONMENT "${_atoll_test_environment};UPCXX_SHARED_HEAP_SIZE=${arg_HEAP};${arg_ENVIRONMENT}")
  endforeach()
endfunction()

# A program that scripts run, whose argument says what it does. ARGN: properties.
function(atoll_add_program name source)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE upcxx atoll_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests ${ARGN})
  add_dependencies(multirank_tests ${name})
endfunction()

function(atoll_add_multirank_test name)
  _atoll_parse_test(${ARGN})
  if(NOT ATOLL_HAVE_GTEST AND NOT arg_OWN_MAIN)
    return()
  endif()
  if(NOT arg_RANKS)
    set(arg_RANKS 1 2 4 5)
  endif()
  add_executable(${name} ${arg_SOURCES})
  _atoll_set_modes(${name})
  if(NOT arg_OWN_MAIN)
    _atoll_optimise_less(${name})
  endif()
  if(NOT arg_LIBRARY)
    set(arg_LIBRARY upcxx)
  endif()
  if(NOT arg_LIBRARY STREQUAL "upcxx" AND NOT arg_OWN_MAIN)
    target_sources(${name} PRIVATE ${ATOLL_TEST_SUPPORT}/multirank_main.cpp ${ATOLL_TEST_SUPPORT}/rank_env.cpp
                                   ${ATOLL_TEST_SUPPORT}/shared_memory.cpp)
  elseif(NOT arg_OWN_MAIN)
    _atoll_test_main(main multirank upcxx ${ATOLL_TEST_SUPPORT}/rank_env.cpp ${ATOLL_TEST_SUPPORT}/shared_memory.cpp)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${main}>)
    target_precompile_headers(${name} REUSE_FROM ${main})
  endif()
  if(NOT TARGET atoll_test_pattern)
    add_library(atoll_test_pattern OBJECT EXCLUDE_FROM_ALL ${ATOLL_TEST_SUPPORT}/pattern.cpp)
    target_include_directories(atoll_test_pattern PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_compile_options(atoll_test_pattern PRIVATE -O2)
    target_link_libraries(atoll_test_pattern PRIVATE atoll_warnings)
  endif()
  target_sources(${name} PRIVATE $<TARGET_OBJECTS:atoll_test_pattern>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LIBS} ${arg_LIBRARY} atoll_warnings)
  if(ATOLL_HAVE_GTEST)
    _atoll_gmock(gtest)
    target_link_libraries(${name} PRIVATE ${gtest})
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  _atoll_group_test(${name} multirank_tests ${arg_LABELS})
  if(ATOLL_TEST_ONCE)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  _atoll_add_runs(${name} "")
endfunction()

# A multirank test's program once more, in another environment: <target>.<how>.<ranks>ranks. Under sanitizers continuous
# integration leaves these out, but for those that say SANITIZED: most of their code runs there in its first environment.
function(atoll_run_again target how)
  cmake_parse_arguments(PARSE_ARGV 2 arg "SANITIZED" "TIMEOUT;HEAP" "RANKS;ENVIRONMENT;ARGS;LABELS")
  if(NOT arg_SANITIZED)
    set(arg_UNSANITIZED ON)
    if(ATOLL_SANITIZE)
      list(APPEND arg_LABELS extra)
    endif()
  endif()
  if(TARGET atoll AND TARGET ${target})
    _atoll_add_runs(${target} .${how})
  endif()
endfunction()

# The whole library's header, compiled once for all tests of what must not compile (GCC finds upcxx.hpp.gch by
# itself). A fixture, since GCC would not notice that it is older than a header.
function(_atoll_compile_fail_header)
  if(TEST compile_fail.header OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/tests/compile_fail/upcxx)
  file(MAKE_DIRECTORY ${folder})
  add_test(NAME compile_fail.header COMMAND ${CMAKE_CXX_COMPILER} -std=c++${CMAKE_CXX_STANDARD} -w
    -I${PROJECT_SOURCE_DIR}/include -x c++-header ${PROJECT_SOURCE_DIR}/include/upcxx/upcxx.hpp -o ${folder}/upcxx.hpp.gch)
  set_tests_properties(compile_fail.header PROPERTIES LABELS compile_fail TIMEOUT ${ATOLL_TEST_TIMEOUT} FIXTURES_SETUP compile_fail_header)
endfunction()

function(atoll_add_compile_fail_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;EXPECT" "INCLUDE")
  _atoll_compile_fail_header()
  set(include ${PROJECT_SOURCE_DIR}/include ${arg_INCLUDE})
  if(TEST compile_fail.header)
    list(PREPEND include ${PROJECT_BINARY_DIR}/tests/compile_fail)
  endif()
  string(REGEX REPLACE "\\\\?;" "." arg_EXPECT "${arg_EXPECT}")  # CMake would split the argument there
  add_test(NAME compile_fail.${name} COMMAND ${CMAKE_COMMAND}
    -D "COMPILER=${CMAKE_CXX_COMPILER}" -D "STANDARD=${CMAKE_CXX_STANDARD}" -D "INCLUDE=${include}"
    -D "SOURCE=${arg_SOURCE}" -D "EXPECT=${arg_EXPECT}" -P ${ATOLL_TEST_SUPPORT}/compile_fail.cmake)
  set_tests_properties(compile_fail.${name} PROPERTIES LABELS compile_fail TIMEOUT ${ATOLL_TEST_TIMEOUT} FIXTURES_REQUIRED compile_fail_header)
endfunction()

function(atoll_add_compile_fail_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FILES;INCLUDE")
  if(NOT arg_FILES)
    return()
  endif()
  _atoll_compile_fail_header()
  set(folder ${PROJECT_BINARY_DIR}/tests/compile_fail)
  set(include "")
  foreach(each ${PROJECT_SOURCE_DIR}/include ${arg_INCLUDE})
    list(APPEND include -I ${each})
  endforeach()
  add_test(NAME compile_fail.${name} COMMAND ${Python3_EXECUTABLE} ${ATOLL_TEST_SUPPORT}/compile_fail_together.py
    ${CMAKE_CXX_COMPILER} ${CMAKE_CXX_STANDARD} ${folder}/upcxx/upcxx.hpp ${folder}/${name} ${include} ${arg_FILES})
  set_tests_properties(compile_fail.${name} PROPERTIES LABELS compile_fail TIMEOUT ${ATOLL_TEST_TIMEOUT} FIXTURES_REQUIRED compile_fail_header)
endfunction()

function(atoll_add_script_test name)
  _atoll_parse_test(${ARGN})
  _atoll_left_to_sanitizer(elsewhere)
  if(arg_SANITIZED AND elsewhere)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    math(EXPR arg_TIMEOUT "${ATOLL_TEST_TIMEOUT} + 30")  # many start jobs with limits of their own
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  math(EXPR timeout "${arg_TIMEOUT} * ${ATOLL_TEST_TIME_FACTOR}")
  # It is run, so its programs are built.
  string(REGEX MATCHALL "TARGET_FILE:[^>]+" programs "${arg_COMMAND};${arg_ENVIRONMENT}")
  foreach(program IN LISTS programs)
    string(REPLACE "TARGET_FILE:" "" program ${program})
    if(ATOLL_TEST_ONCE AND TARGET ${program})
      set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL OFF)
    endif()
  endforeach()
  add_test(NAME ${name} COMMAND ${ATOLL_TEST_PREFIX} ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}" TIMEOUT ${timeout} SKIP_RETURN_CODE 77 PROCESSORS ${arg_PROCESSORS}
    ENVIRONMENT "${_atoll_test_environment};UPCXX_SHARED_HEAP_SIZE=16M;${arg_ENVIRONMENT}"
    ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${PROJECT_BINARY_DIR}/bin")
endfunction()
