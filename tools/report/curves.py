"""Curves of time and bandwidth against size, from rows that `atoll bench` wrote."""

import csv

import drawing


def rows_of(path):
    """Rows of a CSV file."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def series(rows, key, column="median_ns"):
    """Sizes and times of a row that was measured for several sizes; only where the time is known."""
    chosen = [r for r in rows if r["key"] == key and r.get(column)]
    chosen.sort(key=lambda r: int(r["bytes"]))
    return [int(r["bytes"]) for r in chosen], [float(r[column]) for r in chosen]


def size_name(size):
    for unit, factor in (("M", 1 << 20), ("K", 1 << 10)):
        if size >= factor:
            return f"{size / factor:g}{unit}"
    return str(size)


def draw(axes, rows, lines, as_bandwidth):
    """Draws `lines`: label, key, column, colour, line style. False if none of them was measured."""
    all_sizes = set()
    for label, key, column, color, style in lines:
        sizes, times = series(rows, key, column)
        if not sizes:
            continue
        all_sizes |= set(sizes)
        values = [s / t for s, t in zip(sizes, times)] if as_bandwidth else [t / 1e3 for t in times]
        axes.plot(sizes, values, style, color=color, label=label, linewidth=1.8, markersize=4.5)
    if not all_sizes:
        return False
    axes.set_xscale("log", base=2)
    drawing.set_log_scale(axes.yaxis, axes.set_yscale, *axes.dataLim.intervaly)
    ticks = sorted(all_sizes)
    axes.set_xticks(ticks, [size_name(s) for s in ticks], fontsize=8.5)
    axes.xaxis.set_ticks([], minor=True)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.set_xlabel("bytes")
    axes.set_ylabel("GB/s" if as_bandwidth else "µs")
    if len(axes.get_legend_handles_labels()[0]):
        axes.legend(fontsize=8.5)
    return True
