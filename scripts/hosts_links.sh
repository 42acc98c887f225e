# shellcheck shell=bash disable=SC2154
# Sourced by hosts.sh: what lies between its hosts. Bandwidth is a token bucket of the kernel's (tbf) where frames leave a host. Delay, loss and
# order are netem's where the kernel has it; elsewhere a process on head, tests/clusters/link_forwarder.cpp, carries all frames
# between hosts, and the bridge only those from and to head. Bash.

in_host() { ip -n "$prefix$1" "${@:2}"; }
queue() { tc -n "$prefix$1" qdisc "${@:2}"; }
each_interface() { seq -f 'eth%.0f' 0 $(($(interface_count) - 1)); }
# Of a host, h2, or of one of its interfaces, h2:eth1; as head has them.
interfaces_at() { case $1 in *:*) echo "${1#*:}" ;; *) each_interface ;; esac; }
cable_of() { [ "$2" = eth0 ] && echo "to-$1" || echo "to-$1-${2#eth}"; } # HOST INTERFACE
set_cables() {
  local interface
  for interface in $(interfaces_at "$1"); do in_host head link set dev "$(cable_of "${1%:*}" "$interface")" "$2"; done
}
each_host() { seq -f 'h%.0f' "$(host_count)"; }

link() {
  local delay='' loss='' reorder='' rate='' seed=1 plain=no cut=() mend=() change=no host
  while [ $# -gt 0 ]; do
    case $1 in
      --delay) delay=${2:?--delay needs a time}; change=yes; shift ;;
      --loss) loss=${2:?--loss needs a share}; change=yes; shift ;;
      --reorder) reorder=${2:?--reorder needs a share}; change=yes; shift ;;
      --rate) rate=${2:?--rate needs a rate}; change=yes; shift ;;
      --seed) seed=${2:?--seed needs a number}; shift ;;
      --plain) plain=yes ;;
      --cut) cut+=("${2:?--cut needs a host}"); shift ;;
      --mend) mend+=("${2:?--mend needs a host}"); shift ;;
      *) usage >&2; die "link: unknown option $1" ;;
    esac
    shift
  done
  need_root
  check || die "the set $set_name has no hosts, or some are gone; hosts.sh down, then hosts.sh up N"
  command -v tc > /dev/null && command -v bridge > /dev/null || skip "tc and bridge are not installed (Debian: iproute2)"
  [ -z "$delay" ] || [[ $delay =~ ^[0-9]+(\.[0-9]+)?(us|ms|s)$ ]] || die "--delay $delay: like 200us, 1.5ms or 1s"
  [ -z "$loss" ] || [[ $loss =~ ^[0-9]+(\.[0-9]+)?%$ ]] || die "--loss $loss: like 0.1%"
  [ -z "$reorder" ] || [[ $reorder =~ ^[0-9]+(\.[0-9]+)?%$ ]] || die "--reorder $reorder: like 1%"
  [ -z "$reorder" ] || [ -n "$delay" ] || die "--reorder needs --delay: frames overtake others that wait"
  [[ $seed =~ ^[0-9]+$ ]] || die "--seed $seed: a number"
  for host in "${cut[@]}" "${mend[@]}"; do
    each_host | grep -qx -- "${host%:*}" || die "there is no host ${host%:*} in the set $set_name"
    [ "${host#*:}" = "$host" ] || each_interface | grep -qx -- "${host#*:}" || die "host ${host%:*} has no interface ${host#*:}"
  done
  [ $plain = no ] && [ $change = no ] || make_plain
  [ $change = no ] || make_bad
  for host in "${cut[@]}"; do set_cables "$host" down; done
  for host in "${mend[@]}"; do set_cables "$host" up; done
  for host in "${mend[@]}"; do await_mended "$host"; done
  [ $plain = yes ] || [ $change = yes ] || [ $((${#cut[@]} + ${#mend[@]})) -gt 0 ] || say_link
}

# Names of adapters are those of the whole machine. They go when their interfaces do.
add_adapters() { # COUNT
  local kind words='' i
  command -v rdma > /dev/null || skip "rdma is not installed (Debian: iproute2)"
  for kind in rxe siw; do
    for ((i = 1; i <= $1; i++)); do
      words=$(ip netns exec "${prefix}h$i" rdma link add "$set_name-h$i" type $kind netdev eth0 2>&1) || continue 2
    done
    echo $kind > "$state/rdma"
    return
  done
  skip "this kernel makes no adapters in software (rxe, siw): $(tail -n 1 <<< "$words")"
}

await_mended() { # HOST[:INTERFACE]
  local host=${1%:*} other=h1 interface
  [ "$host" != h1 ] || other=h2
  for interface in $(interfaces_at "$1"); do
    if [ "$interface" = eth0 ]; then
      await_way "$host" head
      await_way head "$host"
    elif [ "$(host_count)" -gt 1 ]; then
      await_way "$host" "198.19.${interface#eth}.${other#h}"
    fi
  done
}

# Until one host reaches the other: nobody listens on this port (discard), which its system says. Three requests for a hardware address that
# went out while the cable was cut end a connection that waits for them with "No route to host" after it is mended, and launchers'
# daemons do not try again.
await_way() {
  for ((tries = 0; tries < 100; tries++)); do
    enter "$1" timeout 2 bash -c 'echo > "/dev/tcp/$1/9"' way "$2" 2>&1 | grep -q refused && return
    sleep 0.05
  done
  die "$1 does not reach $2 although its cable is mended"
}

make_plain() {
  local host interface
  if [ -e "$state/forwarder.pid" ]; then
    is_forwarder "$(cat "$state/forwarder.pid")" && kill -TERM "$(cat "$state/forwarder.pid")"
    rm -f "$state"/forwarder.*
  fi
  for host in $(each_host); do
    bridge -n "${prefix}head" link set dev "to-$host" isolated off
    for interface in $(each_interface); do queue "$host" del dev "$interface" root 2> /dev/null; done
  done
  echo plain > "$state/link"
}

# A process number is believed only if it is still the forwarder's.
is_forwarder() { [ "$(cat "/proc/$1/comm" 2> /dev/null)" = link_forwarder ]; }

make_bad() {
  local host interface place words=() by=netem
  for host in $(each_host); do
    place=(root)
    if [ -n "$rate" ]; then
      for interface in $(each_interface); do
        queue "$host" add dev "$interface" root handle 1: tbf rate "$rate" burst 256k latency 100ms || die "--rate $rate: tc does not take it"
      done
      place=(parent 1:1)
    fi
    [ -n "$delay$loss" ] || continue
    words=(netem limit 100000 ${delay:+delay "$delay"} ${loss:+loss "$loss"} ${reorder:+reorder "$reorder"})
    [ $by = forwarder ] || queue "$host" add dev eth0 "${place[@]}" "${words[@]}" 2> /dev/null || by=forwarder
  done
  [ -z "$delay$loss" ] || [ $by = netem ] || start_forwarder
  echo "${delay:+delay $delay, }${loss:+loss $loss, }${reorder:+reorder $reorder, }${rate:+rate $rate, }${delay:+by $by}" |
    sed 's/, $//' > "$state/link"
}

start_forwarder() {
  local program host ports=()
  # shellcheck disable=SC2012
  program=$(ls -t "$root"/build/*/tests/link_forwarder 2> /dev/null | head -n 1)
  [ -n "$program" ] || die "this kernel has no netem; build the target link_forwarder, which does its work"
  for host in $(each_host); do
    ports+=("to-$host=$(in_host "$host" -o link show dev eth0 | sed 's/.*ether \([0-9a-f:]*\).*/\1/')")
    bridge -n "${prefix}head" link set dev "to-$host" isolated on || die "this kernel's bridge cannot part hosts"
  done
  rm -f "$state/forwarder.report"
  setsid nsenter --net="$(space_of head)" "$program" --report "$state/forwarder.report" --seed "$seed" \
    --delay-ns "$(in_nanoseconds "${delay:-0s}")" --loss "$(as_share "$loss")" --reorder "$(as_share "$reorder")" "${ports[@]}" \
    > "$state/forwarder.log" 2>&1 < /dev/null &
  echo $! > "$state/forwarder.pid"
  for ((tries = 0; tries < 250; tries++)); do
    [ -e "$state/forwarder.report" ] && return # it begins with one; until then, a signal would end it
    [ -e "/proc/$!" ] || die "$(cat "$state/forwarder.log")"
    sleep 0.02
  done
  die "the forwarder does not start: $(cat "$state/forwarder.log")"
}

in_nanoseconds() { awk -v t="$1" 'BEGIN { s = t ~ /us$/ ? 1e3 : t ~ /ms$/ ? 1e6 : 1e9; sub(/[a-z]+$/, "", t); printf "%.0f", t * s }'; }
as_share() { awk -v p="${1:-0}" 'BEGIN { sub(/%/, "", p); printf "%.9g", p / 100 }'; }

# Leaves what the forwarder has done so far in its report.
ask_forwarder() {
  local process
  process=$(cat "$state/forwarder.pid" 2> /dev/null) && is_forwarder "$process" || return 1
  rm -f "$state/forwarder.report"
  kill -USR1 "$process"
  for ((asked = 0; asked < 100; asked++)); do
    [ -e "$state/forwarder.report" ] && return
    sleep 0.01
  done
  return 1
}

say_link() {
  local host interface
  echo "between hosts: $(cat "$state/link" 2> /dev/null || echo plain)"
  for host in $(each_host); do
    for interface in $(each_interface); do
      in_host head link show dev "$(cable_of "$host" "$interface")" | grep -q '[<,]UP[,>]' || echo "cut: $host:$interface"
    done
  done
  [ ! -e "$state/forwarder.pid" ] || { ask_forwarder && cat "$state/forwarder.report"; } || die "the forwarder has ended: $(cat "$state/forwarder.log")"
}
