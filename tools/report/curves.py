"""Curves of time and bandwidth against size, from rows that `atoll bench` wrote."""

import csv

import drawing


def rows_of(path):
    """Rows of a CSV file."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def series(rows, key, column="median_ns"):
    """Rows of an operation that was measured for several sizes, in their order; only where the time is known, and of one number of
    ranks: the smallest."""
    chosen = [r for r in rows if r["key"] == key and r.get(column)]
    ranks = min((int(r.get("ranks") or 0) for r in chosen), default=0)
    return sorted((r for r in chosen if int(r.get("ranks") or 0) == ranks), key=lambda r: int(r["bytes"]))


def times_of(row, column):
    """Median, tenth and ninetieth percentile; only of our own operations more than the median is known."""
    names = (column, "p10_ns", "p90_ns") if column == "median_ns" and row.get("p10_ns") and row.get("p90_ns") else (column,) * 3
    return [float(row[name]) for name in names]


def size_name(size):
    for unit, factor in (("M", 1 << 20), ("K", 1 << 10)):
        if size >= factor:
            return f"{size / factor:g}{unit}"
    return str(size)


def draw(axes, rows, lines, as_bandwidth):
    """Draws `lines`: label, key, column, colour, line style; medians, and shaded p10 to p90 where known. Hollow: others took a core
    in all blocks. False if none of them was measured."""
    all_sizes = set()
    for label, key, column, color, style in lines:
        chosen = series(rows, key, column)
        if not chosen:
            continue
        sizes = [int(r["bytes"]) for r in chosen]
        all_sizes |= set(sizes)
        spreads = [times_of(r, column) for r in chosen]
        values = [sorted(s / t for t in times) if as_bandwidth else sorted(t / 1e3 for t in times) for s, times in zip(sizes, spreads)]
        axes.plot(sizes, [v[1] for v in values], style, color=color, label=label, linewidth=1.8, markersize=4.5)
        axes.fill_between(sizes, [v[0] for v in values], [v[2] for v in values], color=color, alpha=0.18, linewidth=0)
        # As the table marks them with a tilde.
        hollow = [(s, v[1]) for s, v, r in zip(sizes, values, chosen) if column == "median_ns" and int(r.get("disturbed") or 0)]
        if hollow:
            axes.plot(*zip(*hollow), linestyle="", marker="o", color=color, markerfacecolor="white", markersize=4.5, zorder=5)
    if not all_sizes:
        return False
    axes.set_xscale("log", base=2)
    drawing.set_log_scale(axes.yaxis, axes.set_yscale, *axes.dataLim.intervaly)
    ticks = sorted(all_sizes)
    axes.set_xticks(ticks, [size_name(s) for s in ticks], fontsize=8.5)
    axes.xaxis.set_ticks([], minor=True)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.set_xlabel("bytes")
    axes.set_ylabel("bandwidth (GB/s)" if as_bandwidth else "time (µs)")
    if len(axes.get_legend_handles_labels()[0]):
        axes.legend(fontsize=8.5)
    return True
