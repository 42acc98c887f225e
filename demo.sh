#!/bin/bash
# Shows what Atoll does: builds it, runs the heat simulation on several ranks, and draws the results. See --help.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/scripts/common.sh"

usage() {
  cat << 'END'
usage: ./demo.sh [options]

Installs the Debian packages that are missing (as root or with sudo), builds the release preset, and runs a 3D heat
simulation on several ranks of this machine: once with one-sided communication and, if MPI is installed, once with
message passing. Both check their result. Tables and pictures land in build/demo.

  -n N           ranks (default 4)
  -s SIZE        cells in each direction (default 100)
  -N STEPS       time steps (default 1000)
  --no-install   do not install packages; go on with what is there
  --help         this text
END
}

ranks=4 size=100 steps=1000 install=yes
while [ $# -gt 0 ]; do
  case $1 in
    -n) ranks=${2:?-n needs a number}; shift ;;
    -s) size=${2:?-s needs a number}; shift ;;
    -N) steps=${2:?-N needs a number}; shift ;;
    --no-install) install=no ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; die "unknown option $1" ;;
  esac
  shift
done

# shellcheck disable=SC2086
[ $install = yes ] && install_packages $packages_build $packages_use
allow_mpi_here
if python=$(find_plotting_python); then
  export ATOLL_PYTHON=$python
else
  say "No Python with matplotlib: there will be no pictures (Debian package python3-matplotlib)"
  python=
fi

configure release
build release atoll atoll-heat3d

out=$root/build/demo
bin=$root/build/release/bin
rm -rf "$out"
mkdir -p "$out"
simulation=("$bin/atoll-heat3d" -X "$size" -Y "$size" -Z "$size" -N "$steps" --results "$out/results.db")
slice=()
[ -n "$python" ] && slice=(--slice "$out/temperature.png")

say "Heat on $ranks ranks, one-sided communication"
printf '    $'; printf ' %s' atoll run -n "$ranks" "${simulation[@]##*/}" --exchange rma; echo
"$bin/atoll" run --localhost -n "$ranks" "${simulation[@]}" --exchange rma "${slice[@]}" || die "the simulation failed"

if command -v mpirun > /dev/null && grep -q '^ATOLL_MPI_AVAILABLE:INTERNAL=TRUE' build/release/CMakeCache.txt; then
  say "The same with message passing, under MPI's launcher"
  mpirun -n "$ranks" "${simulation[@]}" --exchange mpi || die "the simulation with message passing failed"
fi

if [ -n "$python" ]; then
  say "Drawing the report"
  "$bin/atoll" report "$out/results.db" -o "$out" || die "atoll report failed"
fi

say "Done in $SECONDS s. Look at"
find "$out" -type f \( -name '*.png' -o -name '*.html' \) | sort | sed 's/^/    /'
echo "    $out/results.db"
