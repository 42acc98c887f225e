#!/bin/bash
# Runs a job that must fail, and checks how: expect_failure.sh RANKS PATTERN [PATTERN...] -- [launcher options --] program args...
#
# The job must end by itself with a status other than 0, say something that matches every pattern (extended
# regular expressions, on either stream; one after `once: ` must match exactly one line), and leave behind no process, no temporary file and nothing in /dev/shm.
# Where `--timeout` is among the options, a job that does not say all of it has ten times as much time in a second run: a slow machine
# may not have come so far.
set -u

ranks=$1
shift
patterns=()
while [[ $1 != -- ]]; do
  patterns+=("$1")
  shift
done
shift
options=()
if [[ $1 == -* ]]; then
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp"
token="atoll-robust-$$-$RANDOM"
# What other tests have there meanwhile comes and goes.
shm_before=$(ls -A /dev/shm 2>/dev/null | grep -i atoll)
new_in_shm() { ls -A /dev/shm 2>/dev/null | grep -i atoll | grep -vxF -e "$shm_before"; }

# A job that hangs is ended by the timeout of the test itself; 124 and 137 are statuses that the launcher may choose.
run() {
  TMPDIR=$work/tmp atoll run -n "$ranks" "${options[@]}" "$@" "$token" >"$work/output" 2>&1
  status=$?
}
# What is missing in what was said, a line each.
missing() {
  for pattern in "${patterns[@]}"; do
    if [[ $pattern == "once: "* ]]; then
      [[ $(grep -Ec -- "${pattern#once: }" "$work/output") -eq 1 ]] || echo "not one line matches '${pattern#once: }'"
    else
      grep -Eq -- "$pattern" "$work/output" || echo "no line matches '$pattern'"
    fi
  done
}
failed=0
complain() {
  echo "FAILED: $*"
  failed=1
}

run "$@"
for ((i = 0; i < ${#options[@]}; ++i)); do
  if [[ ${options[i]} == --timeout && -n $(missing) ]]; then
    options[i + 1]=$((10 * options[i + 1]))
    run "$@"
  fi
done
[[ $status -ne 0 ]] || complain "the job ended with status 0"
while IFS= read -r what; do
  complain "$what"
done < <(missing)

# One look at all processes, which need not be read one by one; grep itself must not have the token among its arguments.
printf '%s\n' "$token" >"$work/token"
left=""
while read -r cmdline; do
  left+=" ${cmdline//[^0-9]/}"
done < <(grep -laFf "$work/token" /proc/[0-9]*/cmdline 2>/dev/null)
if [[ -n $left ]]; then
  complain "processes left behind:$left"
  kill -9 $left 2>/dev/null
fi
[[ -z $(ls -A "$work/tmp") ]] || complain "temporary files left behind: $(ls -A "$work/tmp")"
for ((looks = 0; looks < 300; ++looks)); do
  [[ -n $(new_in_shm) ]] || break
  sleep 0.1
done
[[ $looks -lt 300 ]] || complain "left in /dev/shm: $(new_in_shm)"

if [[ $failed -ne 0 ]]; then
  echo "status $status, output:"
  cat "$work/output"
fi
exit $failed
