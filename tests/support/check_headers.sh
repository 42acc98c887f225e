#!/bin/bash
# Every header compiles alone, and twice over: those that programs name in two modes (unchecked and single-threaded; checked and
# multi-threaded, with the definitions of preset `checked`), those behind them in the latter, internal ones once, but for those that
# the source file beside them includes first: the build has compiled these alone. With CI=true in the environment only those that
# programs name, in one mode, a fifth of the work: where the others lack an include, these or the build do, unless it is the order
# that hides it.
#   check_headers.sh <compiler> <C++ standard> <source folder> [jobs]
set -u
compiler=$1 standard=$2 root=$3 jobs=${4:-2}
cd "$root" || exit 2

check_one() {  # compiler standard "header flags"
  local compiler=$1 standard=$2 header=${3%% *} flags=${3#* }
  local output
  # shellcheck disable=SC2086
  if ! output=$(printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
                "$compiler" -std="c++$standard" -fsyntax-only -Wall -Wextra -Iinclude -Isrc $flags -x c++ - 2>&1) ||
     [ -n "$output" ]; then
    printf '%s (%s):\n%s\n\n' "$header" "$flags" "$output"
    return 1
  fi
}
export -f check_one

{
  find include -name '*.hpp' -o -name '*.cuh' | sort | while read -r header; do
    case ${header%/*} in
      include/upcxx | include/upcxx/experimental | include/atoll) ;;
      *) [ -z "${CI:-}" ] || continue ;;
    esac
    # A bridge to a library that is not installed here cannot be compiled; its first lines name what it needs.
    need=$(sed -n '1,15s|^// header check: needs <\(.*\)>.*|\1|p' "$header")
    if [ -n "$need" ] && ! echo "#include <$need>" | "$compiler" -std="c++$standard" -fsyntax-only -x c++ - 2>/dev/null; then
      echo "skipped $header: <$need> is not here" >&2
      continue
    fi
    # Programs may have included <complex.h>, which Kokkos' own headers do not bear.
    case $need in Kokkos*) imaginary= ;; *) imaginary=-DI=_Complex_I ;; esac
    printf '%s\0' "${header#include/} -DUPCXX_THREADMODE=1 -DNDEBUG $imaginary"
    [ "${header%/*}" = include/upcxx ] && [ -z "${CI:-}" ] && printf '%s\0' "${header#include/} -DUPCXX_CODEMODE=1"
  done
  [ -n "${CI:-}" ] || find src -name '*.hpp' -printf '%P\n' | while read -r header; do
    grep -sm 1 '^#include' "src/${header%.hpp}.cpp" | grep -qF "\"$header\"" || printf '%s\0' "$header -DUPCXX_CODEMODE=1"
  done
} | xargs -0 -P "$jobs" -I{} bash -c 'check_one "$@"' _ "$compiler" "$standard" {} > "${TMPDIR:-/tmp}/headers.$$"
status=$?
cat "${TMPDIR:-/tmp}/headers.$$"
rm -f "${TMPDIR:-/tmp}/headers.$$"
exit $((status != 0))
