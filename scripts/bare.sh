#!/bin/bash
# The README's two commands on bare systems. See --help.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat << 'END'
usage: scripts/bare.sh [options] [debian] [ubuntu] [-- options of ./test.sh]

Makes a fresh root of Debian 12 and one of Ubuntu 24.04 with debootstrap, with the minimal base system, git and
ca-certificates in them and nothing else, clones the commit that is checked out here into each, and runs ./demo.sh and ./test.sh
there, as a newcomer would: this finds what the scripts forget to install. Needs root, debootstrap, the archives, 6 GB for
each system, and hours where cores are few. The last lines say how each command ended; output is kept in build/logs.

  debian, ubuntu      the systems (default: both)
  --demo, --test      this command only (default: both)
  --folder DIR        where the roots are made (default build/bare); it must allow device nodes
  --keep              leave the roots there; otherwise they are removed, also after a failure and Ctrl-C
  --debian-mirror URL, --ubuntu-mirror URL
                      archives (default: that of this machine's apt if it is the same system, otherwise debootstrap's own)
  --help              this text

Mounts and processes live in namespaces of their own, so that nothing is left of them. Packages come by way of this machine's
proxies: the usual variables and the settings of apt are taken over.

examples: scripts/bare.sh        nice scripts/bare.sh debian --test -- --quick
END
}

systems=() commands=() folder=$root/build/bare keep=no test_options=()
declare -A mirror=([debian]='' [ubuntu]='') codename=([debian]=bookworm [ubuntu]=noble)
while [ $# -gt 0 ]; do
  case $1 in
    debian | ubuntu) systems+=("$1") ;;
    --demo | --test) commands+=("${1#--}") ;;
    --folder) folder=${2:?--folder needs a folder}; shift ;;
    --keep) keep=yes ;;
    --debian-mirror | --ubuntu-mirror)
      system=${1#--}
      mirror[${system%-mirror}]=${2:?$1 needs a URL}
      shift
      ;;
    --help | -h) usage; exit 0 ;;
    --) shift; test_options=("$@"); break ;;
    *) usage >&2; die "unknown option $1" ;;
  esac
  shift
done
[ ${#systems[@]} -eq 0 ] && systems=(debian ubuntu)
[ ${#commands[@]} -eq 0 ] && commands=(demo test)

[ "$(id -u)" -eq 0 ] || die "only root can make such roots and mount in them"
command -v debootstrap > /dev/null || die "debootstrap not found (Debian package debootstrap)"
git rev-parse --verify --quiet HEAD > /dev/null || die "what is tested is a commit: this must be a git clone"
[ -z "$(git status --porcelain)" ] || say "Changes that are not committed take no part"
mkdir -p "$folder"
folder=$(realpath "$folder")

bare='' child=''
remove_root() {
  # What was killed may be about to die: what it still wrote goes with the second try.
  rm -rf --one-file-system "$bare" "$folder/keys" 2> /dev/null || { sleep 1; rm -rf --one-file-system "$bare"; }
  rmdir "$folder" 2> /dev/null
}
clean_up() {
  # The first process of a namespace takes all others and its mounts with it.
  [ -n "$child" ] && kill -KILL "$child" 2> /dev/null && wait "$child" 2> /dev/null
  [ -z "$bare" ] || [ "$keep" = yes ] || remove_root
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Runs a command with mounts and processes of its own. Its output goes to a log and, if so wanted, is shown.
in_namespace() {
  local log=$1 show=$2
  shift 2
  : > "$log"
  # A shell's background processes ignore Ctrl-C unless told otherwise, and tests send that signal.
  env --default-signal=INT,QUIT unshare --mount --pid --fork --kill-child --mount-proc "$@" > "$log" 2>&1 < /dev/null &
  child=$!
  [ "$show" = no ] || tail -n +1 -s 0.5 -f --pid=$child "$log" &
  local reader=$! status=0
  wait "$child" || status=$?  # both in the background: a signal to this script is heard at once
  child=''
  wait $reader
  return $status
}

# Runs a command in the clone inside the root, in an environment that says only what a login and a proxy say.
inside() {
  local log=$1
  shift
  local proxies=() name
  for name in http_proxy https_proxy ftp_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [ -n "${!name:-}" ] && proxies+=("$name=${!name}")
  done
  # shellcheck disable=SC2016
  in_namespace "$log" yes bash -c '
    set -e
    bare=$1
    shift
    mount -t proc proc "$bare/proc"
    mount --rbind /sys "$bare/sys"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$bare/dev/pts"
    mkdir -p "$bare/dev/shm"
    mount -t tmpfs -o mode=1777 tmpfs "$bare/dev/shm"
    set +e
    env -i "$@"
    exit $?  # and no exec: this shell is the one that looks after orphans
  ' bash "$bare" "${proxies[@]}" HOME=/root USER=root LOGNAME=root SHELL=/bin/bash TERM=dumb \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    chroot "$bare" /bin/bash -c 'cd /root/atoll && exec "$@"' bash "$@"
}

# Prints the file with the archive's keys. Ubuntu's are in a package of Debian's backports, whose keys are here.
keys_of() {
  local system=$1 keys=/usr/share/keyrings/$1-archive-keyring.gpg
  if [ ! -f "$keys" ] && [ "$system" = ubuntu ] && [ -n "$(mirror_here debian)" ]; then
    local place=$folder/keys
    mkdir -p "$place/lists/partial" "$place/archives/partial"
    echo "deb $(mirror_here debian) bookworm-backports main" > "$place/sources.list"
    local apt=(apt-get -q -o "Dir::Etc::SourceList=$place/sources.list" -o Dir::Etc::SourceParts=/dev/null
               -o "Dir::State::Lists=$place/lists" -o "Dir::Cache::Archives=$place/archives" -o APT::Sandbox::User=root
               -o Dir::Cache::PkgCache= -o Dir::Cache::SrcPkgCache=)
    (cd "$place" && "${apt[@]}" update && "${apt[@]}" download ubuntu-keyring &&
      dpkg-deb -x ubuntu-keyring_*.deb .) > "$log_folder/bare-keys.log" 2>&1
    keys=$place$keys
  fi
  [ -f "$keys" ] && echo "$keys"
}

# Prints what this machine's apt takes from the archive of a system: address, release, component.
archives_here() {
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2> /dev/null |
    sed -n "s/^$1 //Ip"
}

# Prints the address of a system's archive if this machine's apt knows it.
mirror_here() { archives_here "$1" | awk '$2 !~ /-/ {print $1; exit}'; }

# Where packages come from inside: this machine's own lines if it runs the same release, otherwise the archive's usual parts.
sources_of() {
  local system=$1 name=${codename[$1]} own='' archive
  [ -n "${mirror[$system]}" ] || own=$(archives_here "$system" | awk -v name="$name" '$2 ~ "^" name "(-|$)" {print "deb", $0}')
  if [ -n "$own" ]; then
    echo "$own"
    return
  fi
  archive=$(awk '$1 == "deb" {print $2; exit}' "$bare/etc/apt/sources.list")
  if [ "$system" = ubuntu ]; then
    printf "deb $archive %s main universe\n" "$name" "$name-updates" "$name-security"
  else
    printf "deb $archive %s main\n" "$name" "$name-updates"
  fi
}

# Makes the root of a system, ready to run in.
make_root() {
  local system=$1 name=${codename[$1]} log=$log_folder/bare-$1-root.log keys script
  [ ! -e "$folder/root-$system" ] || [ -e "$folder/root-$system/etc/debian_version" ] ||
    die "$folder/root-$system is there, and no root that was kept: remove it, or choose another --folder"
  bare=$folder/root-$system
  rm -rf --one-file-system "$bare"
  say "Making a root of $system ($name) in $bare"
  keys=$(keys_of "$system") || {
    echo "    the keys of its archive are missing: /usr/share/keyrings/$system-archive-keyring.gpg (Debian packages" \
      "debian-archive-keyring, ubuntu-keyring; on Debian the latter is fetched: $log_folder/bare-keys.log)"
    return 1
  }
  local words=(debootstrap --variant=minbase "--include=git,ca-certificates" "--keyring=$keys" "$name" "$bare")
  # A release newer than debootstrap is made as those before it: its script is called sid in Debian, gutsy in Ubuntu.
  script=/usr/share/debootstrap/scripts/$name
  [ -e "$script" ] || { [ "$system" = ubuntu ] && script=${script%/*}/gutsy || script=${script%/*}/sid; }
  words+=("${mirror[$system]:-$(mirror_here "$system")}" "$script")
  if ! in_namespace "$log" no "${words[@]}"; then
    tail -n 5 "$log"
    echo "    debootstrap failed; see $log and $bare/debootstrap/debootstrap.log (kept with --keep)"
    return 1
  fi
  sources_of "$system" > "$bare/sources" && mv "$bare/sources" "$bare/etc/apt/sources.list"
  apt-config dump | grep -E '^Acquire::(https?|ftp|Check-|Retries)' > "$bare/etc/apt/apt.conf.d/99this-machine"
  cp -L /etc/resolv.conf /etc/hosts "$bare/etc/" 2> /dev/null
  git clone --quiet --no-hardlinks "$root" "$bare/root/atoll"
}

status=0
results=()
for system in "${systems[@]}"; do
  begin=$SECONDS
  if ! make_root "$system"; then
    results+=("$system: no root")
    status=1
  else
    echo "    done in $((SECONDS - begin)) s: $(. "$bare/etc/os-release" && echo "$PRETTY_NAME"), $(git rev-parse --short HEAD)"
    for command in "${commands[@]}"; do
      words=("./$command.sh")
      [ "$command" = test ] && words+=("${test_options[@]}")
      log=$log_folder/bare-$system-$command.log
      say "$system: ${words[*]}"
      begin=$SECONDS
      if inside "$log" "${words[@]}"; then
        outcome=passed
      else
        outcome="FAILED with status $?" status=1
        # What the scripts refer to, for a look at it when the root is gone.
        rm -rf "$log_folder/bare-$system"
        cp -r "$bare/root/atoll/build/logs" "$log_folder/bare-$system" 2> /dev/null &&
          outcome+="; its logs: $log_folder/bare-$system"
      fi
      last=''
      [ "$command" = test ] && last=", $(tail -n 1 "$log")"
      results+=("$system: ${words[*]}: $outcome after $((SECONDS - begin)) s$last")
    done
  fi
  [ "$keep" = yes ] || remove_root
done
say "The README's commands on bare systems"
printf '    %s\n' "${results[@]}"
exit $status
