#!/bin/bash
# Jobs on several hosts in all ways, over good links and bad ones. See --help.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat << 'END'
usage: scripts/clusters.sh [options] [part ...]

Runs on the hosts of scripts/hosts.sh what continuous integration has no time for (that has the label `clusters`), over UCX and libfabric.
Installs the Debian packages that are missing and builds all tests of several ranks first. Parts, by default all:

  launchers     calls between 2, 3 and 4 hosts of 1, 2 and 4 ranks under each launcher, by blocks and in turn
  mixed         MPI and Atoll in one program, with the same ranks
  cuts          under each launcher: a cable that is out for nearly five seconds, one that stays out, a host whose ranks die behind it, or with
                them the launcher's daemon, and one that is shut down
  cables        one of several cables of a host, used or not, and all of them
  applications  heat3d and hpgmg, which check their numbers, on all links
  suite         all tests of several ranks and all examples, on all links
  bundles       small messages to all ranks of a host together (ATOLL_BUNDLES_BY_HOST), on good, bad and far links
  conformance   the suite of the transports, each rank in the network of another host
  rdma          that suite and two programs over adapters in software (rxe, siw), where the kernel has them

options:
  --minutes N       start nothing after that
  --launchers LIST  of mpirun,hydra,pmi2,pmix (all four by default; pmi2 and pmix are srun's) and prterun
  --match REGEX     only jobs whose line matches
  --preset NAME     the build (default dev)
  --no-build        take what is there
  --no-install      do not install packages; what needs those that are missing is skipped

Links: plain; slow (1 Gbit/s); bad (0.2 ms later, 0.5 % lost, 2 % overtaking); far (2 ms later, 1 Gbit/s). A failure prints the end of the output
and how to repeat it. The last line is `N passed, N failed, N skipped`. Needs root.
END
}

preset=dev build=yes install=yes words=()
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --preset) preset=${2:?--preset needs a name}; shift ;;
    --no-build) build=no ;;
    --no-install) install=no ;;
    --minutes | --launchers | --match) words+=("$1" "${2:?$1 needs a value}"); shift ;;
    -*) usage >&2; die "unknown option $1" ;;
    *) words+=("$1") ;;
  esac
  shift
done
# shellcheck disable=SC2086
[ $install = yes ] && install_packages $packages_build $packages_use $packages_test $packages_clusters
if [ $build = yes ]; then
  configure "$preset"
  build "$preset"
fi
exec python3 tests/clusters/matrix.py --programs "build/$preset" --preset "$preset" "${words[@]}"
