#!/bin/sh
# Ranks read each other's memory only where the system allows it and a process number means the same to all:
#
#   peer_memory.sh namespaces ATOLL PROGRAM    each rank in a process namespace of its own, at equal addresses
#   peer_memory.sh yama ATOLL PROGRAM          ptrace_scope 1, without privileges: what Ubuntu has
#
# PROGRAM checks the bytes of large messages. Exit status 77: cannot be tried here.
set -eu
what=$1 atoll=$2 program=$3

skip() {
  echo "skipped: $1"
  exit 77
}

# Runs the job behind the given command and checks what it says of large messages.
expect() {
  said=$1
  shift
  status=0
  UPCXX_VERBOSE=1 timeout 150 "$atoll" run -n 3 "$@" "$program" 2>"$output" || status=$?
  grep -q "large messages: $said" "$output" && [ "$status" -eq 0 ] && return
  echo "status $status, where 'large messages: $said' was expected:"
  cat "$output"
  exit 1
}

output=$(mktemp)
before=
yama=/proc/sys/kernel/yama/ptrace_scope
trap 'rm -f "$output"; [ -z "$before" ] || echo "$before" >"$yama"' EXIT

case $what in
  namespaces)
    for user in "" -r; do
      # $user without quotes: nothing or an option
      # shellcheck disable=SC2086
      if unshare $user -pf --mount-proc setarch -R true 2>/dev/null; then
        expect "copied in pieces" unshare $user -pf --mount-proc setarch -R
        exit 0
      fi
    done
    skip "process namespaces cannot be made here"
    ;;
  yama)
    [ -e "$yama" ] || skip "the kernel has no Yama"
    if [ "$(cat "$yama")" != 1 ]; then
      old=$(cat "$yama")
      { echo 1 >"$yama"; } 2>/dev/null || skip "ptrace_scope is $old and cannot be set"
      before=$old
    fi
    if [ "$(id -u)" = 0 ]; then
      command -v setpriv >/dev/null || skip "setpriv is missing"
      # Without the capability that ignores Yama.
      expect "fetched" setpriv --reuid=65534 --regid=65534 --clear-groups
    else
      expect "fetched"
    fi
    ;;
esac
