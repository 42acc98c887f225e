#!/bin/bash
# Runs the randomised tests for long. See --help.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in --help | -h)
  cat << 'END'
usage: scripts/fuzz.sh [seconds] [serialization|messages|keeper]

Runs tests/fuzz for this time each (default 60 s), under AddressSanitizer and UndefinedBehaviorSanitizer. With
clang++ (CLANGXX, default clang++-16) the cases come from libFuzzer, which looks for inputs that reach new code and
keeps them in build/fuzz/<name>-corpus; without it they come from random seeds. A case that fails is printed with the
command that repeats it.
END
  exit 0 ;;
esac
seconds=${1:-60}
programs=(${2:-serialization messages keeper})
clangxx=${CLANGXX:-clang++-16}
# The compiler may be there without libFuzzer (Debian: libclang-rt-16-dev).
echo 'extern "C" int LLVMFuzzerTestOneInput(unsigned char const*, unsigned long) { return 0; }' |
  "$clangxx" -x c++ -fsanitize=fuzzer,address,undefined - -o /dev/null 2> /dev/null || clangxx=
[ -z "$clangxx" ] && say "No libFuzzer here: random seeds only"
preset=asan
configure "$preset"
build "$preset" "${programs[@]/%/_fuzz}"
status=0
for program in "${programs[@]}"; do
  if [ -n "$clangxx" ]; then
    mkdir -p "build/fuzz/$program-corpus"
    sources=(tests/fuzz/driver.cpp "tests/fuzz/${program}_fuzz.cpp")
    [ "$program" = messages ] && sources+=(tests/transport/fabric.cpp)
    # The library's own sources take part, so that libFuzzer sees which of their paths are reached.
    mapfile -t library < <(find src/base src/transport src/memory/{segment,block}_allocator.cpp \
      src/upcxx/serialization.cpp -name '*.cpp')
    [ "$program" = keeper ] && library=(src/bootstrap/keeper/{conversation,frames,sha256}.cpp)
    say "Compiling build/fuzz/$program"
    "$clangxx" -std=c++20 -O1 -g1 -fsanitize=fuzzer,address,undefined -DATOLL_LIBFUZZER -Iinclude -Isrc -Itests \
      "${sources[@]}" "${library[@]}" -lgtest -pthread -o "build/fuzz/$program" || { status=1; continue; }
    say "Fuzzing $program for $seconds s"
    "build/fuzz/$program" -max_total_time="$seconds" -timeout=60 -artifact_prefix="build/fuzz/$program-" \
      -print_final_stats=1 "build/fuzz/$program-corpus" > "build/fuzz/$program.log" 2>&1 ||
      { status=1; tail -n 40 "build/fuzz/$program.log"; }
    grep -E 'number_of_executed_units|DONE' "build/fuzz/$program.log"
  fi
  say "Random seeds for $program, $seconds s"
  "build/$preset/tests/${program}_fuzz" --seconds "$seconds" || status=1
done
exit $status
