"""Results of `atoll bench gpu`: copies between memories of two ranks, beside the driver's own copies."""

import csv
import json
import math

import curves
import drawing

TITLE = "Copies to, from and between GPUs"
NOTE = ("Driver: the driver's own asynchronous copy between the same memories and processes, measured in the same blocks. Share: the "
        "driver's time divided by ours, median of the blocks. Goals that are shares are of that.")
WAYS = {
    "put": "own GPU to peer's GPU",
    "get": "peer's GPU to own GPU",
    "host_to_peer_gpu": "own host to peer's GPU",
    "peer_gpu_to_host": "peer's GPU to own host",
    "gpu_to_peer_host": "own GPU to peer's host",
    "peer_host_to_gpu": "peer's host to own GPU",
    "host_to_gpu": "own host to own GPU",
    "gpu_to_host": "own GPU to own host",
    "private_to_peer_gpu": "private memory to peer's GPU",
    "peer_gpu_to_private": "peer's GPU to private memory",
    "pinned_to_gpu": "pinned memory to own GPU",
    "gpu_to_pinned": "own GPU to pinned memory",
    "private_to_gpu": "cold private memory to own GPU",
    "gpu_to_private": "own GPU to cold private memory",
    "notified": "own GPU to peer's GPU, notified",
    "notified16": "sixteen copies, the last notified",
}
WHATS = {"time": "one copy, waited for", "injection": "only started", "flood": "many in flight", "batch": "in batches of 64"}
# What users would take instead, where it was measured: field and name.
PEERS = {"mpi_ns": "MPI", "mpi_put_ns": "MPI put", "nvshmem_ns": "NVSHMEM", "nvshmem_stream_ns": "NVSHMEM on a stream",
         "ucx_ns": "UCX", "nccl_ns": "NCCL"}
# A picture for each: name, title, ways.
FAMILIES = [
    ("gpu_to_gpu", "Between two GPUs", ["put", "get"]),
    ("host_and_gpu", "Between host and the other rank's GPU, or GPU and the other rank's host",
     ["host_to_peer_gpu", "peer_gpu_to_host", "gpu_to_peer_host", "peer_host_to_gpu"]),
    ("own_and_private", "Between own host and own GPU, and from and to private memory",
     ["host_to_gpu", "gpu_to_host", "private_to_peer_gpu", "peer_gpu_to_private"]),
    ("pinned_and_cold", "Private memory, pinned and not; dotted is one core's memcpy beside what is not",
     ["pinned_to_gpu", "gpu_to_pinned", "private_to_gpu", "gpu_to_private"]),
    ("notified", "Copies that tell the target; time until its call has run", ["notified", "notified16"]),
]


class Rows:
    """Rows of suite gpu, and the prefix of their keys."""

    def __init__(self, rows, configuration):
        self.rows = rows
        self.configuration = configuration
        self.prefix = "gpu.simulated." if any(r["key"].startswith("gpu.simulated.") for r in rows) else "gpu."

    def key(self, way, what):
        return f"{self.prefix}{way}.{what}"


def read(path):
    """Rows of the JSON or CSV file."""
    figures = ("median_ns", "p10_ns", "p90_ns", "limit_ns", "share", *PEERS)
    try:
        with open(path, encoding="utf-8") as file:
            is_json = file.read(1) == "{"
            file.seek(0)
            report = json.load(file) if is_json else {"rows": curves.rows_of(path), "configuration": {}}
        if not isinstance(report["configuration"], dict):
            raise TypeError("its configuration is no object")
        rows = [r for r in report["rows"] if r["suite"] == "gpu"]
        for row in rows:
            row["bytes"] = int(row.get("bytes") or 0)
            row.update({name: float(row[name]) for name in figures if row.get(name)})
        rows = [r for r in rows if r["key"] and r.get("median_ns")]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error) as error:
        raise drawing.NothingToDraw(f"{path}: neither results of heat3d nor of atoll bench ({error})") from None
    if not rows:
        raise drawing.NothingToDraw(f"{path}: holds no rows of `atoll bench gpu`")
    return Rows(rows, report["configuration"])


def facts(data):
    return [(name, str(value).replace(";", "\n")) for name, value in data.configuration.items()]


def draw_panels(plt, data, ways, whats=("time", "injection", "flood")):
    """A panel for each of `whats`, a colour for each of `ways`; dotted: the driver. None if nothing was measured."""
    figure, all_axes = plt.subplots(1, len(whats), figsize=(4.6 * len(whats) + 0.6, 3.9), squeeze=False,
                                    layout="constrained")
    drawn = False
    for axes, what in zip(all_axes.flat, whats):
        lines = []
        for way, color in zip(ways, drawing.COLORS):
            lines.append((WAYS[way], data.key(way, what), "median_ns", color, "o-"))
            lines.append((None, data.key(way, what), "limit_ns", color, ":"))
            if what == "flood":
                lines.append((f"the same {WHATS['batch']}", data.key(way, "batch"), "median_ns", color, "s-."))
        if curves.draw(axes, data.rows, lines, what == "flood"):
            drawn = True
        else:
            axes.set_visible(False)
        axes.set_title(f"{WHATS[what]}; dotted: the driver", fontsize=11)
    if not drawn:
        plt.close(figure)
    return figure if drawn else None


def draw_peers(plt, data):
    """Copies between two GPUs beside what users would take instead. None if nothing of that was measured."""
    panels = [(way, what) for way in ("put", "get", "notified") for what in ("time", "flood")
              if any(r["key"] == data.key(way, what) and r.get(peer) for r in data.rows for peer in PEERS)]
    if not panels:
        return None
    rows = math.ceil(len(panels) / 2)
    figure, all_axes = plt.subplots(rows, 2, figsize=(10, 3.9 * rows), squeeze=False, layout="constrained")
    for axes in all_axes.flat[len(panels):]:
        axes.set_visible(False)
    for axes, (way, what) in zip(all_axes.flat, panels):
        key = data.key(way, what)
        lines = [("Atoll", key, "median_ns", drawing.COLORS[0], "o-"), ("the driver", key, "limit_ns", "#000000", ":")]
        if what == "flood":
            lines.insert(1, (f"Atoll, {WHATS['batch']}", data.key(way, "batch"), "median_ns", drawing.COLORS[0], "s-."))
        lines += [(name, key, peer, color, "s--") for (peer, name), color in zip(PEERS.items(), drawing.COLORS[1:])]
        curves.draw(axes, data.rows, lines, what == "flood")
        axes.set_title(f"{WAYS[way]}: {WHATS[what]}", fontsize=11)
    return figure


def draw_shares(plt, data):
    """The driver's time divided by ours, for all ways and sizes of one copy at one glance."""
    known = {(r["key"], r["bytes"] // (16 if ".notified16." in r["key"] else 1)): 100 * r["share"]
             for r in data.rows if r.get("share")}
    panels = []
    for what, title in WHATS.items():
        ways = [w for w in WAYS if any(key == data.key(w, what) for key, _ in known)]
        sizes = sorted({size for key, size in known if key in {data.key(w, what) for w in ways}})
        if ways:
            panels.append((what, title, ways, sizes))
    if not panels:
        return None
    figure, all_axes = plt.subplots(len(panels), 1, squeeze=False, layout="constrained",
                                    figsize=(9, sum(0.34 * len(p[2]) + 1.1 for p in panels)),
                                    height_ratios=[len(p[2]) + 1 for p in panels])
    for axes, (what, title, ways, sizes) in zip(all_axes.flat, panels):
        shares = [[known.get((data.key(way, what), size), float("nan")) for size in sizes] for way in ways]
        axes.imshow(shares, cmap="RdYlBu", vmin=60, vmax=120, aspect="auto", alpha=0.75)
        for y, line in enumerate(shares):
            for x, share in enumerate(line):
                if share == share:  # a number
                    axes.text(x, y, f"{share:.0f}", ha="center", va="center", fontsize=9)
        axes.set_xticks(range(len(sizes)), [curves.size_name(s) for s in sizes])
        axes.set_yticks(range(len(ways)), [WAYS[w] for w in ways])
        axes.tick_params(length=0)
        axes.set_xlabel("bytes")
        axes.set_ylabel("copy")
        axes.set_title(f"{title}: % of the driver's speed", fontsize=11, loc="left")
    return figure


def pictures(plt, data):
    """Name, figure and caption of each picture."""
    figure = draw_shares(plt, data)
    if figure is not None:
        yield "shares", figure, "How fast copies are, in per cent of the driver's own between the same memories."
    figure = draw_peers(plt, data)
    if figure is not None:
        yield "peers", figure, "Copies between two GPUs beside what else moves data between them, measured in the same run."
    for name, caption, ways in FAMILIES:
        figure = draw_panels(plt, data, ways)
        if figure is not None:
            yield name, figure, (f"{caption}. Left: time of one; middle: time to start one; right: bandwidth. Medians; shaded: p10 to p90 "
                                 "of the blocks. Hollow points: others took a core in all blocks.")


def table(data):
    """Heading and rows of the table, as text."""
    peers = [peer for peer in PEERS if any(r.get(peer) for r in data.rows)]
    heading = ["copy", "bytes", "median µs", "p10 µs", "p90 µs", "GB/s", "driver µs", "share %",
               *[f"{PEERS[p]} µs" for p in peers], "goal", "reached"]
    number = lambda value, factor, form: f"{value * factor:{form}}" if value else ""
    rows = []
    for r in data.rows:
        way, _, what = r["key"].removeprefix(data.prefix).partition(".")
        reached = r.get("reached")
        rows.append([
            f"{WAYS[way]}, {WHATS[what]}" if way in WAYS and what in WHATS else r.get("name") or r["key"],
            curves.size_name(r["bytes"]),
            number(r["median_ns"], 1e-3, ".2f"),
            number(r.get("p10_ns"), 1e-3, ".2f"),
            number(r.get("p90_ns"), 1e-3, ".2f"),
            f"{r['bytes'] / r['median_ns']:.4g}" if what in ("flood", "batch") else "",
            number(r.get("limit_ns"), 1e-3, ".2f"),
            number(r.get("share"), 100, ".0f"),
            *[number(r.get(p), 1e-3, ".2f") for p in peers],
            r.get("goal") or "",
            {True: "yes", False: "no"}.get(reached, reached or ""),
        ])
    return heading, rows
