#!/usr/bin/env python3
"""Measures on this machine's GPUs what docs/performance.md has goals for, and says which are reached.

The first table is of `atoll bench gpu`, the second of atoll-heat3d: cubes on one and more GPUs, beside whatever limit
program is given, and with CUDA-aware MPI where --mpi-cuda says how its ranks are started.
"""

import argparse
import csv
import functools
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

# Edge, and for 1, 2 and 4 GPUs the goal in µs a step of each exchange; of several in one row the fastest counts.
GOALS = [
    (100, ("device",), (7, 6, 5)),
    (100, ("graph",), (10, 10, 12)),
    (200, ("device",), (46, 26, 16)),
    (400, ("device", "rma"), (320, 165, 88)),
    (800, ("device", "rma"), (2450, 1240, 640)),
]
GPUS = (1, 2, 4)
# Enough that a run takes a second, and few enough that 300 small numbers do not spread in the larger cubes.
STEPS = {100: 8000, 200: 3000, 400: 280, 800: 150}


def gpus_here():
    try:
        return subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True, check=False).stdout.count("GPU ")
    except FileNotFoundError:
        return 0


def run(command, what):
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"gpu_goals.py: {what} ended with {result.returncode}: {' '.join(command)}\n{result.stdout}")
    return result.stdout


def heat3d(options, start, edge, exchange, folder):
    """Mean and median of the steps of one run, in µs."""
    steps, times = options.steps or STEPS[edge], Path(folder) / "times.csv"
    words = ["-X", edge, "-Y", edge, "-Z", edge, "-N", steps, "-I", steps, "--warmup", min(300, steps // 2)]
    words += ["--backend", options.backend, "--exchange", exchange, "--times", times]
    run([*start, options.heat3d, *map(str, words)], f"atoll-heat3d --exchange {exchange}")
    with open(times, encoding="ascii") as file:
        rows = list(csv.reader(file))[1:]
    seconds = [max(float(each) for each in row[1:]) for row in rows]
    return 1e6 * statistics.mean(seconds), 1e6 * statistics.median(seconds)


def show(row):
    print("{:>6} {:>4}  {:<10} {:>9} {:>9} {:>9} {:>7}  {}".format(*row), flush=True)


@functools.lru_cache(None)
def limit_of(program, edge, gpus):
    """µs a step of the limit program, which prints them last."""
    if not program:
        return "-"
    text = run([*shlex.split(program), str(edge), str(gpus)], "the limit program")
    numbers = re.findall(r"[0-9]+(?:\.[0-9]+)?", text)
    return numbers[-1] if numbers else "-"


def measure_heat(options, gpus):
    print("heat3d, µs a step: the mean of all steps, the best of the runs in turn, and the median step of that run")
    show(("cells", "GPUs", "exchange", "mean", "median", "limit", "goal", ""))
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for edge, exchanges, goals in GOALS:
            if options.edges and edge not in options.edges:
                continue
            for ranks, goal in zip(GPUS, goals):
                if ranks > gpus:
                    continue
                start = [options.atoll, "run", "-n", str(ranks)]
                found = {each: [] for each in exchanges}
                for _ in range(options.repeat):
                    for each in exchanges:
                        found[each].append(heat3d(options, start, edge, each, folder))
                best = {each: min(values) for each, values in found.items()}
                reached = min(best.values())[0] <= goal
                missed += not reached
                limit = limit_of(options.limit, edge, ranks)
                for each, (mean, median) in best.items():
                    show((f"{edge}³", ranks, each, f"{mean:.1f}", f"{median:.1f}", limit, goal, "reached" if reached else "MISSED"))
        if options.mpi_cuda and gpus >= 2:
            start = shlex.split(options.mpi_cuda.replace("{}", str(min(gpus, 4))))
            for edge in options.edges or STEPS:
                mean, median = heat3d(options, start, edge, "mpi-cuda", folder)
                show((f"{edge}³", min(gpus, 4), "mpi-cuda", f"{mean:.1f}", f"{median:.1f}", "-", "-", ""))
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--atoll", default="atoll", help="the launcher (atoll in PATH)")
    parser.add_argument("--heat3d", default="atoll-heat3d", help="the program (atoll-heat3d in PATH)")
    parser.add_argument("--gpus", type=int, help="use at most so many (all that nvidia-smi lists)")
    parser.add_argument("--backend", default="cuda", help="of atoll-heat3d (cuda)")
    parser.add_argument("--edges", type=lambda text: [int(each) for each in text.split(",")], help="cubes to run (100,200,400,800)")
    parser.add_argument("--steps", type=int, help="steps of each run (8000, 3000, 280, 150)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, in turn (3)")
    parser.add_argument("--limit", metavar="PROGRAM", help="called with edge and GPUs, prints µs a step last")
    parser.add_argument("--mpi-cuda", metavar="COMMAND", help="starts {} ranks of a CUDA-aware MPI: 'mpirun -n {}'")
    parser.add_argument("--heat-only", action="store_true", help="leave `atoll bench gpu` out")
    options = parser.parse_args()
    unknown = set(options.edges or ()) - set(STEPS)
    if unknown:
        parser.error(f"--edges: there are goals for {', '.join(map(str, STEPS))}, not for {', '.join(map(str, sorted(unknown)))}")
    gpus = options.gpus if options.gpus is not None else gpus_here()
    if gpus == 0:
        sys.exit("gpu_goals.py: no GPU here: nvidia-smi lists none")
    failed = 0
    if not options.heat_only:
        for ranks in (2, 4) if gpus >= 4 else (2,) if gpus >= 2 else (1,):
            failed += subprocess.run([options.atoll, "bench", "gpu", "--ranks", str(ranks)], check=False).returncode
    missed = measure_heat(options, gpus)
    print(f"heat3d: {missed} goals missed" if missed else "heat3d: all goals reached")
    sys.exit(1 if missed or failed else 0)


if __name__ == "__main__":
    main()
