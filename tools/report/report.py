"""Draws the results of heat3d runs: step times of each variant, and time per step against ranks.

Reads an SQLite file that `atoll-heat3d --results FILE` wrote. Writes histogram.png, scaling.png and index.html, a page
that needs no other file, and prints the table of the page.
"""

import argparse
import math
import os
import sqlite3
import statistics
import sys
import urllib.parse
from dataclasses import dataclass, field

import drawing
import page

# Solid and dashed as in the study that compared one-sided communication with message passing.
LINE_STYLES = {"rma": "-", "put": "-.", "mpi": "--", "mpi-tuned": ":", "none": (0, (1, 4))}
VARIANT_NAMES = {
    "rma": "one-sided copy (rma)",
    "put": "signalling put (put)",
    "mpi": "message passing (mpi)",
    "mpi-tuned": "pre-posted receives (mpi-tuned)",
    "none": "one process, no library (none)",
}
MARKERS = {"plain": "o", "plain-fused": "s", "kokkos": "^"}


class NothingToDraw(Exception):
    """The file cannot be used; the text says why."""


@dataclass
class Group:
    """Runs of one configuration."""

    size: tuple
    ranks: int
    exchange: str
    backend: str
    runs: list = field(default_factory=list)
    steps: list = field(default_factory=list)  # step durations of each run, in seconds

    @property
    def cells(self):
        return self.size[0] * self.size[1] * self.size[2]

    @property
    def size_name(self):
        x, y, z = self.size
        return f"{x}³" if x == y == z else f"{x}×{y}×{z}"

    def all_steps(self):
        return [duration for run in self.steps for duration in run]

    def step(self):
        """Seconds per step: whole loop divided by steps; the median over runs."""
        return statistics.median(run["seconds"] / run["steps"] for run in self.runs)

    def median(self):
        """Median step on rank 0; the median over runs."""
        return statistics.median(run["median_s"] for run in self.runs)

    def windows(self):
        """Durations of two consecutive steps. A neighbour's data may arrive early, so that one step misses a delay
        that belongs to it; two always contain every part of a global step."""
        return [a + b for run in self.steps for a, b in zip(run, run[1:])]


def connect(path):
    if not os.path.isfile(path):
        raise NothingToDraw(f"{path}: no such file; atoll-heat3d --results {path} writes it")
    quoted = urllib.parse.quote(os.path.abspath(path))
    for options in ("mode=ro", "immutable=1"):  # the second where the folder cannot be written either
        database = sqlite3.connect(f"file:{quoted}?{options}", uri=True)
        database.row_factory = sqlite3.Row
        try:
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return database
        except sqlite3.OperationalError:
            database.close()
    raise NothingToDraw(f"{path}: cannot be read")


def read(path):
    """Groups of runs in the file, in a natural order."""
    try:
        database = connect(path)
        groups = {}
        for run in database.execute("SELECT * FROM runs ORDER BY run"):
            key = ((run["x"], run["y"], run["z"]), run["ranks"], run["exchange"], run["backend"])
            group = groups.setdefault(key, Group(*key))
            group.runs.append(run)
            rows = database.execute("SELECT rank0_s FROM steps WHERE run = ? ORDER BY step", (run["run"],))
            group.steps.append([row["rank0_s"] for row in rows])
        database.close()
    except (sqlite3.DatabaseError, IndexError, KeyError) as error:
        raise NothingToDraw(f"{path}: not a results file of heat3d ({error})") from None
    if not groups:
        raise NothingToDraw(f"{path}: holds no runs")
    order = list(LINE_STYLES)
    return sorted(
        groups.values(),
        key=lambda g: (g.cells, g.size, g.ranks, order.index(g.exchange) if g.exchange in order else 9, g.backend),
    )


def variant_name(group, with_backend):
    name = VARIANT_NAMES.get(group.exchange, group.exchange)
    return f"{name}, {group.backend}" if with_backend else name


def pick_panels(groups, most=4):
    """For each size the rank count with the most variants, then the most ranks; the largest sizes are kept."""
    panels = []
    for size in dict.fromkeys(g.size for g in groups):
        of_size = [g for g in groups if g.size == size and any(len(run) > 1 for run in g.steps)]
        if not of_size:
            continue
        counts = {g.ranks: len([h for h in of_size if h.ranks == g.ranks and h.exchange != "none"]) for g in of_size}
        ranks = max(counts, key=lambda r: (counts[r], r))
        panels.append([g for g in of_size if g.ranks == ranks])
    return panels[-most:]


def unit_of(seconds):
    """Unit in which a duration has few digits, and its factor."""
    return ("µs", 1e6) if seconds < 1e-3 else ("ms", 1e3) if seconds < 1 else ("s", 1.0)


def set_log_scale(axis, set_scale, low, high):
    """Logarithmic axis with plain numbers as labels, also where it spans less than a decade."""
    set_scale("log")
    steps = (1, 2, 5) if high > 4 * low else (1, 1.5, 2, 3, 4, 5, 6, 8)
    ticks = [m * 10.0**e for e in range(-6, 7) for m in steps if low * 0.8 <= m * 10.0**e <= high * 1.25]
    if len(ticks) >= 2:
        axis.set_ticks(ticks, [f"{t:g}" for t in ticks])
        axis.set_ticks([], minor=True)


def draw_histogram(plt, groups, path):
    """Figure 2 of the study: how the durations of two consecutive steps are distributed, for each variant."""
    panels = pick_panels(groups)
    if not panels:
        return False
    columns = min(len(panels), 2)
    rows = math.ceil(len(panels) / columns)
    figure, all_axes = plt.subplots(
        rows, columns, figsize=(5.4 * columns + 0.8, 3.6 * rows + 0.5), squeeze=False, layout="constrained"
    )
    for axes in all_axes.flat[len(panels) :]:
        axes.set_visible(False)
    with_backend = len({g.backend for panel in panels for g in panel}) > 1
    variants = list(dict.fromkeys((g.exchange, g.backend) for panel in panels for g in panel))
    for axes, panel in zip(all_axes.flat, panels):
        windows = [sorted(g.windows()) for g in panel]
        unit, factor = unit_of(statistics.median(w for ws in windows for w in ws))
        # The slowest hundredth may be far slower than all others: it is counted in the last bar instead of shown.
        low = min(ws[0] for ws in windows) * factor
        high = max(ws[min(len(ws) - 1, int(0.99 * len(ws)))] for ws in windows) * factor
        high = max(high, low * 1.02)
        bins = 60
        is_wide = high > 6 * low
        if is_wide:
            edges = [low * (high / low) ** (i / bins) for i in range(bins + 1)]
            set_log_scale(axes.xaxis, axes.set_xscale, low, high)
        else:
            edges = [low + (high - low) * i / bins for i in range(bins + 1)]
        for group, ws in zip(panel, windows):
            color = drawing.COLORS[variants.index((group.exchange, group.backend)) % len(drawing.COLORS)]
            values = [min(max(w * factor, edges[0]), edges[-1]) for w in ws]
            median = statistics.median(ws) * factor
            label = f"{variant_name(group, with_backend)}\nmedian {median:.3g} {unit}"
            axes.hist(values, bins=edges, histtype="stepfilled", color=color, alpha=0.30,
                      weights=[100 / len(ws)] * len(ws))
            axes.hist(values, bins=edges, histtype="step", color=color, linewidth=1.3, label=label,
                      weights=[100 / len(ws)] * len(ws))
            axes.axvline(median, color=color, linestyle=":", linewidth=1.8)
        first = panel[0]
        axes.set_title(f"{first.size_name} cells on {first.ranks} rank{'s' if first.ranks > 1 else ''}", fontsize=11)
        axes.set_xlabel(f"duration of two consecutive steps ({unit}); last bar: this or longer")
        axes.set_ylabel("share of windows (%)")
        axes.set_ylim(0, 1.3 * axes.get_ylim()[1])  # room for the legend
        axes.legend(fontsize=8, loc="best")
    drawing.save(figure, path)
    return True


def draw_scaling(plt, groups, path):
    """Figure 1 of the study: time per step against ranks; one colour per size, one line style per variant."""
    from matplotlib.lines import Line2D

    figure, axes = plt.subplots(figsize=(8.2, 4.9), layout="constrained")
    sizes = list(dict.fromkeys(g.size for g in groups))
    backends = sorted({g.backend for g in groups})
    for size in sizes:
        color = drawing.COLORS[sizes.index(size) % len(drawing.COLORS)]
        for exchange, backend in dict.fromkeys((g.exchange, g.backend) for g in groups):
            line = [g for g in groups if (g.size, g.exchange, g.backend) == (size, exchange, backend)]
            if not line:
                continue
            ranks = [g.ranks for g in line]
            times = [1e3 * g.step() for g in line]
            # A few slow steps may lift the mean above the ninetieth percentile.
            low = [min(t, 1e3 * min(run["p10_s"] for run in g.runs)) for t, g in zip(times, line)]
            high = [max(t, 1e3 * max(run["p90_s"] for run in g.runs)) for t, g in zip(times, line)]
            spread = [[t - a for t, a in zip(times, low)], [b - t for t, b in zip(times, high)]]
            axes.errorbar(ranks, times, yerr=spread, fmt="none", ecolor=color, elinewidth=0.8, capsize=2.5, alpha=0.45)
            axes.plot(ranks, times, color=color, linestyle=LINE_STYLES.get(exchange, "-"), linewidth=1.7,
                      marker=MARKERS.get(backend, "d"), markersize=4.5)
    axes.set_xscale("log", base=2)
    all_ranks = sorted({g.ranks for g in groups})
    axes.set_xticks(all_ranks, [str(r) for r in all_ranks])
    axes.minorticks_off()
    if len(all_ranks) == 1:
        axes.set_xlim(all_ranks[0] / 2, all_ranks[0] * 2)
    set_log_scale(axes.yaxis, axes.set_yscale, *axes.dataLim.intervaly)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.set_xlabel("ranks")
    axes.set_ylabel("time per step (ms)")
    axes.set_title("Time per step: whole run divided by its steps; bars: p10 to p90 of single steps", fontsize=11)
    names = {g.size: g.size_name for g in groups}
    handles = [Line2D([], [], color=drawing.COLORS[i % len(drawing.COLORS)], linewidth=3, label=f"{names[s]} cells")
               for i, s in enumerate(sizes)]
    handles += [Line2D([], [], color="#444444", linestyle=LINE_STYLES.get(e, "-"), label=VARIANT_NAMES.get(e, e))
                for e in dict.fromkeys(g.exchange for g in groups)]
    if len(backends) > 1:
        handles += [Line2D([], [], color="#444444", linestyle="", marker=MARKERS.get(b, "d"), label=f"back end {b}")
                    for b in backends]
    axes.legend(handles=handles, fontsize=8.5, loc="center left", bbox_to_anchor=(1.01, 0.5))
    drawing.save(figure, path)


def table(groups):
    """Heading and rows of the table, as text."""
    heading = ["cells", "ranks", "grid", "exchange", "back end", "runs", "ms/step", "median ms", "p10 ms", "p90 ms", "Mcell/s",
               "comm %", "residual", "check"]
    rows = []
    for g in groups:
        steps = sorted(g.all_steps())
        failed = sum(run["passed"] == 0 for run in g.runs)
        unchecked = all(run["passed"] is None for run in g.runs)
        residuals = [run["residual"] for run in g.runs if run["residual"] is not None and run["passed"] is not None]
        rows.append([
            g.size_name,
            str(g.ranks),
            ", ".join(dict.fromkeys(run["grid"] for run in g.runs)),
            g.exchange,
            g.backend,
            str(len(g.runs)),
            f"{1e3 * g.step():.3f}",
            f"{1e3 * g.median():.3f}",
            f"{1e3 * steps[int(0.1 * (len(steps) - 1))]:.3f}" if steps else "",
            f"{1e3 * steps[int(0.9 * (len(steps) - 1))]:.3f}" if steps else "",
            f"{g.cells / g.step() * 1e-6:.1f}",
            f"{100 * statistics.median(run['comm_share'] for run in g.runs):.1f}",
            f"{max(residuals):.1e}" if residuals else "",
            f"{failed} FAILED" if failed else "off" if unchecked else "passed",
        ])
    return heading, rows


def print_table(heading, rows):
    widths = [max(len(row[i]) for row in [heading] + rows) for i in range(len(heading))]
    left = {0, 2, 3, 4, 13}
    for row in [heading] + rows:
        cells = [cell.ljust(w) if i in left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())


def main():
    parser = argparse.ArgumentParser(prog="atoll report", description="Draw the results of heat3d runs.")
    parser.add_argument("file", help="SQLite file written by atoll-heat3d --results")
    parser.add_argument("-o", "--output", default="atoll-report", help="folder to write to (%(default)s)")
    parser.add_argument("--open", action="store_true", help="show the page in a browser")
    arguments = parser.parse_args()

    try:
        groups = read(arguments.file)
    except NothingToDraw as problem:
        sys.stderr.write(f"atoll report: {problem}\n")
        sys.exit(2)
    os.makedirs(arguments.output, exist_ok=True)
    plt = drawing.load()
    pictures = []
    histogram = os.path.join(arguments.output, "histogram.png")
    if draw_histogram(plt, groups, histogram):
        pictures.append((histogram, "How long two consecutive steps take: share of all windows of two steps, "
                                    "timed on rank 0. Dotted: median."))
    scaling = os.path.join(arguments.output, "scaling.png")
    draw_scaling(plt, groups, scaling)
    pictures.append((scaling, "Time per step against the number of ranks, for each size and variant."))
    heading, rows = table(groups)
    index = os.path.join(arguments.output, "index.html")
    page.write(index, arguments.file, pictures, heading, rows, groups)
    print_table(heading, rows)
    for path, _ in pictures:
        print(f"wrote {path}")
    print(f"wrote {index}")
    sys.stdout.flush()
    if arguments.open:
        import webbrowser

        webbrowser.open(f"file://{os.path.abspath(index)}")


if __name__ == "__main__":
    drawing.guarded("atoll report", main)
