#!/usr/bin/env python3
"""Runs the multigrid benchmark with every way of communicating, as the study of naturally grained messages did.

One grid of boxes on 1, 2, 4, 8 and 16 ranks (strong scaling), or with --weak the same number of boxes for each rank. The variants take
turns at each rank count, so that they meet the same machine. All runs land in FOLDER/runs.db, which `atoll report` draws; a
study that was interrupted is continued by the same command.
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "share", "atoll"))
from studies import NO_MPI, CannotStudy, Study, argument_parser, numbers, output_of, parse, run_study  # noqa: E402


class MultigridStudy(Study):
    def __init__(self, options):
        super().__init__(HERE, "atoll-hpgmg", options)
        self.variants = self.chosen_variants()
        if not options.weak:
            self.require_one_grid()

    def require_one_grid(self):
        """Solves of grids of different sizes say nothing about more ranks."""
        o = self.options
        sides = {ranks: self.cells_per_side(ranks) for ranks in o.ranks}
        first = sides[o.ranks[0]]
        others = [f"{side}³ on {ranks}" for ranks, side in sides.items() if side != first]
        if others:
            raise CannotStudy(f"--boxes {o.boxes}: the grids of {2 ** o.box}³ boxes are not the same for all --ranks: {first}³ cells on "
                              f"{o.ranks[0]} rank{'s' if o.ranks[0] > 1 else ''}, but {', '.join(others)}; choose others, or --weak")

    def cells_per_side(self, ranks):
        status, text, errors = output_of([self.application, str(self.options.box), str(self.boxes_per_rank(ranks)), "--grid-of", str(ranks)])
        if status != 0:
            raise CannotStudy(errors.strip())
        return int(text)

    def chosen_variants(self):
        _, text, _ = output_of([self.application, "--help"])
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
        return self.rows(
            "SELECT best_s, mean_s, hpgmg_runs.cells FROM hpgmg_runs JOIN hpgmg_sizes USING (run) WHERE level = 0 AND log2_box = ? "
            "AND boxes_per_rank = ? AND ranks = ? AND threads = ? AND comm = ? AND operator = ? AND smoother = ? AND box_order = ? AND "
            "cycle = 'f' AND periodic = 0 AND helmholtz = 0 AND passed IS NOT 0 ORDER BY run", self.key(ranks, variant))

    def run(self, ranks, variant):
        """One run. Returns what to print of it if it failed."""
        o = self.options
        words = [o.box, self.boxes_per_rank(ranks), "--operator", o.operator, "--smoother", o.smoother, "--order", o.order,
                 "--comm", variant, "--threads", o.threads, "--seconds", o.seconds, "--solves", o.solves, "--warmup", o.warmup]
        status, text = self.start(ranks, words, variant == "mpi")
        if status == 0:
            return None
        ours = [line.split(": ", 1)[1] for line in text.splitlines() if line.startswith(("atoll-hpgmg: ", "WRONG: "))]
        return self.failed(ours[0] if ours else "it took too long" if status == 124 else f"status {status}")

    def result(self, ranks, variant, turn):
        """What to print of a run, which is made unless it was before."""
        done_before = len(self.runs(ranks, variant)) > turn
        if not done_before:
            self.show_running(f"{ranks} ranks  {variant}")
            problem = self.run(ranks, variant)
            if problem:
                return problem
        best, mean, cells = self.runs(ranks, variant)[turn if done_before else -1]
        return f"{1e3 * best:10.4f} ms best, {1e3 * mean:10.4f} mean, {cells}³ cells{'  (done before)' if done_before else ''}"

    def run_all(self):
        o = self.options
        shared = f"{o.boxes} boxes of {2 ** o.box}³ cells {'for each rank' if o.weak else 'in all'}"
        print(f"hpgmg-study: {o.operator}, {o.smoother}, {shared}; {o.seconds:g} s of solves for each of three sizes, "
              f"{o.repeat} time{'s' if o.repeat > 1 else ''} each, on {', '.join(map(str, o.ranks))} ranks\n"
              f"variants: {', '.join(self.variants)}")
        if "mpi" not in self.variants:
            print(NO_MPI)
        for turn in range(o.repeat):
            for ranks in o.ranks:
                for variant in self.variants:
                    self.say(f"{ranks:>3} rank{'s' if ranks > 1 else ' '}  {variant:<9} {self.result(ranks, variant, turn)}")


def main():
    parser = argument_parser("atoll hpgmg-study", __doc__, "hpgmg-study")
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
    options = parse(parser)
    if options.boxes is None:
        options.boxes = 1 if options.weak else 64
    run_study("atoll hpgmg-study", MultigridStudy, options)


if __name__ == "__main__":
    main()
