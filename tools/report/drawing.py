"""What the drawing scripts share: loading matplotlib without a display, colours, axes, errors in one line."""

import os
import sys
import textwrap

# One colour per problem size or variant, told apart also by readers who do not see all colours (Okabe and Ito).
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]


GREY = "#888888"


class NothingToDraw(Exception):
    """The file cannot be used; the text says why."""


def load():
    """Imports matplotlib's pyplot for writing files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "figure.dpi": 120,
            "font.size": 10,
            "axes.grid": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
            "svg.hashsalt": "atoll",
        }
    )
    return plt


def save(figure, path, kind="png"):
    """Writes a PNG file (or another kind), whatever the name ends in, under its final name only when it is complete."""
    partial = path
    if not os.path.exists(path) or os.path.isfile(path):
        partial = f"{path}.{os.getpid()}.part"
    try:
        with open(partial, "wb") as file:
            # Without dates, so that the same data give the same files.
            metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
            figure.savefig(file, format=kind, bbox_inches="tight", metadata=metadata)
        if partial != path:
            os.replace(partial, path)
    except OSError:
        if partial != path and os.path.exists(partial):
            os.unlink(partial)
        raise


def save_all(figure, base):
    """Writes a picture as PNG, and as SVG and PDF for papers and slides. Returns the name of the PNG file."""
    save(figure, f"{base}.png")
    figure.set_layout_engine("none")  # found once, which takes longest, the layout holds for all
    for kind in ("svg", "pdf"):
        save(figure, f"{base}.{kind}", kind)
    return f"{base}.png"


def describe(figure):
    """A picture in words, for those who cannot see it: its panels, their axes and what is drawn in them."""
    def label(axis):
        return axis.get_label().get_text()

    panels = []
    for axes in figure.axes:
        words = [axes.get_title() or axes.get_title(loc="left")]
        if label(axes.xaxis) or label(axes.yaxis):
            words.append(f"{label(axes.yaxis)} against {label(axes.xaxis)}")
        names = [text.get_text().replace("\n", ", ") for text in (axes.get_legend().get_texts() if axes.get_legend() else [])]
        if names:
            words.append(f"with {'; '.join(names)}")
        if axes.get_visible() and any(words):
            panels.append(": ".join(filter(None, [words[0], ", ".join(words[1:])])))
    return f"Chart of {len(panels)} panel{'s' if len(panels) != 1 else ''}. {'. '.join(panels)}."


def spread(values):
    """Median, tenth and ninetieth percentile."""
    import statistics

    ordered = sorted(values)
    return statistics.median(ordered), ordered[int(0.1 * (len(ordered) - 1))], ordered[-1 - int(0.1 * (len(ordered) - 1))]


def points(axes, x, spreads, disturbed=(), **style):
    """A line through medians, with bars from low to high, inside of which they lie. `spreads`: median, low, high of each point.
    Hollow: those that others disturbed."""
    axes.plot(x, [s[0] for s in spreads], **style)
    for at, (middle, low, high) in zip(x, spreads):
        if high > low:
            axes.errorbar([at], [middle], yerr=[[middle - low], [high - middle]], fmt="none", ecolor=style.get("color"), elinewidth=0.8,
                          capsize=2.5, alpha=0.5)
    hollow = [(at, s[0]) for at, s, is_so in zip(x, spreads, disturbed) if is_so]
    if hollow:
        axes.plot(*zip(*hollow), linestyle="", marker=style.get("marker", "o"), markersize=style.get("markersize", 5),
                  color=style.get("color"), markerfacecolor="white", zorder=5)


HOLLOW = " Hollow points: others took cores from all runs of it."


def plain(value, digits):
    """A number of few digits, which is easier to read than one with an exponent where it is large."""
    return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"


def wrapped(text, width):
    """In lines that are no wider than a panel or a legend, where there are spaces for that."""
    return "\n".join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False))


def unit_of(seconds):
    """Unit in which a duration has few digits, and its factor."""
    return ("µs", 1e6) if seconds < 1e-3 else ("ms", 1e3) if seconds < 1 else ("s", 1.0)


def set_log_scale(axis, set_scale, low, high):
    """Logarithmic axis with plain numbers as labels, also where it spans less than a decade."""
    set_scale("log")
    steps = (1,) if high > 3000 * low else (1, 2, 5) if high > 4 * low else (1, 1.5, 2, 3, 4, 5, 6, 8)
    ticks = [m * 10.0**e for e in range(-6, 7) for m in steps if low * 0.8 <= m * 10.0**e <= high * 1.25]
    if len(ticks) >= 2:
        axis.set_ticks(ticks, [f"{t:g}" for t in ticks])
        axis.set_ticks([], minor=True)


def histogram(axes, series, bins=60):
    """Durations in seconds, as shares of each series. `series`: label, colour, durations; the median is added to the
    label. The slowest and fastest hundredth may be far from all others: they are counted in the outer bars."""
    import statistics

    unit, factor = unit_of(statistics.median(d for _, _, durations in series for d in durations))
    ordered = [sorted(durations) for _, _, durations in series]
    low = min(durations[int(0.01 * len(durations))] for durations in ordered) * factor
    high = max(durations[int(0.99 * (len(durations) - 1))] for durations in ordered) * factor
    high = max(high, low * 1.02)
    if high > 6 * low:
        edges = [low * (high / low) ** (i / bins) for i in range(bins + 1)]
        set_log_scale(axes.xaxis, axes.set_xscale, low, high)
    else:
        edges = [low + (high - low) * i / bins for i in range(bins + 1)]
    for (label, color, _), durations in zip(series, ordered):
        values = [min(max(d * factor, edges[0]), edges[-1]) for d in durations]
        median = statistics.median(durations) * factor
        weights = [100 / len(values)] * len(values)
        axes.hist(values, bins=edges, histtype="stepfilled", color=color, alpha=0.30, weights=weights)
        axes.hist(values, bins=edges, histtype="step", color=color, linewidth=1.3, weights=weights,
                  label=f"{label}\nmedian {plain(median, 3)} {unit}")
        axes.axvline(median, color=color, linestyle=":", linewidth=1.8)
    axes.set_xlabel(f"two consecutive steps ({unit}); outer bars: and beyond")
    axes.set_ylabel("share of windows (%)")
    axes.set_ylim(0, 1.3 * axes.get_ylim()[1])  # room for the legend
    axes.legend(fontsize=8, loc="best", frameon=True, framealpha=0.85, edgecolor="none")


def guarded(name, main):
    """Runs main() and turns what users can cause into one line."""
    try:
        main()
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        where = error.filename or ""
        where = where.rsplit(".", 2)[0] if where.endswith(".part") else where
        sys.exit(f"{name}: {where + ': ' if where else ''}{error.strerror or error}")
