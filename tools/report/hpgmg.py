"""Results of hpgmg runs: reads the file, makes the table. hpgmg_pictures.py draws."""

import sqlite3
from dataclasses import dataclass, field

import database
import drawing
from drawing import NothingToDraw
from hpgmg_pictures import pictures  # noqa: F401, used by report.py

TITLE = "hpgmg results"
TABLE = "hpgmg_runs"
NOTE = ("Times are of one solve of the finest grid, on rank 0: the best of all solves, the median and the mean. DOF/s is the number of cells over "
        "the mean. Ratio: the best solve over that of bulk on the same grid and ranks. Communication is rank 0's share of a solve "
        "in ghost exchanges, transfers between levels and collectives, waiting included. A sweep is one of the smoother over the finest "
        "grid, per cell, all cores together; beside it what its memory traffic would take at the rate of a triad. Lines: source that "
        "only this way of communicating needs. Runs that others disturbed, by taking cores, are left out (runs: 2/3); where all were, "
        "they are used, and the time has a ~.")
# As in the paper: what each variant adds to the one before.
VARIANTS = ["baseline", "+shm", "+local", "+vis", "+group", "bulk", "mpi", "array"]
COMMUNICATION = {"exchange", "restriction moves", "interpolation moves", "collectives"}
SMOOTHERS = {"gsrb": "Gauss-Seidel", "cheby": "Chebyshev"}


@dataclass
class Group:
    """Runs of one configuration."""

    problem: tuple  # operator, smoother, cycle, periodic, helmholtz, order of boxes, threads of each rank, hosts
    log2_box: int
    boxes_per_rank: int
    cells: int
    ranks: int
    comm: str
    every: list = field(default_factory=list)     # run of it, failed and disturbed ones too
    runs: list = field(default_factory=list)      # that figures are taken from
    sizes: list = field(default_factory=list)     # of those: level, cells, best_s, mean_s
    solves: dict = field(default_factory=dict)    # level: seconds of each timed solve that starts there
    phases: dict = field(default_factory=dict)    # (level, cells, phase): seconds of a solve of the finest grid
    messages: dict = field(default_factory=dict)  # form: list of (least bytes, messages)

    @property
    def problem_name(self):
        operator, smoother, cycle, periodic, helmholtz, _, threads, hosts = self.problem
        parts = [operator, SMOOTHERS.get(smoother, smoother)]
        parts += [{"v": "V-cycles", "fv": "F- and V-cycles"}[cycle]] if cycle in ("v", "fv") else []
        parts += ["periodic"] if periodic else []
        parts += ["Helmholtz"] if helmholtz else []
        parts += [f"{threads} threads each"] if threads > 1 else []
        parts += [hosts.words] if hosts.words else []
        return ", ".join(parts)

    def best(self, level=0):
        return min(size["best_s"] for size in self.sizes if size["level"] == level)

    def mean(self, level=0):
        values = [size["mean_s"] for size in self.sizes if size["level"] == level]
        return sum(values) / len(values)

    def spread(self, level=0):
        """Seconds of a solve: median, tenth and ninetieth percentile of all solves."""
        return drawing.spread(self.solves[level])

    @property
    def disturbed(self):
        return any(map(database.is_disturbed, self.runs))

    def seconds(self, level, communicating):
        """Of a solve on a level: those of communication, or the others."""
        return sum(seconds for (at, _, phase), seconds in self.phases.items()
                   if at == level and (phase in COMMUNICATION) == communicating)

    @property
    def share(self):
        total = sum(self.phases.values())
        sent = sum(seconds for (_, _, phase), seconds in self.phases.items() if phase in COMMUNICATION)
        return sent / total if total else 0


def order_of(variant):
    return VARIANTS.index(variant) if variant in VARIANTS else len(VARIANTS)


def read_run(connection, run, group):
    id_ = (run["run"],)
    group.every.append(run)
    group.sizes += connection.execute("SELECT * FROM hpgmg_sizes WHERE run = ?", id_).fetchall()
    for row in connection.execute("SELECT * FROM hpgmg_solves WHERE run = ?", id_):
        group.solves.setdefault(run["run"], {}).setdefault(row["level"], []).append(row["seconds"])
    for row in connection.execute("SELECT * FROM hpgmg_phases WHERE run = ? AND start = 0", id_):
        key = (row["level"], row["cells"], row["phase"])
        # The run with the shortest solves tells how a solve is spent; runs of a configuration differ by the machine's load.
        group.phases.setdefault(run["run"], {})[key] = row["seconds"]
    for row in connection.execute("SELECT * FROM hpgmg_messages WHERE run = ? ORDER BY least_bytes", id_):
        group.messages.setdefault(run["run"], {}).setdefault(row["form"], []).append((row["least_bytes"], row["messages"]))


def keep_best(group):
    """Figures are of the runs that nobody disturbed; of several, parts of a solve are those of the one with the shortest mean solve."""
    group.runs = [group.every[i] for i in database.without_disturbed(group.every)]
    kept = {run["run"] for run in group.runs}
    group.sizes = [size for size in group.sizes if size["run"] in kept]
    solves = {}
    for run in kept:
        for level, seconds in group.solves.get(run, {}).items():
            solves.setdefault(level, []).extend(seconds)
    group.solves = solves
    best = min((s for s in group.sizes if s["level"] == 0), key=lambda s: s["mean_s"])["run"]
    group.phases = group.phases.get(best, {})
    group.messages = group.messages.get(best, {})


def read(path):
    """Groups of runs in the file, in a natural order."""
    groups = {}
    try:
        connection = database.connect(path)
        machines = database.machines_of(connection, "hpgmg_runs")
        for row in connection.execute("SELECT * FROM hpgmg_runs ORDER BY run").fetchall():
            run = database.with_machine(row, machines)
            problem = (*(run[c] for c in ("operator", "smoother", "cycle", "periodic", "helmholtz", "box_order", "threads")),
                       database.hosts_of(run))
            key = (problem, run["log2_box"], run["boxes_per_rank"], run["cells"], run["ranks"], run["comm"])
            read_run(connection, run, groups.setdefault(key, Group(*key)))
        connection.close()
    except (sqlite3.DatabaseError, IndexError, KeyError) as error:
        raise NothingToDraw(f"{path}: not a results file of hpgmg ({error})") from None
    if not groups:
        raise NothingToDraw(f"{path}: holds no runs")
    for group in groups.values():
        keep_best(group)
    return sorted(groups.values(), key=lambda g: (g.problem, g.cells, g.ranks, g.log2_box, g.boxes_per_rank, order_of(g.comm)))


def facts(groups):
    return database.run_facts([run for group in groups for run in group.every])


def table(groups):
    """Heading and rows of the table, as text."""
    heading = ["cells", "operator", "smoother", "ranks", "boxes", "communication", "lines", "runs", "best ms", "median ms", "mean ms", "ratio",
               "MDOF/s", "comm %", "ns/cell", "bound ns", "error", "check"]
    bulk = {(g.problem, g.log2_box, g.cells, g.ranks): g.best() for g in groups if g.comm == "bulk"}
    rows = []
    for g in groups:
        last = g.runs[-1]
        reference = bulk.get((g.problem, g.log2_box, g.cells, g.ranks))
        sweep = min(run["sweep_s"] for run in g.runs)
        failed = sum(run["passed"] == 0 for run in g.every)
        unchecked = all(run["passed"] is None for run in g.every)
        rows.append([
            f"{g.cells}³",
            g.problem_name.split(", ", 1)[0],
            g.problem_name.split(", ", 1)[1],
            str(g.ranks),
            f"{last['boxes'] ** 3} × {2 ** g.log2_box}³",
            g.comm,
            str(last["comm_lines"] or ""),
            str(len(g.runs)) if len(g.runs) == len(g.every) else f"{len(g.runs)}/{len(g.every)}",
            f"{'~' if g.disturbed else ''}{drawing.plain(1e3 * g.best(), 4)}",
            drawing.plain(1e3 * g.spread()[0], 4),
            drawing.plain(1e3 * g.mean(), 4),
            f"{g.best() / reference:.3f}" if reference else "",
            f"{g.cells ** 3 / g.mean() * 1e-6:.2f}",
            f"{100 * g.share:.1f}",
            f"{1e9 * sweep / g.cells ** 3:.3f}",
            f"{1e9 * last['bytes_per_cell'] / max(run['triad_bytes_per_s'] for run in g.runs):.3f}",
            f"{last['error']:.6e}",
            f"{failed} FAILED" if failed else "off" if unchecked else "passed",
        ])
    return heading, rows
