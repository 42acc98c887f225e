#!/bin/bash
# The shared library offers namespace atl and nothing else: no standard-library leftovers, no C names.
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
echo "$(printf '%s\n' "$names" | wc -l) symbols, all of namespace atl"
