"""Runs atoll-heat3d under the launchers and compares with reference values.

The values come from an independent serial program with compensated sums; means are compared at 1e-12, cells at
1e-12, and fields of different process grids and back ends bit for bit.
"""

import argparse
import shutil
import sys
import tempfile

from device_cases import devices, gpu, graph, kernel
from harness import Bench, Failure
from host_cases import backends, faults, grids, mpi, reference
from output_cases import errors, progress, results
from study_cases import report, study

GROUPS = {f.__name__: f for f in (reference, grids, backends, devices, gpu, graph, kernel, faults, results, progress, errors, mpi, study, report)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launcher", required=True)
    parser.add_argument("--heat3d", required=True)
    parser.add_argument("--mpirun")
    parser.add_argument("--kokkos-needs-device", action="store_true", help="leave that back end out")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--hosts", help="simulated hosts of the runs on that many ranks")
    parser.add_argument("group", choices=GROUPS)
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="heat3d-")
    try:
        GROUPS[arguments.group](Bench(arguments, folder))
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
