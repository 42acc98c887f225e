# shellcheck shell=bash disable=SC2034
# Sourced by demo.sh, test.sh and .ci/run: messages, packages, Python, builds. Bash.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' red=$'\e[31m' plain=$'\e[0m'
else
  bold='' red='' plain=''
fi

say() { printf '%s==> %s%s\n' "$bold" "$*" "$plain"; }
die() {
  printf '%s%s: %s%s\n' "$red" "${0##*/}" "$*" "$plain" >&2
  exit 1
}

# Debian packages by purpose. Nothing is built without `build`; `use` makes demo.sh's picture and comparison; `test` has
# what tests call beside libraries: a user's makefile is one of them. With `sanitize` continuous integration compiles for sanitizers. `clusters`:
# hosts of namespaces, launchers beside Open MPI's, and what says which devices networks find, for people.
packages_build="g++ cmake ninja-build ccache pkg-config libdw1 libcli11-dev libsqlite3-dev nlohmann-json3-dev libhwloc-dev libpmix-dev libucx-dev libfabric-dev"
packages_use="libopenmpi-dev openmpi-bin libtrilinos-kokkos-dev python3 python3-matplotlib"
packages_test="libgtest-dev libgmock-dev libbenchmark-dev libdw-dev make git"
packages_sanitize="clang-16 libclang-rt-16-dev lld-16 llvm-16"
packages_clusters="iproute2 mpich libmpich-dev slurm-wlm munge ucx-utils libfabric-bin"
packages_docs="doxygen python3-sphinx python3-myst-parser python3-breathe python3-sphinx-rtd-theme python3-matplotlib"
packages_format="clang-format-14 git"
packages_tidy="clang-tidy-16 git"

# Installs the Debian packages that are missing; says so first. Does nothing when all are there.
install_packages() {
  command -v dpkg-query > /dev/null || {
    say "Not a Debian system: please see to it that these are installed: $*"
    return 0
  }
  local missing=() installed package
  installed=$(dpkg-query -W -f '${db:Status-Abbrev}/${Package}/\n' "$@" 2> /dev/null)
  for package in "$@"; do
    grep -q "^ii.*/$package/" <<< "$installed" || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0

  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null || die "these packages are missing and neither root nor sudo is at hand: ${missing[*]}"
    sudo=(sudo)
  fi
  say "Installing with apt-get: ${missing[*]}"
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  # Package lists may be absent (fresh containers) or older than the archive: fetch them only when the first try fails.
  if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" > "$log_folder/apt.log" 2>&1 < /dev/null; then
    say "Fetching the package lists first"
    "${apt[@]}" update >> "$log_folder/apt.log" 2>&1 < /dev/null ||
      die "apt-get update failed; see $log_folder/apt.log"
    "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >> "$log_folder/apt.log" 2>&1 < /dev/null ||
      die "apt-get install failed; see $log_folder/apt.log"
  fi
}

# Prints the first Python that can draw, or fails.
find_plotting_python() {
  local candidate
  for candidate in "${ATOLL_PYTHON:-}" python3 /usr/bin/python3; do
    if [ -n "$candidate" ] && "$candidate" -c 'import matplotlib' 2> /dev/null; then
      command -v "$candidate"
      return 0
    fi
  done
  return 1
}

# Jobs for compiling: one a core, fewer when memory is short (a translation unit of tests takes up to 1 GiB).
build_jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
  [ "$memory" -lt 1 ] && memory=1
  echo $((cores < memory ? cores : memory))
}

# Configures a preset, quietly when nothing is new. Arguments: preset, more CMake options.
configure() {
  local preset=$1
  shift
  say "Configuring build/$preset"
  cmake --preset "$preset" -S "$root" "$@" > "$log_folder/configure-$preset.log" 2>&1 ||
    { tail -n 40 "$log_folder/configure-$preset.log" >&2; die "configuration failed; see $log_folder/configure-$preset.log"; }
  sed -n '/^-- Atoll /,$ { s/^-- /    /; /Configuring done/,$ d; /[^ ]/ p }' "$log_folder/configure-$preset.log"
}

# Builds targets of a preset; shows the compiler's words only on failure. Arguments: preset, targets (none: all).
build() {
  local preset=$1 begin=$SECONDS
  shift
  say "Building build/$preset${*:+ ($*)}"
  local command=(cmake --build "$root/build/$preset" -j "$(build_jobs)")
  [ $# -gt 0 ] && command+=(--target "$@")
  if [ -t 1 ]; then
    "${command[@]}" || die "the build failed"
  elif ! "${command[@]}" > "$log_folder/build-$preset.log" 2>&1; then
    grep -nE 'FAILED|error:|Error|undefined reference' "$log_folder/build-$preset.log" | head -n 40 >&2
    tail -n 20 "$log_folder/build-$preset.log" >&2
    die "the build failed; see $log_folder/build-$preset.log"
  fi
  echo "    done in $((SECONDS - begin)) s"
}

# Open MPI refuses root and more ranks than cores unless told otherwise.
allow_mpi_here() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
}

log_folder=$root/build/logs
mkdir -p "$log_folder"
cd "$root" || exit 1
