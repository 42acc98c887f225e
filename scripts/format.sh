#!/bin/bash
# Checks the formatting of the C++ files that git tracks; with --fix, repairs it.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

clang_format=$(command -v clang-format || command -v clang-format-14 || command -v clang-format-16) || {
  # shellcheck disable=SC2086
  install_packages clang-format
  clang_format=$(command -v clang-format) || die "clang-format not found (Debian package clang-format)"
}
mapfile -t files < <(git ls-files '*.cpp' '*.hpp' '*.cuh' '*.cu')
[ ${#files[@]} -eq 0 ] && die "no files to check: is this a git clone?"

if [ "${1:-}" = --fix ]; then
  "$clang_format" -i "${files[@]}"
  exit
fi
bad=()
while read -r file; do
  bad+=("$file")
done < <(printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 8 "$clang_format" --dry-run 2>&1 |
         sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: warning: code should be clang-formatted.*/\1/p' | sort -u)
if [ ${#bad[@]} -gt 0 ]; then
  echo "not formatted as .clang-format says ($("$clang_format" --version | grep -o 'version [0-9]*')); scripts/format.sh --fix repairs it:"
  printf '  %s\n' "${bad[@]}"
  exit 1
fi
echo "${#files[@]} files are formatted"
