#!/usr/bin/env python3
"""Runs the multigrid benchmark with every way of communicating, as the study of naturally grained messages did.

One grid of boxes on 1, 2, 4, 8 and 16 ranks (strong scaling), or with --weak the same number of boxes for each rank. The variants take
turns at each rank count, so that they meet the same machine. All runs land in FOLDER/runs.db, which `atoll report` draws; a
study that was interrupted is continued by the same command.
"""

import argparse
import os
import re
import shutil
import sqlite3
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "share", "atoll"))
from studies import MPI_SETTINGS, CannotStudy, numbers, program, run_logged, run_study  # noqa: E402


class Study:
    def __init__(self, options):
        self.options = options
        self.launcher, self.hpgmg = program(HERE, "atoll"), program(HERE, "atoll-hpgmg")
        self.mpirun = shutil.which("mpirun")
        os.makedirs(options.output, exist_ok=True)
        self.database = os.path.join(options.output, "runs.db")
        self.log = os.path.join(options.output, "study.log")
        self.variants = self.chosen_variants()
        self.failures = 0
        self.began = time.monotonic()

    def chosen_variants(self):
        _, text = run_logged([self.hpgmg, "--help"], {}, 60, os.devnull)
        listed = re.search(r"How data moves between ranks: ([^\n]*(?:\n {20,}[^\n]*)*)", text)
        built = re.findall(r"[+a-z]+", listed.group(1)) if listed else []
        wanted = self.options.variants.split(",") if self.options.variants else None
        for name in wanted or []:
            if name not in built:
                raise CannotStudy(f"--variants: {name} is unknown; this build has {', '.join(built)}")
        if wanted and "mpi" in wanted and not self.mpirun:
            raise CannotStudy("--variants: mpi needs mpirun in PATH")
        return [v for v in wanted or built if v != "mpi" or self.mpirun]

    def boxes_per_rank(self, ranks):
        """Of the grid that all rank counts share: the fewest that give each box a rank."""
        return self.options.boxes if self.options.weak else -(-self.options.boxes // ranks)

    def key(self, ranks, variant):
        o = self.options
        return (o.box, self.boxes_per_rank(ranks), ranks, o.threads, variant, o.operator, o.smoother, o.order)

    def runs(self, ranks, variant):
        """Best solves, mean solves and cells of the runs of this kind that are in the database."""
        if not os.path.exists(self.database):
            return []
        connection = sqlite3.connect(self.database, timeout=60)
        try:
            return connection.execute(
                "SELECT best_s, mean_s, hpgmg_runs.cells FROM hpgmg_runs JOIN hpgmg_sizes USING (run) WHERE level = 0 AND log2_box = ? "
                "AND boxes_per_rank = ? AND ranks = ? AND threads = ? AND comm = ? AND operator = ? AND smoother = ? AND box_order = ? AND "
                "cycle = 'f' AND periodic = 0 AND helmholtz = 0 ORDER BY run", self.key(ranks, variant)).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise
        finally:
            connection.close()

    def run(self, ranks, variant):
        """One run. Returns what to print of it if it failed."""
        o = self.options
        words = [self.hpgmg, o.box, self.boxes_per_rank(ranks), "--operator", o.operator, "--smoother", o.smoother, "--order", o.order,
                 "--comm", variant, "--threads", o.threads, "--seconds", o.seconds, "--solves", o.solves, "--warmup", o.warmup, "--results", self.database]
        start = [self.mpirun, "-n", ranks] if variant == "mpi" else [self.launcher, "run", "-n", ranks, "--timeout", o.timeout]
        status, text = run_logged([str(word) for word in start + words], MPI_SETTINGS if variant == "mpi" else {}, o.timeout, self.log)
        if status == 0:
            return None
        self.failures += 1
        ours = [line.split(": ", 1)[1] for line in text.splitlines() if line.startswith(("atoll-hpgmg: ", "WRONG: "))]
        why = ours[0] if ours else "it took too long" if status == 124 else f"status {status}"
        return f"FAILED: {why}; see {self.log}"

    def one(self, ranks, variant, turn):
        before = self.runs(ranks, variant)
        problem = None
        if len(before) <= turn:
            if sys.stdout.isatty():
                minutes = (time.monotonic() - self.began) / 60
                sys.stdout.write(f"\r\033[K{ranks} ranks  {variant} ...  ({minutes:.1f} min so far)")
                sys.stdout.flush()
            problem = self.run(ranks, variant)
        if sys.stdout.isatty():
            sys.stdout.write("\r\033[K")
        if problem:
            rest = problem
        else:
            best, mean, cells = self.runs(ranks, variant)[turn]
            rest = f"{1e3 * best:10.4f} ms best, {1e3 * mean:10.4f} mean, {cells}³ cells{'  (done before)' if len(before) > turn else ''}"
        print(f"{ranks:>3} rank{'s' if ranks > 1 else ' '}  {variant:<9} {rest}", flush=True)

    def run_all(self):
        o = self.options
        shared = f"{o.boxes} boxes of {2 ** o.box}³ cells {'for each rank' if o.weak else 'in all'}"
        print(f"hpgmg-study: {o.operator}, {o.smoother}, {shared}; {o.seconds:g} s of solves for each of three sizes, "
              f"{o.repeat} time{'s' if o.repeat > 1 else ''} each, on {', '.join(map(str, o.ranks))} ranks\n"
              f"variants: {', '.join(self.variants)}")
        if "mpi" not in self.variants:
            print("message passing is left out: no MPI in this build, no mpirun in PATH, or not asked for")
        for turn in range(o.repeat):
            for ranks in o.ranks:
                for variant in self.variants:
                    self.one(ranks, variant, turn)


def main():
    parser = argparse.ArgumentParser(prog="atoll hpgmg-study", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="hpgmg-study", metavar="FOLDER", help="folder of the results (%(default)s)")
    parser.add_argument("--ranks", type=numbers, default=[1, 2, 4, 8, 16], help="numbers of ranks (1,2,4,8,16)")
    parser.add_argument("--threads", type=int, default=1, help="of each rank (%(default)s)")
    parser.add_argument("--box", type=int, default=4, choices=range(4, 10), metavar="LOG2",
                        help="boxes have 2^LOG2 cells per side (%(default)s)")
    parser.add_argument("--boxes", type=int, help="boxes in all (64), or for each rank with --weak (1)")
    parser.add_argument("--weak", action="store_true", help="as many boxes for each rank, whatever their number")
    parser.add_argument("--operator", default="7pt", choices=("fv4", "fv2", "7pt"), help="%(default)s")
    parser.add_argument("--smoother", default="cheby", choices=("gsrb", "cheby"), help="%(default)s, as in the study")
    parser.add_argument("--order", default="lex", choices=("default", "lex", "bisection", "primes"), help="%(default)s, as in the study")
    parser.add_argument("--variants", help="which of those that --comm of atoll-hpgmg has (all)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of timed solves of each size (%(default)s)")
    parser.add_argument("--solves", type=int, default=10, help="at least (%(default)s)")
    parser.add_argument("--warmup", type=int, default=3, help="solves before them (%(default)s)")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each variant, in turn (%(default)s)")
    parser.add_argument("--timeout", type=int, default=3600, help="seconds that a run may take (%(default)s)")
    parser.add_argument("--no-report", action="store_true", help="draw nothing at the end")
    options = parser.parse_args()
    if options.boxes is None:
        options.boxes = 1 if options.weak else 64
    run_study("atoll hpgmg-study", Study, options)


if __name__ == "__main__":
    main()
