#!/bin/bash
# The shared library offers namespace atl and nothing else: no standard-library leftovers, no C names. And it takes no containers
# from programs, which have others with _GLIBCXX_DEBUG: these would not link.
#   check_exports.sh <nm> <library>
set -u
nm=$1 library=$2
names=$("$nm" --dynamic --defined-only --demangle "$library" | sed -E 's/^[0-9a-f]* +[A-Za-z] //') || exit 2
if [ -z "$names" ]; then
  echo "$library exports nothing"
  exit 1
fi
foreign=$(printf '%s\n' "$names" |
  grep -vE '^((typeinfo|typeinfo name|vtable|VTT|TLS init function|TLS wrapper function|guard variable) for )?atl::')
if [ -n "$foreign" ]; then
  echo "$library exports what is not of namespace atl:"
  printf '%s\n' "$foreign"
  exit 1
fi
containers=$(printf '%s\n' "$names" | grep -E 'std::(__[a-z]+::)?(vector|deque|list|forward_list|(unordered_)?(multi)?(map|set))<')
if [ -n "$containers" ]; then
  echo "programs that are compiled with _GLIBCXX_DEBUG cannot call:"
  printf '%s\n' "$containers"
  exit 1
fi
echo "$(printf '%s\n' "$names" | wc -l) symbols, all of namespace atl"
