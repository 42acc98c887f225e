#!/bin/bash
# Builds Atoll and runs its tests. See --help.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/scripts/common.sh"

usage() {
  cat << 'END'
usage: ./test.sh [options] [-- options of ctest]

Installs the Debian packages that are missing (as root or with sudo), builds, and runs the tests. The last line is
`N passed, N failed, N skipped`.

  (none)       all tests, preset dev (checked calls)
  --release    all tests, preset release
  --asan       unit and multirank tests under AddressSanitizer and UndefinedBehaviorSanitizer
  --tsan       tests with several threads in a process, under ThreadSanitizer
  --gpu        tests of device memory on the CUDA devices of this machine, also under compute-sanitizer if it is
               installed; ends at once with words if there is no device. Without a GPU the same programs run over a driver
               that plays devices, in all of the above
  --whole      with --tsan: all unit and multirank tests, which takes half an hour on 2 cores
  --all        the default, --asan and --tsan one after the other: what continuous integration runs (with CI=true
               in the environment --asan leaves out tests labelled `extra`: code that other tests run there already,
               in another mode or in programs of the guide; and the default leaves out what --asan runs, and what is
               labelled `variant`: others show the same)
  --quick      only what takes seconds: leaves out slow tests, consumer projects and the header check;
               can be combined with the others
  --no-install do not install packages; go on with what is there
  -j N         ranks of tests that run side by side (default: five more than there are cores, as many wait for others)
  --help       this text

examples: ./test.sh -- -R rput        ./test.sh --asan -- -L unit        ./test.sh --tsan --whole
END
}

passes=() quick=no whole=no install=yes jobs=$(($(nproc) + 5)) ctest_options=()
while [ $# -gt 0 ]; do
  case $1 in
    --asan | --tsan | --release | --dev | --gpu) passes+=("${1#--}") ;;
    --all) passes+=(dev asan tsan) ;;
    --quick) quick=yes ;;
    --whole) whole=yes ;;
    --no-install) install=no ;;
    -j) jobs=${2:?-j needs a number}; shift ;;
    --help | -h) usage; exit 0 ;;
    --) shift; ctest_options=("$@"); break ;;
    *) usage >&2; die "unknown option $1" ;;
  esac
  shift
done
[ ${#passes[@]} -eq 0 ] && passes=(dev)

# Before anything is built. The driver's own tool is asked, which sees devices whatever the environment hides.
case " ${passes[*]} " in
  *" gpu "*)
    command -v nvidia-smi > /dev/null ||
      die "--gpu: no CUDA driver here: there is no nvidia-smi. Without --gpu the same tests run over a driver that plays devices"
    nvidia-smi -L 2> /dev/null | grep '^GPU' ||
      die "--gpu: no CUDA device here: nvidia-smi says: $(nvidia-smi -L 2>&1 | head -n 1)"
    command -v compute-sanitizer > /dev/null || [ -x /usr/local/cuda/bin/compute-sanitizer ] ||
      say "compute-sanitizer is not installed, so nothing runs under it"
    ;;
esac

packages="$packages_build $packages_use $packages_test"
[ -n "${CI:-}" ] && [ -z "${CXX:-}" ] && packages+=" $packages_sanitize"
# shellcheck disable=SC2086
[ $install = yes ] && install_packages $packages
allow_mpi_here
if python=$(find_plotting_python); then
  export ATOLL_PYTHON=$python
fi

passed=0 failed=0 skipped=0
trouble=()

# Reads ctest's JUnit file, since its printed summary does not count skipped tests.
count_results() {
  local file=$1 total fails skips disabled
  total=$(sed -n 's/.*\btests="\([0-9]*\)".*/\1/p' "$file" | head -n 1)
  fails=$(sed -n 's/.*\bfailures="\([0-9]*\)".*/\1/p' "$file" | head -n 1)
  skips=$(sed -n 's/.*\bskipped="\([0-9]*\)".*/\1/p' "$file" | head -n 1)
  disabled=$(sed -n 's/.*\bdisabled="\([0-9]*\)".*/\1/p' "$file" | head -n 1)
  skips=$((${skips:-0} + ${disabled:-0}))
  passed=$((passed + ${total:-0} - ${fails:-0} - skips))
  failed=$((failed + ${fails:-0}))
  skipped=$((skipped + skips))
}

run_pass() {
  local preset=$1 compiler=${CXX:-c++} targets=() options=(--output-on-failure --no-tests=error -j "$jobs") log=$log_folder/test-$1.log
  local settings=() without=()
  case $preset in
    gpu)
      targets=(gpu_tests) options+=(-L '^gpu$' -j 1)
      ;;
    asan)
      targets=(unit_tests multirank_tests) options+=(-L '^(unit|multirank)$')
      if [ -n "${CI:-}" ]; then
        without+=('^extra$')
        # What finds undefined behaviour ends the program without words, and its place is told: a tenth less to compile.
        settings=("-DCMAKE_CXX_FLAGS_DEBUG=-O0 -g1 -fsanitize-undefined-trap-on-error")
      else
        targets+=(extra_tests)
      fi
      ;;
    tsan)
      if [ $whole = yes ]; then
        targets=(unit_tests multirank_tests extra_tests) options+=(-L '^(unit|multirank)$')
      else
        targets=(threads_tests) options+=(-L '^threads$')
      fi
      ;;
  esac
  # Clang compiles sanitized tests in two thirds of GCC's time; and each of the two compiles the headers.
  if [ -n "${CI:-}" ] && [[ $preset == *san ]] && [ -z "${CXX:-}" ] && command -v clang++-16 > /dev/null; then
    compiler=clang++-16
    # What was configured with another compiler stays with it.
    [ -e "build/$preset/CMakeCache.txt" ] || settings+=(-DCMAKE_C_COMPILER=clang-16 -DCMAKE_CXX_COMPILER=clang++-16)
    # Its run-time is linked into each of some hundred programs, by a linker that takes a third of the time.
    if command -v ld.lld-16 > /dev/null; then
      settings+=(-DCMAKE_{EXE,SHARED,MODULE}_LINKER_FLAGS=-fuse-ld=lld)
    fi
  fi
  # Where nobody debugs, debug information down to lines is enough, and files are compiled together: half of the compilation is
  # gone. -Og compiles a seventh faster, and loses the frames by which misuses name a line of the program.
  if [ "$preset" = dev ] && [ -n "${CI:-}" ]; then
    # Nothing runs there on a GPU, so that kernels are compiled for the oldest architecture only.
    settings=("-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1" -DCMAKE_UNITY_BUILD=ON -DCMAKE_CUDA_ARCHITECTURES=75-real)
    # What all passes together run need not run twice, but for the programs that people use.
    case " ${passes[*]} " in *" asan "*) settings+=(-DATOLL_TEST_ONCE=ON) ;; esac
  fi
  # GCC tidies up its memory again and again from 128 MiB on: a tenth of its time, where each job has the gigabyte that it needs else.
  if [ -n "${CI:-}" ] && "$compiler" -v 2>&1 | grep -q '^gcc version'; then
    settings+=("-DCMAKE_CXX_FLAGS=${CXXFLAGS:-} --param ggc-min-heapsize=1048576")
  fi
  [ $quick = yes ] && without+=(slow consumer tree)
  [ -n "${CI:-}" ] && without+=('^variant$')
  # One expression: ctest leaves out what matches all of several.
  [ ${#without[@]} -gt 0 ] && options+=(-LE "$(IFS='|'; echo "${without[*]}")")
  configure "$preset" "${settings[@]}"
  build "$preset" "${targets[@]}"
  say "Testing build/$preset"
  local begin=$SECONDS
  rm -f "$log_folder/$preset.xml"
  ctest --test-dir "build/$preset" "${options[@]}" "${ctest_options[@]}" --output-junit "$log_folder/$preset.xml" \
    2>&1 < /dev/null | tee "$log" |
    sed -u -E '/tests passed, [0-9]+ tests? failed/,$ d; /^ +Start +[0-9]+:|^Test project|^$/ d'
  if [ ! -s "$log_folder/$preset.xml" ]; then
    tail -n 20 "$log"
    die "ctest did not run; see $log"
  fi
  count_results "$log_folder/$preset.xml"
  local cases
  cases=$(sed -n 's/.*\[  PASSED  \] \([0-9]*\) test.*/\1/p' "build/$preset/Testing/Temporary/LastTest.log" |
          awk '{n += $1} END {print n + 0}')
  echo "    $preset: $((SECONDS - begin)) s, $cases GoogleTest cases; log: $log"
  while read -r line; do
    trouble+=("$preset: $line")
  done < <(sed -n '/^The following tests FAILED/,/^$/ s/^[[:space:]]*[0-9]* - //p' "$log")
}

for pass in "${passes[@]}"; do
  run_pass "$pass"
done

if [ ${#trouble[@]} -gt 0 ]; then
  say "Failed or not run"
  printf '    %s\n' "${trouble[@]}"
fi
say "Summary of ${passes[*]} after $SECONDS s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
