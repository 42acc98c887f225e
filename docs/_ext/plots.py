"""Draws the plots of the performance page from docs/data/bench.csv, which `atoll bench --csv` wrote.

The pictures go to docs/_generated/, which git ignores. Without matplotlib the page is built without them.
"""

import csv
import sys
from pathlib import Path

from sphinx.util import logging

log = logging.getLogger(__name__)
MPI = "#888888"
LIMIT = "#000000"


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def series(rows, key, column="median_ns", ranks=None):
    """Sizes and times of a row that was measured for several sizes; only where the time is known."""
    chosen = [r for r in rows if r["key"] == key and r[column] and (ranks is None or r["ranks"] == str(ranks))]
    chosen.sort(key=lambda r: int(r["bytes"]))
    return [int(r["bytes"]) for r in chosen], [float(r[column]) for r in chosen]


def size_name(size):
    for unit, factor in (("M", 1 << 20), ("K", 1 << 10)):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return str(size)


def curves(axes, rows, lines, as_bandwidth):
    """Draws `lines`: label, key, column, colour, line style."""
    all_sizes = set()
    for label, key, column, color, style in lines:
        sizes, times = series(rows, key, column)
        if not sizes:
            continue
        all_sizes |= set(sizes)
        values = [s / t for s, t in zip(sizes, times)] if as_bandwidth else [t / 1e3 for t in times]
        axes.plot(sizes, values, style, color=color, label=label, linewidth=1.8, markersize=4.5)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = sorted(all_sizes)
    axes.set_xticks(ticks, [size_name(s) for s in ticks])
    axes.minorticks_off()
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("bytes")
    axes.set_ylabel("GB/s" if as_bandwidth else "µs")
    axes.legend(fontsize=8.5)


def draw_transfers(plt, colors, rows, save):
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
    for axes, key, name in ((left, "put.array", "rput"), (right, "get.array", "rget")):
        curves(axes, rows, [
            ("memcpy, the limit", key, "limit_ns", LIMIT, ":"),
            (f"{name} of an array", key, "median_ns", colors[0], "o-"),
            ("Open MPI, one-sided and flush", key, "mpi_ns", MPI, "s--"),
        ], True)
        axes.set_title(f"{name}, waited for", fontsize=11)
    save(figure, "transfers")


def draw_calls(plt, colors, rows, save):
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
    curves(left, rows, [
        ("argument a std::vector", "rpc.vector", "median_ns", colors[1], "o-"),
        ("argument a view", "rpc.view", "median_ns", colors[0], "o-"),
        ("Open MPI, there and an empty one back", "rpc.vector", "mpi_ns", MPI, "s--"),
    ], False)
    left.set_title("rpc, round trip", fontsize=11)
    curves(right, rows, [
        ("reduce_all of doubles", "allreduce.array", "median_ns", colors[2], "o-"),
        ("Open MPI", "allreduce.array", "mpi_ns", MPI, "s--"),
    ], False)
    right.set_title("reduce_all, 2 ranks", fontsize=11)
    save(figure, "calls")


def draw_small(plt, colors, rows, save):
    """Bars of the time of small operations, beside the same pattern in message passing."""
    wanted = [
        ("rput of 8 bytes", "put.neighbour"), ("rget of 8 bytes", "get.neighbour"),
        ("barrier, 2 ranks", "barrier"), ("reduce_all of 8 bytes, 2 ranks", "allreduce"),
        ("rpc_ff, flood", "rpc_ff.flood"), ("rpc of an empty function", "rpc.empty"),
    ]
    found = [(name, row) for name, key in wanted for row in rows
             if row["key"] == key and row["ranks"] == "2"][::-1]
    if not found:
        return
    figure, axes = plt.subplots(figsize=(8.6, 0.55 * len(found) + 1.1), layout="constrained")
    for i, (name, row) in enumerate(found):
        bars = [("Atoll", colors[0], row["median_ns"], 0.2), ("Open MPI", MPI, row["mpi_ns"], -0.2)]
        for label, color, value, offset in bars:
            if not value:
                continue
            axes.barh(i + offset, float(value), height=0.36, color=color, label=label if i == len(found) - 1 else None)
            axes.text(float(value) * 1.06, i + offset, f"{float(value):.3g} ns", va="center", fontsize=8.5)
    axes.set_yticks(range(len(found)), [name for name, _ in found])
    axes.set_xscale("log")
    axes.set_xlim(0.5, 4000)
    axes.set_xlabel("ns an operation (logarithmic); shorter is better")
    axes.legend(fontsize=8.5, loc="upper right")
    save(figure, "small")


def draw_all(app):
    source = Path(app.srcdir, "data", "bench.csv")
    folder = Path(app.srcdir, "_generated")
    folder.mkdir(exist_ok=True)
    script = Path(__file__)
    newest = max(source.stat().st_mtime, script.stat().st_mtime)
    if all((folder / f"{n}.svg").exists() and (folder / f"{n}.svg").stat().st_mtime > newest
           for n in ("transfers", "calls", "small")):
        return
    sys.path.insert(0, str(Path(app.srcdir).parent / "tools" / "report"))
    import drawing

    plt = drawing.load()
    plt.rcParams["svg.hashsalt"] = "atoll"  # the same data give the same file

    def save(figure, name):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        plt.close(figure)

    rows = rows_of(source)
    for draw in (draw_small, draw_transfers, draw_calls):
        draw(plt, drawing.COLORS, rows, save)


def setup(app):
    app.connect("builder-inited", draw_all)
    return {"parallel_read_safe": True}
