#!/bin/bash
# Random operations for a long time. See --help.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in --help | -h)
  cat << 'END'
usage: scripts/soak.sh [minutes] [preset]

Runs tests/soak for this long (default 60 minutes; preset dev) in turns of a minute: 2, 4 and 16 ranks, thread modes seq
and par, each time with a new seed. A failure prints the seed, the phase, what differed and the command to repeat it; the
output stays in build/logs. Ends with 1 if there was any.
END
  exit 0 ;;
esac
minutes=${1:-60}
preset=${2:-dev}
configure "$preset"
build "$preset" soak_test soak_test.par atoll
end=$((SECONDS + minutes * 60))
failures=0 runs=0
while [ $SECONDS -lt $end ]; do
  for ranks in 2 4 16; do
    for program in soak_test soak_test.par; do
      left=$((end - SECONDS))
      [ $left -le 0 ] && break 2
      seed=$((RANDOM * 32768 + RANDOM)) ops=$((50 + RANDOM % 1000))
      log=$log_folder/soak-$ranks-$seed.log
      runs=$((runs + 1))
      if nice "build/$preset/bin/atoll" run -n $ranks --timeout 900 "build/$preset/tests/$program" --seed $seed --ops $ops \
        --seconds $((left < 60 ? left : 60)) > "$log" 2>&1; then
        echo "    $program, $ranks ranks, seed $seed, $ops operations a phase: $(tail -n 1 "$log")"
        rm "$log"
      else
        failures=$((failures + 1))
        say "$program failed with $ranks ranks: $log"
        tail -n 30 "$log"
      fi
    done
  done
done
say "$runs runs, $failures failures"
[ $failures -eq 0 ]
