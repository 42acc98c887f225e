#!/bin/bash
# Hosts made of namespaces, for tests of jobs on several of them. See --help.
set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  cat << 'END'
usage: scripts/hosts.sh [--set NAME] up [--interfaces K] [--rdma] N
       scripts/hosts.sh [--set NAME] run [options] -n RANKS PROGRAM [arguments]
       scripts/hosts.sh [--set NAME] launch COMMAND [arguments]
       scripts/hosts.sh [--set NAME] exec HOST COMMAND [arguments]
       scripts/hosts.sh [--set NAME] link [options]
       scripts/hosts.sh [--set NAME] slurm | status | down

Makes N hosts out of namespaces of this machine and starts jobs on them through real launchers. Each host has its own network,
host name, processes, System V memory, /tmp, /dev/shm, /sys, /etc/hosts and boot id; they share the kernel, cores and
the file system. Virtual Ethernet joins them and one more, `head`, where launchers run. Needs root.

  up N      makes hosts h1 … hN (at most 32) with the addresses 198.18.0.1 … N, and head with 198.18.0.254. With
            --interfaces K (at most 4) hosts have eth1 … beside eth0, each in a network of its own: 198.19.1.1 … N
            --rdma gives each host an adapter in software over eth0, RoCE (rxe) or else iWARP (siw), called `SET-HOST`, where the
            kernel has one; /run/atoll-hosts/SET/rdma says which. Else status 77
  run       starts a job over all of them, ranks in equal shares, one host after the other
  launch    runs a command on head that calls launchers itself, which find the hosts: `launch atoll run --hosts h1,h2 -n 4 PROGRAM`
  exec      runs a command on a host (`head` is one): `exec h1 ip addr`
  link      makes the network between the hosts a worse one, or says what it is; also while a job runs
  slurm     starts munge and Slurm's daemons, for `run --launcher srun`
  status    says what there is; fails if there is nothing
  down      ends all processes on the hosts and removes everything, also what a crash has left

options of run:
  --launcher mpirun | hydra | prterun | srun  (default mpirun)  Open MPI's, MPICH's, PRRTE's; srun wants `slurm` first
  --hosts K         only the first K hosts
  --shares 1,3      ranks of each host, instead of equal shares
  --by-node         deals ranks out in turn (cyclic placement)
  --launcher-option WORD  for the launcher's command line; as often as wanted

options of link (none: says what it is, and what the forwarder has done and cost):
  --delay 200us     each frame from host to host comes later by that; us, ms or s
  --loss 0.1%       this share of frames is lost
  --reorder 1%      this share leaves without the delay, and overtakes
  --rate 1gbit      what each host can send by each interface, head included; tc's units
  --seed N          which frames are lost and which overtake, the same for the same number (default 1)
  --plain           as `up` has made it. Options that are not given are off: each call says all
  --cut HOST[:ethK] pulls the host's cables, from head as well, or that one alone; may be given several times; --mend HOST[:ethK]
                    puts them back, and ends when the host and head reach each other, by further interfaces another host
Delay, loss and order concern eth0, and not what goes between hosts and head, unless the kernel has netem, which is used where it is. Elsewhere a process carries the
frames, which is built as the target link_forwarder; where both are taken together, frames of 64 KiB are one.

Variables that begin with ATOLL_, UPCXX_, GASNET_, UCX_ or FI_ and those of sanitizers reach the ranks.

Sets of different names, up to 20 small letters and digits, do not know of each other. The standard name is made from user and path of this clone. Ends
with status 77 where such hosts cannot be made, or the launcher is not installed.
END
}

die() {
  printf 'hosts.sh: %s\n' "$*" >&2
  exit 1
}
skip() {
  printf 'hosts.sh: %s\n' "$*" >&2
  exit 77
}

set_name=$(printf '%s:%s' "$(id -u)" "$root" | cksum | awk '{printf "%08x", $1}')
while [ $# -gt 0 ]; do
  case $1 in
    --set)
      set_name=${2:?--set needs a name}
      [[ $set_name =~ ^[a-z0-9]{1,20}$ ]] || die "--set $set_name: up to 20 small letters and digits"
      shift 2
      ;;
    --help | -h) usage; exit 0 ;;
    *) break ;;
  esac
done
prefix=atoll-$set_name- # of names in /run/netns, beside which nothing is visible from outside
state=/run/atoll-hosts/$set_name
network=198.18.0

need_root() {
  [ "$(id -u)" -eq 0 ] || skip "making hosts needs root: run this as root or with sudo"
  local tool
  for tool in ip nsenter unshare mount setsid; do
    command -v $tool > /dev/null || skip "$tool is not installed (Debian: iproute2, util-linux)"
  done
}

host_count() { cat "$state/count" 2> /dev/null || echo 0; }
interface_count() { cat "$state/interfaces" 2> /dev/null || echo 1; }
has_adapters() { [ -e "$state/rdma" ] && echo yes || echo no; }
name_of() { [ "$1" -eq 0 ] && echo head || echo "h$1"; }
space_of() { echo "/run/netns/$prefix$1"; }

# Runs a command in the namespaces of a host. A process number is believed only if it is still in the host's network: it may be another's.
enter() {
  local host=$1 first
  shift
  first=$(cat "$state/$host.pid" 2> /dev/null) || die "there is no host $host in the set $set_name; hosts.sh up N makes some"
  [ "/proc/$first/ns/net" -ef "$(space_of "$host")" ] || die "host $host is gone; hosts.sh down, then up"
  local spaces=(-n -u -i -m)
  [ "$host" = head ] || spaces+=(-p)
  nsenter -t "$first" "${spaces[@]}" env --chdir="$PWD" "$@"
}

# The first process of a host. It hides what hosts do not share, says its number, and sleeps until it is killed.
begin_host() {
  local host=$1 spaces=(-u -i -m)
  [ "$host" = head ] || spaces+=(-p -f --mount-proc --kill-child)
  # shellcheck disable=SC2016
  setsid nsenter --net="$(space_of "$host")" unshare "${spaces[@]}" bash -c '
    set -e
    host=$1 state=$2 root=$3
    hostname "$host"
    if [ "$host" != head ]; then
      cat /proc/sys/kernel/random/uuid > "$state/$host.boot_id"
      mount --bind "$state/$host.boot_id" /proc/sys/kernel/random/boot_id
    fi
    mount --bind "$state/hosts" /etc/hosts
    mount -t sysfs sysfs /sys
    # A clone below /tmp stays in sight.
    mkdir -p "$state/$host.tmp"
    mount -t tmpfs -o mode=1777 tmpfs "$state/$host.tmp"
    case $root in /tmp/*) mkdir -p "$state/$host.tmp/${root#/tmp/}"; mount --bind "$root" "$state/$host.tmp/${root#/tmp/}" ;; esac
    mount --rbind "$state/$host.tmp" /tmp
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    : > "$state/$host.ready"
    exec sleep infinity' "host $prefix$host" "$host" "$state" "$root" > "$state/$host.log" 2>&1 < /dev/null &
}

up() {
  local count interfaces=1 rdma=no i k
  while [ $# -gt 1 ]; do
    case $1 in
      --interfaces) interfaces=$2; shift ;;
      --rdma) rdma=yes ;;
      *) break ;;
    esac
    shift
  done
  [ $# -eq 1 ] || die "up [--interfaces K] [--rdma] N"
  count=$1
  need_root
  [[ $interfaces =~ ^[1-4]$ ]] || die "--interfaces $interfaces: from 1 to 4"
  if ! [[ $count =~ ^[1-9][0-9]?$ && $count -le 32 ]]; then die "up $count: from 1 to 32 hosts"; fi
  if [ -e "$state/count" ]; then
    check > /dev/null && [ "$(host_count) $(interface_count) $(has_adapters)" = "$count $interfaces $rdma" ] && { say_status; return; }
    die "the set $set_name has $(host_count) hosts already or what is left of them; hosts.sh down first"
  fi
  down_quietly
  # A set that goes down just now may take the folder of all sets away before this one's lies in it.
  for ((i = 1; i <= 20; i++)); do mkdir -p "$state" 2> /dev/null && break; done
  chmod 711 /run/atoll-hosts "$state" || die "cannot make $state"
  trap 'down_quietly' EXIT
  {
    echo '127.0.0.1 localhost'
    echo "$network.254 head"
    for ((i = 1; i <= count; i++)); do echo "$network.$i h$i"; done
  } > "$state/hosts"
  ip netns add "${prefix}head" 2> "$state/log" ||
    skip "this system lets nobody make network namespaces: $(cat "$state/log")"
  (
    set -e
    head=(ip -n "${prefix}head")
    ip netns exec "${prefix}head" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 || true
    "${head[@]}" link add bridge type bridge
    "${head[@]}" addr add "$network.254/15" dev bridge
    "${head[@]}" link set lo up
    "${head[@]}" link set bridge up
    for ((k = 1; k < interfaces; k++)); do
      "${head[@]}" link add "bridge$k" type bridge
      "${head[@]}" link set "bridge$k" up
    done
    for ((i = 1; i <= count; i++)); do
      ip netns add "${prefix}h$i"
      ip netns exec "${prefix}h$i" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 || true
      "${head[@]}" link add "to-h$i" type veth peer name eth0 netns "${prefix}h$i"
      "${head[@]}" link set "to-h$i" master bridge up
      ip -n "${prefix}h$i" addr add "$network.$i/15" dev eth0
      ip -n "${prefix}h$i" link set lo up
      ip -n "${prefix}h$i" link set eth0 up
      for ((k = 1; k < interfaces; k++)); do
        "${head[@]}" link add "to-h$i-$k" type veth peer name "eth$k" netns "${prefix}h$i"
        "${head[@]}" link set "to-h$i-$k" master "bridge$k" up
        ip -n "${prefix}h$i" addr add "198.19.$k.$i/24" dev "eth$k"
        ip -n "${prefix}h$i" link set "eth$k" up
      done
    done
  ) > "$state/log" 2>&1
  # shellcheck disable=SC2181
  [ $? -eq 0 ] || skip "this system cannot join network namespaces: $(tail -n 1 "$state/log")"
  [ $rdma = no ] || add_adapters "$count"
  for ((i = 0; i <= count; i++)); do
    begin_host "$(name_of $i)"
  done
  for ((i = 0; i <= count; i++)); do
    await_host "$(name_of $i)"
  done
  write_agent
  echo "$interfaces" > "$state/interfaces"
  echo "$count" > "$state/count"
  trap - EXIT
  say_status
}

# Waits for a host to be ready and notes its first process: of those in its network the one that sleeps.
await_host() {
  local host=$1 process
  for ((tries = 0; tries < 500; tries++)); do
    if [ -e "$state/$host.ready" ]; then
      for process in $(ip netns pids "$prefix$host"); do
        if [ "$(cat "/proc/$process/comm" 2> /dev/null)" = sleep ]; then
          echo "$process" > "$state/$host.pid"
          return
        fi
      done
    fi
    sleep 0.02
  done
  echo "hosts.sh: host $host does not start: $(cat "$state/$host.log")" >&2
  exit 77
}

check() {
  local host
  [ -e "$state/count" ] || return 1
  for host in head $(seq -f 'h%.0f' "$(host_count)"); do
    [ "/proc/$(cat "$state/$host.pid" 2> /dev/null)/ns/net" -ef "$(space_of "$host")" ] || return 1
  done
}

say_status() {
  check || die "the set $set_name has no hosts"
  echo "set $set_name: $(host_count) hosts, h1 to h$(host_count), $network.1 to $network.$(host_count); launchers on head, $network.254"
}

# All processes in the hosts' networks are theirs, also those whose first process is gone.
down_quietly() {
  local space process rounds
  for space in /run/netns/"$prefix"*; do
    [ -e "$space" ] || continue
    for ((rounds = 0; rounds < 100; rounds++)); do
      process=$(ip netns pids "${space##*/}")
      [ -n "$process" ] || break
      # shellcheck disable=SC2086
      kill -KILL $process 2> /dev/null
      sleep 0.02
    done
    ip netns del "${space##*/}" 2> /dev/null
  done
  rm -rf "$state"
  rmdir /run/atoll-hosts 2> /dev/null
  return 0
}

# Variables for the ranks, by name.
exported() { compgen -e | grep -E '^(ATOLL|UPCXX|GASNET|UCX|FI)_|^(ASAN|LSAN|TSAN|UBSAN)_OPTIONS$'; }

run() {
  local launcher=mpirun ranks='' hosts shares='' by_node=no more=() i
  hosts=$(host_count)
  while [ $# -gt 0 ]; do
    case $1 in
      --launcher) launcher=${2:?--launcher needs a name}; shift 2 ;;
      --hosts) hosts=${2:?--hosts needs a number}; shift 2 ;;
      --shares) shares=${2:?--shares needs numbers}; shift 2 ;;
      --by-node) by_node=yes; shift ;;
      --launcher-option) more+=("${2:?--launcher-option needs a word}"); shift 2 ;;
      -n) ranks=${2:?-n needs a number}; shift 2 ;;
      --) shift; break ;;
      -*) usage >&2; die "unknown option $1" ;;
      *) break ;;
    esac
  done
  need_root
  check || die "the set $set_name has no hosts, or some are gone; hosts.sh down, then hosts.sh up N"
  [ $# -gt 0 ] || die "run: no program"
  [[ $ranks =~ ^[1-9][0-9]*$ ]] || die "run: -n RANKS says how many ranks"
  if ! [[ $hosts =~ ^[1-9][0-9]*$ && $hosts -le $(host_count) ]]; then die "--hosts $hosts: there are $(host_count)"; fi
  local share=()
  if [ -n "$shares" ]; then
    IFS=, read -r -a share <<< "$shares"
    [ ${#share[@]} -le "$hosts" ] || die "--shares $shares: there are $hosts hosts"
    hosts=${#share[@]}
  else
    [ $((ranks % hosts)) -eq 0 ] || die "$ranks ranks are no equal shares of $hosts hosts; --shares gives others"
    for ((i = 0; i < hosts; i++)); do share+=($((ranks / hosts))); done
  fi
  local list='' sum=0
  for ((i = 0; i < hosts; i++)); do
    [[ ${share[i]} =~ ^[1-9][0-9]*$ ]] || die "--shares $shares: each is a number from 1 on"
    sum=$((sum + share[i]))
    list+=,h$((i + 1)):${share[i]}
  done
  [ $sum -eq "$ranks" ] || die "--shares $shares makes $sum ranks, not $ranks"
  case $launcher in
    mpirun | hydra | prterun | srun) "run_$launcher" "${list#,}" "$ranks" "$by_node" "$@" ;;
    *) die "--launcher $launcher: mpirun, hydra, prterun or srun" ;;
  esac
}

. "$root/scripts/hosts_launchers.sh"
. "$root/scripts/hosts_links.sh"

[ $# -gt 0 ] || { usage >&2; exit 2; }
command=$1
shift
case $command in
  up) up "$@" ;;
  run) run "$@" ;;
  launch) need_root; [ $# -ge 1 ] || die "launch COMMAND"; launch "$@" ;;
  exec) need_root; [ $# -ge 2 ] || die "exec HOST COMMAND"; enter "$@" ;;
  link) link "$@" ;;
  status) need_root; say_status ;;
  slurm) slurm ;;
  down) need_root; down_quietly ;;
  *) usage >&2; die "unknown command $command" ;;
esac
