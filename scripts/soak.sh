#!/bin/bash
# Random operations for a long time, inside a host and between simulated hosts. See --help.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat << 'END'
usage: scripts/soak.sh [--inside | --hosts] [minutes] [preset]

Runs tests with random seeds for this long (default 60 minutes; preset dev), half of the time each, or all with an option:

  --inside  tests/soak in turns of a minute: 2, 4 and 16 ranks, thread modes seq and par
  --hosts   everything that has several ranks over simulated hosts: tests of the interface, of memory kinds, flow control
            and random operations, examples, heat3d, hpgmg; each time with another placement, network and seed; and the
            random test of the network itself

A failure prints the end of the output and the command to repeat it; the output stays in build/logs. Ends with 1 if there
was any.
END
}

parts=(inside hosts)
case ${1:-} in
  --help | -h) usage; exit 0 ;;
  --inside | --hosts) parts=("${1#--}"); shift ;;
  -*) usage >&2; die "unknown option $1" ;;
esac
minutes=${1:-60}
preset=${2:-dev}
failures=0 runs=0

random_seed() { echo $((RANDOM * 32768 + RANDOM)); }
pick() { # one of the arguments
  shift $((RANDOM % $#))
  echo "$1"
}

# Runs a command with settings; counts, and on failure says how to repeat it. Arguments: name of the log, command as words for env.
attempt() {
  local log=$log_folder/soak-$1.log begin=$SECONDS status
  shift
  runs=$((runs + 1))
  nice env "$@" > "$log" 2>&1 < /dev/null
  status=$?
  if [ $status -eq 0 ] || [ $status -eq 77 ]; then
    echo "    $((SECONDS - begin)) s: $*"
    rm "$log"
  else
    failures=$((failures + 1))
    say "Failed with status $status: $log"
    tail -n 30 "$log"
    echo "To repeat it:"
    echo "    env$(printf ' %q' "$@")"
  fi
}

soak_inside() {
  local end=$1 ranks program left
  while [ $SECONDS -lt "$end" ]; do
    for ranks in 2 4 16; do
      for program in soak_test soak_test.par; do
        left=$((end - SECONDS))
        [ $left -le 0 ] && return
        attempt "$program-$runs" "build/$preset/bin/atoll" run -n $ranks --timeout 900 "build/$preset/tests/$program" \
          --seed "$(random_seed)" --ops $((50 + RANDOM % 1000)) --seconds $((left < 60 ? left : 60))
      done
    done
  done
}

# Draws placement and network, and runs a program there. Arguments: settings and `--`, then the program and its arguments.
over_hosts() {
  local settings=() layout ranks network seed
  while [ "$1" != -- ]; do
    settings+=("$1")
    shift
  done
  shift
  layout=$(pick 2x1 2x2 1,3 cyclic:2x2 4x1 cyclic:3,1,2)
  case $layout in 2x1) ranks=2 ;; cyclic:3,1,2) ranks=6 ;; *) ranks=4 ;; esac
  network=$(pick '' '' bad=yes bad=yes bad=yes,delay=100 passive=no bad=yes,passive=no,late=no vectors=no,notified=no \
    bad=yes,misses=40,longest=10000B bad=yes,coherent=no latency=20us)
  seed=$(random_seed)
  case $1 in
    *soak_test*)
      # It knows nothing of what travels, so it may have everything that other tests are too curious for.
      network=$(pick "$network" "$network" message=5us bad=yes,message=5us bad=yes,connections=1 \
        ring=128,packet=1KB,packets=2,window=2,pieces=2)
      settings+=("ATOLL_PROGRESS_THREAD=$(pick no yes)" "ATOLL_BUNDLES_BY_HOST=$(pick no yes)"
        "ATOLL_FLAT_COLLECTIVES=$(pick yes yes no)")
      [[ $1 == *.par ]] && set -- "$@" --threads $((RANDOM % 4))
      set -- "$@" --seed "$seed" --seconds 10 ;;
    *cases.py) set -- "$@" --hosts "$layout" --ranks $ranks "$(pick reference devices)" ;;
  esac
  settings+=("ATOLL_SIM_NETWORK=$network" "ATOLL_SIM_SEED=$seed" "ATOLL_NETWORK_ATOMICS=$(pick '' yes)")
  if [[ $1 == *cases.py ]]; then
    attempt "heat3d-$runs" "${settings[@]}" python3 "$@"
  else
    attempt "${1##*/}-$runs" "ATOLL_SIM_HOSTS=$layout" "${settings[@]}" "build/$preset/bin/atoll" run -n $ranks --timeout 300 "$@"
  fi
}

# One program, by the path of its executable, with what it needs.
soak_program() {
  local heap=UPCXX_SHARED_HEAP_SIZE
  case $1 in
    *multirank.kinds* | *multirank.device)
      over_hosts $heap=32M ATOLL_SIM_DEVICES=2 ATOLL_SIM_KIND=all ATOLL_MESSAGE_MEMORY=4MB -- "$1" ;;
    *multirank.direct) over_hosts $heap=64M "ATOLL_DIRECT_FROM=$(pick 1B 4KB 64KB)" -- "$1" ;;
    *flow.*) over_hosts $heap=16M "ATOLL_MESSAGE_MEMORY=$(pick 4MB 16MB 52MB)" -- "$1" ;;
    *by_messages.*) over_hosts $heap=16M -- "$1" ;;
    *hpgmg_solve_test) over_hosts $heap=128M -- "$1" "$(pick reference short)" --part "$((RANDOM % 9))/9" ;;
    *heat3d) over_hosts -- tests/heat3d/cases.py --launcher "build/$preset/bin/atoll" --heat3d "$1" ;;
    *network_random_test) attempt "network_random-$runs" "$1" --seeds "$(random_seed)" 20 ;;
    *) over_hosts $heap=16M ATOLL_SIM_DEVICES=1 OMP_NUM_THREADS=1 OMP_PROC_BIND=false -- "$1" ;;
  esac
}

soak_hosts() {
  local end=$1 tests=build/$preset/tests programs program
  # Drivers' own tests have no hosts in them; what remains needs none, or pretends by other means.
  mapfile -t programs < <(
    find "$tests" -maxdepth 1 -type f -executable \( -name 'multirank.*' -o -name 'flow.*' -o -name 'by_messages.*' \
      -o -name 'soak_test*' -o -name hpgmg_solve_test -o -name network_random_test \) |
      grep -vE 'multirank\.(gpu|hip_ze|no_device)|by_messages\.hosts'
    find "build/$preset/examples" -maxdepth 1 -type f -executable
    echo "build/$preset/bin/atoll-heat3d")
  while [ $SECONDS -lt "$end" ]; do
    while read -r program; do
      [ $SECONDS -ge "$end" ] && return
      soak_program "$program"
    done < <(printf '%s\n' "${programs[@]}" | shuf)
  done
}

configure "$preset"
targets=(soak_test soak_test.par atoll)
[[ " ${parts[*]} " == *" hosts "* ]] && targets=()
build "$preset" "${targets[@]}"
for part in "${parts[@]}"; do
  "soak_$part" $((SECONDS + minutes * 60 / ${#parts[@]}))
done
say "$runs runs, $failures failures"
[ $failures -eq 0 ]
