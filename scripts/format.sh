#!/bin/bash
# Checks the formatting of the C++ files that git tracks; with --fix, repairs it.
#   scripts/format.sh [--fix [file ...]]
set -u
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Releases differ in small things, so the tree follows one of them: 14, Debian 12's, which Ubuntu 24.04 has as well.
find_clang_format() { command -v clang-format-14 || command -v clang-format; }
clang_format=$(find_clang_format) || {
  # shellcheck disable=SC2086
  install_packages $packages_format
  clang_format=$(find_clang_format) || die "clang-format not found (Debian package clang-format-14)"
}
version=$("$clang_format" --version | sed 's/.*version \([0-9]*\).*/\1/')
mapfile -t files < <(git ls-files '*.cpp' '*.hpp' '*.cuh' '*.cu')
[ ${#files[@]} -eq 0 ] && die "no files to check: is this a git clone?"

if [ "${1:-}" = --fix ]; then
  shift
  [ $# -gt 0 ] && files=("$@")
  "$clang_format" -i "${files[@]}"
  exit
fi
# The texts are compared: --dry-run also reports replacements that change nothing.
mapfile -t bad < <(printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 1 bash -c \
  '"$0" "$1" | cmp -s - "$1" || echo "$1"' "$clang_format" | sort)
if [ ${#bad[@]} -gt 0 ]; then
  echo "not formatted as .clang-format says; scripts/format.sh --fix repairs it:"
  printf '  %s\n' "${bad[@]}"
  if [ "$version" != 14 ]; then
    echo "this was clang-format $version; only 14 is binding"
    exit 0
  fi
  exit 1
fi
echo "${#files[@]} files are formatted"
