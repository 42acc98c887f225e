# shellcheck shell=bash disable=SC2154
# Sourced by hosts.sh: launchers on its hosts. Each function of a launcher is called with the hosts and their shares (h1:2,h2:2), the
# number of ranks, `yes` for cyclic placement, and the program. `more`: words of the user for its command line. Bash.

hosts_of() { printf '%s' "$1" | sed 's/:[0-9]*//g'; }

# What launchers call instead of ssh: options, host, command. As with ssh, nothing of the launcher's environment comes along.
write_agent() {
  cat > "$state/agent" << END
#!/bin/bash
while [ \$# -gt 0 ]; do
  case \$1 in -l | -p | -o) shift 2 ;; -*) shift ;; *) break ;; esac
done
host=\$1
shift
case \$host in $network.*) host=h\${host#$network.} ;; esac
first=\$(cat "$state/\$host.pid") && [ "/proc/\$first/ns/net" -ef "/run/netns/$prefix\$host" ] || { echo "no host \$host" >&2; exit 255; }
exec nsenter -t "\$first" -n -u -i -m -p -r env -i PATH="\$PATH" HOME="\$HOME" LANG=C sh -c "cd /; \$*"
END
  chmod +x "$state/agent"
}

# Settings by which launchers that others call get to the hosts.
launch() {
  check || die "the set $set_name has no hosts, or some are gone; hosts.sh down, then hosts.sh up N"
  enter head env OMPI_MCA_plm_rsh_agent="$state/agent" OMPI_MCA_oob_tcp_if_include=198.18.0.0/15 \
    OMPI_MCA_btl_tcp_if_include=198.18.0.0/15 HYDRA_LAUNCHER=rsh HYDRA_LAUNCHER_EXEC="$state/agent" \
    SLURM_CONF="$state/slurm/slurm.conf" "$@"
}

run_mpirun() {
  local list=$1 ranks=$2 by_node=$3 words name
  shift 3
  command -v mpirun > /dev/null || skip "mpirun is not installed (Debian: openmpi-bin)"
  words=(mpirun --host "$list" --mca plm_rsh_agent "$state/agent" --mca oob_tcp_if_include 198.18.0.0/15 --mca btl_tcp_if_include 198.18.0.0/15 --mca btl_base_warn_component_unused 0
    --mca rmaps_base_oversubscribe 1 --mca hwloc_base_binding_policy none)
  [[ " ${more[*]} " == *' pml '* ]] || words+=(--mca pml ob1 --mca btl 'self,vader,tcp')
  [ "$by_node" = yes ] && words+=(--map-by node)
  for name in $(exported); do words+=(-x "$name"); done
  enter head env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "${words[@]}" "${more[@]}" -n "$ranks" "$@"
}

run_hydra() {
  local list=$1 ranks=$2 by_node=$3 words spread=()
  shift 3
  words=$(command -v mpiexec.hydra) || skip "mpiexec.hydra is not installed (Debian: mpich)"
  # One rank after the other on each.
  [ "$by_node" = yes ] && list=$(hosts_of "$list") && spread=(-ppn 1)
  # Once span for half a minute without an end of its input.
  enter head "$words" -localhost "$network.254" -launcher rsh -launcher-exec "$state/agent" -hosts "$list" "${spread[@]}" "${more[@]}" \
    -n "$ranks" "$@" < /dev/null
}

run_prterun() {
  local list=$1 ranks=$2 by_node=$3 words name place order=''
  shift 3
  words=$(command -v "${PRTERUN:-prterun}") || skip "prterun is not installed; PRTERUN=path says where"
  place=$(cd "$(dirname "$words")/.." && pwd)
  [ "$by_node" = yes ] && order=node
  words=("$words" --host "$list" --prtemca plm_ssh_agent "$state/agent" --prtemca prte_if_include 198.18.0.0/15
    --map-by "$order:oversubscribe" --bind-to none)
  for name in $(exported); do words+=(-x "$name"); done
  enter head env PRTE_PREFIX="$place" OPAL_PREFIX="$place" PMIX_PREFIX="$place" PRTE_ALLOW_RUN_AS_ROOT=1 \
    PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 "${words[@]}" "${more[@]}" -n "$ranks" "$@"
}

# One munge serves all, since they share the file system; Slurm's controller is on head, a daemon on each host.
slurm() {
  local tool i
  need_root
  check || die "the set $set_name has no hosts, or some are gone; hosts.sh down, then hosts.sh up N"
  [ ! -e "$state/slurm/started" ] || return 0
  for tool in munged slurmctld slurmd srun; do
    command -v $tool > /dev/null || skip "$tool is not installed (Debian: munge, slurm-wlm)"
  done
  mkdir -p "$state/slurm/munge" "$state/slurm/state"
  head -c 128 /dev/urandom > "$state/slurm/munge/key"
  chmod 700 "$state/slurm/munge/key" && chmod 755 "$state/slurm/munge"
  chown -R munge "$state/slurm/munge"
  chmod 400 "$state/slurm/munge/key"
  cat > "$state/slurm/slurm.conf" << END
ClusterName=atoll
SlurmctldHost=head($network.254)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$state/slurm/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
SelectType=select/linear
ReturnToService=2
StateSaveLocation=$state/slurm/state
SlurmctldPidFile=$state/slurm/slurmctld.pid
SlurmctldLogFile=$state/slurm/slurmctld.log
SlurmdPidFile=/tmp/slurmd.pid
SlurmdSpoolDir=/tmp/slurmd
SlurmdLogFile=/tmp/slurmd.log
MpiDefault=none
END
  for ((i = 1; i <= $(host_count); i++)); do
    echo "NodeName=h$i NodeAddr=$network.$i CPUs=8 State=UNKNOWN" >> "$state/slurm/slurm.conf"
  done
  echo "PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE" >> "$state/slurm/slurm.conf"
  echo "CgroupPlugin=cgroup/v1" > "$state/slurm/cgroup.conf" # anything that asks for no controller
  export SLURM_CONF=$state/slurm/slurm.conf
  enter head setsid setpriv --reuid munge --regid munge --clear-groups munged -F -f -S "$state/slurm/munge/socket" \
    --key-file "$state/slurm/munge/key" --pid-file "$state/slurm/munge/pid" --log-file "$state/slurm/munge/log" \
    --seed-file "$state/slurm/munge/seed" > "$state/slurm/munged.log" 2>&1 < /dev/null &
  for ((tries = 0; tries < 250; tries++)); do
    [ -S "$state/slurm/munge/socket" ] && break
    sleep 0.02
  done
  enter head setsid slurmctld -i -D > "$state/slurm/controller.log" 2>&1 < /dev/null &
  for ((i = 1; i <= $(host_count); i++)); do
    enter "h$i" setsid slurmd -D -N "h$i" > "$state/slurm/h$i.log" 2>&1 < /dev/null &
  done
  for ((tries = 0; tries < 100; tries++)); do
    if [ "$(enter head sinfo -h -t idle -o %D 2> /dev/null)" = "$(host_count)" ]; then
      : > "$state/slurm/started"
      return 0
    fi
    sleep 0.1
  done
  die "Slurm does not start: $(tail -n 3 "$state"/slurm/*.log)"
}

run_srun() {
  local list=$1 ranks=$2 by_node=$3 place=block hosts count
  shift 3
  command -v srun > /dev/null || skip "srun is not installed (Debian: slurm-client)"
  [ -e "$state/slurm/started" ] || die "Slurm does not run on these hosts; hosts.sh slurm starts it"
  [ -z "$shares" ] || die "srun takes no shares"
  [ "$by_node" = yes ] && place=cyclic
  hosts=$(hosts_of "$list")
  count=$(tr , '\n' <<< "$hosts" | wc -l)
  enter head env SLURM_CONF="$state/slurm/slurm.conf" srun -w "$hosts" -N "$count" -n "$ranks" \
    --ntasks-per-node $((ranks / count)) -m "$place" --overcommit "${more[@]}" "$@" < /dev/null
}
