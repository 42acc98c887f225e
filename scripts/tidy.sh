#!/bin/bash
# Runs clang-tidy over the compiled files of the library, tools and applications, or over the files given.
#   scripts/tidy.sh [file.cpp ...]        uses (and makes, if need be) build/dev
set -u
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

find_clang_tidy() { command -v clang-tidy-16 || command -v clang-tidy; }
tidy=$(find_clang_tidy) || {
  # shellcheck disable=SC2086
  install_packages $packages_tidy
  tidy=$(find_clang_tidy) || die "clang-tidy not found (Debian package clang-tidy-16)"
}
[ -f build/dev/compile_commands.json ] || configure dev
if [ $# -eq 0 ]; then
  mapfile -t files < <(git ls-files 'src/*.cpp' 'tools/*.cpp' 'apps/*.cpp')
  set -- "${files[@]}"
fi
printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -n 1 "$tidy" -p build/dev --quiet 2> "$log_folder/tidy.err" |
  tee "$log_folder/tidy.log"
found=$(grep -c 'warning:\|error:' "$log_folder/tidy.log")
echo "$# files, $found findings"
[ "$found" -eq 0 ]
