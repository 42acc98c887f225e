#!/bin/bash
# Runs a program in a network namespace with the devices d0 and d1, whose addresses it reaches over each of them. 77: not permitted here.
#   two_devices.sh <program> [arguments]
set -u
if [ "${1:-}" != --inside ]; then
  unshare -rn true 2>/dev/null || exit 77
  exec unshare -rn bash "$0" --inside "$@"
fi
shift
ip link set lo up || exit 77
for i in 0 1; do
  ip link add "d$i" type veth peer name "p$i" && ip address add "10.9.$i.1/24" dev "d$i" || exit 77
  ip link set "d$i" up && ip link set "p$i" up || exit 77
done
exec "$@"
