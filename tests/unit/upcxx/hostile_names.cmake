# Writes the names of all functions that the headers may call: what stands before a parenthesis, or before template
# arguments and a parenthesis, but for keywords, macros and names of the compiler's. Comments add some, which does no harm.
#
#   cmake -DOUT=file -P hostile_names.cmake header...
set(keywords
    alignas alignof and asm assert auto bool catch char const const_cast co_await co_return co_yield consteval constexpr
    decltype defined delete double dynamic_cast else explicit float for if int long new noexcept not offsetof operator or
    reinterpret_cast requires return short signed sizeof static_assert static_cast switch this throw typeid typename
    unsigned using void volatile while)
set(names)
foreach(at RANGE 4 ${CMAKE_ARGC})
  if(NOT CMAKE_ARGV${at})
    continue()
  endif()
  file(STRINGS "${CMAKE_ARGV${at}}" lines REGEX "[(]")
  foreach(line IN LISTS lines)
    if(line MATCHES "#[ ]*define ([a-z][a-z0-9_]*)[(]")
      list(APPEND keywords ${CMAKE_MATCH_1})
    endif()
    string(REGEX REPLACE "<[^;()]*>[(]" "(" line " ${line}")
    string(REGEX MATCHALL "[^A-Za-z0-9_][a-z][a-z0-9_]*[(]" found "${line}")
    string(REGEX REPLACE "[^a-z0-9_;]" "" found "${found}")
    list(APPEND names ${found})
  endforeach()
endforeach()
list(REMOVE_DUPLICATES names)
list(REMOVE_ITEM names ${keywords})
list(SORT names)
list(TRANSFORM names REPLACE "(.+)" "HOSTILE(\\1)\n")
string(CONCAT text ${names})
file(CONFIGURE OUTPUT "${OUT}" CONTENT "${text}" @ONLY)
