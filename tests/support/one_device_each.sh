#!/bin/sh
# Runs a program as one rank of a job that sees one CUDA device only: one_device_each.sh DEVICES program args...
# DEVICES is how many the host has, or "all", for as many as nvidia-smi lists.
devices=$1
shift
[ "$devices" = all ] && devices=$(nvidia-smi -L | grep -c '^GPU')
CUDA_VISIBLE_DEVICES=$((${ATOLL_RANK:-0} % devices))
export CUDA_VISIBLE_DEVICES
exec "$@"
