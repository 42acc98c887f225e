"""Draws the plots of the performance page from docs/data: bench.csv and gpu.csv, which `atoll bench --csv` wrote, and
gpu_heat3d.csv, windows of two steps of the heat simulation.

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


def draw_gpu(plt, colors, rows, save):
    """Time and bandwidth of copies between two ranks with GPUs; dotted: the driver's own copy."""
    ways = [("own GPU to peer's", "gpu.put"), ("peer's GPU to own", "gpu.get"), ("own host to peer's GPU", "gpu.host_to_peer_gpu"),
            ("peer's GPU to own host", "gpu.peer_gpu_to_host")]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
    for axes, what, title in ((left, "time", "one copy, waited for"), (right, "flood", "many in flight")):
        lines = []
        for (label, key), color in zip(ways, colors):
            lines.append((label, f"{key}.{what}", "median_ns", color, "o-"))
            lines.append((None, f"{key}.{what}", "limit_ns", color, ":"))
        curves(axes, rows, lines, what == "flood")
        axes.set_title(title + "; dotted: the driver", fontsize=11)
    save(figure, "gpu")


def draw_gpu_heat(plt, colors, rows, save):
    """Histograms of the time of two steps, one picture for each size."""
    edges = sorted({int(r["edge"]) for r in rows})
    figure, all_axes = plt.subplots(1, len(edges), figsize=(10, 3.3), layout="constrained")
    for axes, edge in zip(all_axes, edges):
        for exchange, label, color in (("rma", "GPU to GPU", colors[0]), ("rma-staged", "staged through the host", MPI)):
            times = sorted(float(r["two_steps_us"]) for r in rows if int(r["edge"]) == edge and r["exchange"] == exchange)
            times = times[:len(times) * 99 // 100]  # the slowest hundredth would squeeze the rest
            axes.hist(times, bins=40, color=color, alpha=0.75, label=label)
        axes.set_title(f"{edge}³ cells", fontsize=11)
        axes.set_xlabel("µs for two steps")
    all_axes[0].set_ylabel("windows")
    all_axes[0].legend(fontsize=8.5)
    save(figure, "gpu_heat3d")


def draw_all(app):
    data = Path(app.srcdir, "data")
    sources = {"bench.csv": (draw_small, draw_transfers, draw_calls), "gpu.csv": (draw_gpu,),
               "gpu_heat3d.csv": (draw_gpu_heat,)}
    folder = Path(app.srcdir, "_generated")
    folder.mkdir(exist_ok=True)
    script = Path(__file__)
    newest = max(file.stat().st_mtime for file in [script, *(data / name for name in sources)])
    if all((folder / f"{n}.svg").exists() and (folder / f"{n}.svg").stat().st_mtime > newest
           for n in ("transfers", "calls", "small", "gpu", "gpu_heat3d")):
        return
    sys.path.insert(0, str(Path(app.srcdir).parent / "tools" / "report"))
    import drawing

    plt = drawing.load()
    plt.rcParams["svg.hashsalt"] = "atoll"  # the same data give the same file

    def save(figure, name):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        plt.close(figure)

    for name, drawings in sources.items():
        rows = rows_of(data / name)
        for draw in drawings:
            draw(plt, drawing.COLORS, rows, save)


def setup(app):
    app.connect("builder-inited", draw_all)
    return {"parallel_read_safe": True}
