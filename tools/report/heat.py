"""Results of heat3d runs: reads the file, makes the table. heat_pictures.py draws."""

import sqlite3
import statistics
from dataclasses import dataclass, field

import database
import drawing
from drawing import NothingToDraw
from heat_pictures import pictures  # noqa: F401, used by report.py

TITLE = "heat3d results"
TABLE = "runs"
NOTE = ("ms/step is the time loop divided by its steps, and throughput is what follows from it. Beyond: the same less that "
        "of the kernels alone (exchange off). Median and percentiles are of single steps on rank 0; they are missing where "
        "nobody waits for the device in a step, so that only the time of starting kernels was seen. Communication is the share of "
        "time that ranks spend handing halos over, waiting for them, and on sums over all ranks, where hosts see it. Runs that others disturbed, by taking "
        "cores, are left out (runs: 2/3); where all were, they are used, and the time has a ~.")
DEVICE_BACKENDS = ("cuda", "device-sim")
EXCHANGES = {
    "rma": "one-sided copy",
    "put": "signalling put",
    "mpi": "message passing",
    "mpi-tuned": "pre-posted receives",
    "mpi-cuda": "message passing",
    "rma-staged": "one-sided copy",
    "graph": "many steps at once",
    "device": "one kernel for many steps",
    "none": "one process, no library",
    "off": "kernels alone",
}
FROM_DEVICE = ("rma", "graph", "device", "mpi-cuda", "none", "off")  # the others pass through host memory
WITHOUT_HOST = ("graph", "device")  # devices do steps by themselves, and say when they began


@dataclass
class Group:
    """Runs of one configuration."""

    size: tuple
    ranks: int
    devices: int  # 0: on the host
    exchange: str
    backend: str
    hosts: database.Hosts
    every: list = field(default_factory=list)  # run of it, failed and disturbed ones too
    runs: list = field(default_factory=list)   # that figures are taken from
    steps: list = field(default_factory=list)  # step durations of each run, in seconds

    @property
    def cells(self):
        return self.size[0] * self.size[1] * self.size[2]

    @property
    def is_cube(self):
        return len(set(self.size)) == 1

    @property
    def size_name(self):
        x, y, z = self.size
        return f"{x}³" if self.is_cube else f"{x}×{y}×{z}"

    @property
    def variant(self):
        staged = ", staged" if self.devices and self.exchange not in FROM_DEVICE else ""
        return f"{EXCHANGES.get(self.exchange, '')}{staged} ({self.exchange})"

    @property
    def place(self):
        """What ranks run on: lines of pictures connect groups of one place."""
        return (self.backend, self.ranks / self.devices if self.devices else 0, self.hosts)

    @property
    def setup_name(self):
        ranks = f"{self.ranks} rank{'s' if self.ranks > 1 else ''}"
        hosts = f" on {self.hosts.words}" if self.hosts.words else ""
        return f"{ranks} on {self.devices} GPU{'s' if self.devices > 1 else ''}{hosts}" if self.devices else ranks + hosts

    @property
    def waits_in_steps(self):
        """False where ranks run ahead of their devices, because nothing comes back in a step: then the time of a single
        step is that of starting it, and only the whole loop tells how long steps take; unless the devices told it."""
        return self.exchange in WITHOUT_HOST or (self.exchange != "off" and not (self.devices and self.ranks == 1))

    def all_steps(self):
        return [duration for run in self.steps for duration in run] if self.waits_in_steps else []

    @property
    def disturbed(self):
        return any(map(database.is_disturbed, self.runs))

    def loops(self):
        """Seconds per step of each run: whole loop divided by steps."""
        return [run["seconds"] / run["steps"] for run in self.runs]

    def step(self):
        """Their median."""
        return statistics.median(self.loops())

    def windows(self):
        """Durations of two consecutive steps. A neighbour's data may arrive early, so that one step misses a delay
        that belongs to it; two always contain every part of a global step."""
        if not self.waits_in_steps:
            return []
        return [a + b for run in self.steps for a, b in zip(run, run[1:])]


def kernels_alone(groups, group):
    """Seconds a step without exchange on the same ranks; None where that was not measured."""
    same = [g for g in groups if g.exchange == "off" and
            (g.size, g.ranks, g.devices, g.backend, g.hosts) == (group.size, group.ranks, group.devices, group.backend, group.hosts)]
    return same[0].step() if same and group.exchange != "off" else None


def devices_of(run):
    if "devices" in run.keys() and run["devices"]:
        return run["devices"]
    # Files of earlier versions do not say how many: take one for each rank.
    return run["ranks"] if run["backend"] in DEVICE_BACKENDS else 0


def read(path):
    """Groups of runs in the file, in a natural order."""
    try:
        connection = database.connect(path)
        machines = database.machines_of(connection, "runs")
        groups = {}
        for row in connection.execute("SELECT * FROM runs ORDER BY run").fetchall():
            run = database.with_machine(row, machines)
            key = ((run["x"], run["y"], run["z"]), run["ranks"], devices_of(run), run["exchange"], run["backend"],
                   database.hosts_of(run))
            group = groups.setdefault(key, Group(*key))
            group.every.append(run)
            rows = connection.execute("SELECT rank0_s FROM steps WHERE run = ? ORDER BY step", (run["run"],))
            group.steps.append([row["rank0_s"] for row in rows])
        connection.close()
    except (sqlite3.DatabaseError, IndexError, KeyError) as error:
        raise NothingToDraw(f"{path}: not a results file of heat3d ({error})") from None
    if not groups:
        raise NothingToDraw(f"{path}: holds no runs")
    for group in groups.values():
        kept = database.without_disturbed(group.every)
        group.runs, group.steps = [group.every[i] for i in kept], [group.steps[i] for i in kept]
    order = list(EXCHANGES)
    return sorted(groups.values(),
                  key=lambda g: (g.cells, g.size, g.ranks, g.devices, g.hosts,
                                 order.index(g.exchange) if g.exchange in order else 9, g.backend))


def facts(groups):
    return database.run_facts([run for group in groups for run in group.every])


def table(groups):
    """Heading and rows of the table, as text."""
    heading = ["cells", "ranks", "hosts", "GPUs", "grid", "exchange", "back end", "runs", "ms/step", "beyond µs", "median ms", "p10 ms",
               "p90 ms", "Mcell/s", "comm %", "residual", "check"]
    rows = []
    for g in groups:
        steps = g.all_steps()
        failed = sum(run["passed"] == 0 for run in g.every)
        unchecked = all(run["passed"] is None for run in g.every)
        residuals = [run["residual"] for run in g.every if run["residual"] is not None and run["passed"] is not None]
        alone = kernels_alone(groups, g)
        rows.append([
            g.size_name,
            str(g.ranks),
            str(g.hosts),
            str(g.devices or ""),
            ", ".join(dict.fromkeys(run["grid"] for run in g.runs)),
            g.exchange,
            g.backend,
            str(len(g.runs)) if len(g.runs) == len(g.every) else f"{len(g.runs)}/{len(g.every)}",
            f"{'~' if g.disturbed else ''}{drawing.plain(1e3 * g.step(), 4)}",
            f"{1e6 * (g.step() - alone):.1f}" if alone is not None else "",
            *([drawing.plain(1e3 * seconds, 4) for seconds in drawing.spread(steps)] if steps else [""] * 3),
            f"{g.cells / g.step() * 1e-6:.1f}",
            f"{100 * statistics.median(run['comm_share'] for run in g.runs):.1f}" if g.exchange not in WITHOUT_HOST else "",
            f"{max(residuals):.1e}" if residuals else "",
            f"{failed} FAILED" if failed else "off" if unchecked else "passed",
        ])
    return heading, rows
