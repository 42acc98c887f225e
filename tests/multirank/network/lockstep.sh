#!/bin/bash
# Jobs in lockstep over the simulated network:
#   lockstep.sh repeats RANKS PROGRAM   two runs from one seed are the same, and one from another seed is not
#   lockstep.sh watchdog PROGRAM        a rank that does not poll loses its turn, and is named
set -u

case $1 in
  repeats)
    ranks=$2
    program=$3
    # Of each rank: how many packets, and a digest of what they were and in which turn they came.
    digests() {
      ATOLL_SIM_SEED=$1 UPCXX_VERBOSE=1 atoll run -n "$ranks" "$program" 2>&1 |
        sed -n 's/.*\(rank [0-9]*\) of .*lockstep: seed.*: \([0-9]* packets, digest .*\)/\1: \2/p' | sort
    }
    first=$(digests 7)
    second=$(digests 7)
    other=$(digests 8)
    failed=0
    [[ $(wc -l <<<"$first") -eq $ranks ]] || failed="not all of $ranks ranks have told a digest"
    [[ $first == "$second" ]] || failed="two runs from one seed differ"
    [[ $first != "$other" ]] || failed="the seed makes no difference"
    ;;
  watchdog)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    first=$(atoll run -n 2 "$2" "$work/others_went_on" 2>&1) || failed="the job failed"
    second= other=
    words='rank 0 of 2 .*lockstep: rank 1 has not called the library for 50 ms; its turn was passed on'
    grep -q "$words" <<<"$first" && failed=0 || failed="nobody says '$words'"
    ;;
esac
[[ $failed == 0 ]] && exit
printf '%s\n' "$failed" "$first" "$second" "$other"
exit 1
