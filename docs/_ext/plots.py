"""Draws the plots of the website from docs/data: bench.csv and gpu.csv, which `atoll bench --csv` wrote, gpu_heat3d.csv, windows of
two steps of the heat simulation, and scale.csv and start.csv, of the model of scale. Curves and histograms are those of `atoll report`.

The pictures go to docs/_generated/, which git ignores. Without matplotlib the page is built without them.
"""

import sys
from pathlib import Path

from sphinx.util import logging

log = logging.getLogger(__name__)
LIMIT = "#000000"

# What `atoll report` draws with.
SCRIPTS = Path(__file__).parents[2] / "tools" / "report"
sys.path.insert(0, str(SCRIPTS))
import copies  # noqa: E402
import curves  # noqa: E402
import drawing  # noqa: E402

MPI = drawing.GREY


def draw_transfers(plt, colors, rows, save):
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
    for axes, key, name in ((left, "put.array", "rput"), (right, "get.array", "rget")):
        curves.draw(axes, rows, [
            ("memcpy, the limit", key, "limit_ns", LIMIT, ":"),
            (f"{name} of an array", key, "median_ns", colors[0], "o-"),
            ("Open MPI, one-sided and flush", key, "mpi_ns", MPI, "s--"),
        ], True)
        axes.set_title(f"{name}, waited for", fontsize=11)
    save(figure, "transfers")


def draw_calls(plt, colors, rows, save):
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
    curves.draw(left, rows, [
        ("argument a std::vector", "rpc.vector", "median_ns", colors[1], "o-"),
        ("argument a view", "rpc.view", "median_ns", colors[0], "o-"),
        ("Open MPI, there and an empty one back", "rpc.vector", "mpi_ns", MPI, "s--"),
    ], False)
    left.set_title("rpc, round trip", fontsize=11)
    curves.draw(right, rows, [
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
            shown = value
            axes.barh(i + offset, float(value), height=0.36, color=color, label=label if i == len(found) - 1 else None)
            if label == "Atoll" and row.get("p10_ns") and row.get("p90_ns"):
                axes.plot([float(row["p10_ns"]), float(row["p90_ns"])], [i + offset] * 2, color="#000000", linewidth=1.2)
                value = max(float(value), float(row["p90_ns"]))
            axes.text(float(value) * 1.06, i + offset, f"{float(shown):.3g} ns", va="center", fontsize=8.5)
    axes.set_yticks(range(len(found)), [name for name, _ in found])
    axes.set_xscale("log")
    axes.set_xlim(0.5, 4000)
    axes.set_ylabel("operation")
    axes.set_xlabel("ns an operation, median (logarithmic); shorter is better; black: p10 to p90")
    axes.legend(fontsize=8.5, loc="upper right")
    save(figure, "small")


def draw_gpu(plt, colors, rows, save):
    """Copies between two ranks with GPUs: time and bandwidth, dotted the driver's own copy; and what users would take instead."""
    ways = ("put", "get", "host_to_peer_gpu", "peer_gpu_to_host")
    data = copies.Rows(rows, {})
    save(copies.draw_panels(plt, data, ways, ("time", "flood")), "gpu")
    save(copies.draw_peers(plt, data), "gpu_peers")


def draw_gpu_heat(plt, colors, rows, save):
    """Histograms of the time of two steps, one picture for each size."""
    edges = sorted({int(r["edge"]) for r in rows})
    figure, all_axes = plt.subplots(1, len(edges), figsize=(4.4 * len(edges), 3.6), layout="constrained")
    for axes, edge in zip(all_axes, edges):
        drawing.histogram(axes, [
            (label, color, [1e-6 * float(r["two_steps_us"]) for r in rows if (int(r["edge"]), r["exchange"]) == (edge, exchange)])
            for exchange, label, color in (("rma", "GPU to GPU", colors[0]), ("mpi-cuda", "CUDA-aware MPI", colors[1]),
                                           ("rma-staged", "staged through the host", MPI))])
        axes.set_title(f"{edge}³ cells", fontsize=11)
    save(figure, "gpu_heat3d")


def against_ranks(all_axes):
    for axes in all_axes:
        axes.set_xscale("log")
        axes.set_xlabel("ranks")
        axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
        axes.legend(fontsize=8.5)


def draw_scale(plt, colors, rows, save):
    """What collectives of many ranks take by the model: time, messages of one rank, and its private memory, against ranks."""
    figure, (times, messages, memory) = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained")
    shares = sorted({int(r["per_host"]) for r in rows})

    def line(axes, operation, network, per_host, column, style, color, label, factor=1.0):
        chosen = sorted((int(r["ranks"]), factor * float(r[column])) for r in rows
                        if (r["operation"], r["network"], int(r["per_host"])) == (operation, network, per_host))
        if chosen:
            axes.plot(*zip(*chosen), style, color=color, label=label, linewidth=1.8, markersize=4.5)

    for color, (operation, name) in zip(colors, (("barrier", "barrier"), ("broadcast", "broadcast of 8 bytes"),
                                                 ("reduce_all", "reduce_all of 8 bytes"))):
        for network, style, label in (("slingshot", "o-", name), ("ndr", "s--", None)):
            line(times, operation, network, 16, "time_us", style, color, label)
    times.set_title("16 ranks a host (dashed: NDR)", fontsize=11)
    times.set_ylabel("µs, Slingshot and NDR")
    for color, share in zip(colors, shares):
        name = f"{share} a host"
        line(messages, "barrier", "slingshot", share, "most_sent", "o-", color, name)
        line(memory, "barrier", "slingshot", share, "heap_per_rank", "o-", color, name, 1e-3)
    messages.set_title("messages of one rank in a barrier", fontsize=11)
    messages.set_ylabel("messages to other hosts, at most")
    memory.set_title("private memory of a rank", fontsize=11)
    memory.set_ylabel("KB on average, after a barrier")
    for axes in (times, messages, memory):
        axes.set_ylim(bottom=0)
    against_ranks((times, messages, memory))
    save(figure, "scale")


def draw_start(plt, colors, rows, save):
    """The start of large jobs by the model: time, what a rank reads, and its private memory, against ranks."""
    figure, all_axes = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained")
    shares = sorted({int(r["per_host"]) for r in rows})
    for axes, (column, factor, title, unit) in zip(all_axes, (("time_ms", 1.0, "until all ranks are there", "ms, launcher over TCP"),
                                                              ("leader_read_bytes", 1e-3, "read by the first rank of a host", "KB"),
                                                              ("heap_leader", 1e-3, "private memory of a rank", "KB"))):
        for color, share in zip(colors, shares):
            chosen = sorted((int(r["ranks"]), factor * float(r[column])) for r in rows
                            if (r["network"], int(r["per_host"])) == ("tcp", share))
            axes.plot(*zip(*chosen), "o-", color=color, label=f"{share} a host", linewidth=1.8, markersize=4.5)
        axes.set_title(title, fontsize=11)
        axes.set_ylabel(unit)
        axes.set_yscale("log")
    against_ranks(all_axes)
    save(figure, "start")


def draw_all(app):
    data = Path(app.srcdir, "data")
    sources = {"bench.csv": (draw_small, draw_transfers, draw_calls), "gpu.csv": (draw_gpu,),
               "gpu_heat3d.csv": (draw_gpu_heat,), "scale.csv": (draw_scale,), "start.csv": (draw_start,)}
    folder = Path(app.srcdir, "_generated")
    folder.mkdir(exist_ok=True)
    newest = max(file.stat().st_mtime for file in [Path(__file__), *SCRIPTS.glob("*.py"), *(data / name for name in sources)])
    if all((folder / f"{n}.svg").exists() and (folder / f"{n}.svg").stat().st_mtime > newest
           for n in ("transfers", "calls", "small", "gpu", "gpu_peers", "gpu_heat3d", "scale", "start")):
        return
    plt = drawing.load()
    plt.rcParams["svg.hashsalt"] = "atoll"  # the same data give the same file

    def save(figure, name):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        plt.close(figure)

    for name, drawings in sources.items():
        rows = curves.rows_of(data / name)
        for draw in drawings:
            draw(plt, drawing.COLORS, rows, save)


def setup(app):
    app.connect("builder-inited", draw_all)
    return {"parallel_read_safe": True}
