"""Pictures of hpgmg runs: time per solve against ranks with what each variant does, time on each level, message sizes, and
throughput against size."""

from fractions import Fraction

import drawing

COLORS = {"baseline": "#D55E00", "+shm": "#E69F00", "+local": "#CC79A7", "+vis": "#56B4E9", "+group": "#009E73", "bulk": "#000000",
          "mpi": "#888888", "array": "#0072B2"}
MARKERS = {"baseline": "o", "+shm": "s", "+local": "^", "+vis": "v", "+group": "d", "bulk": "P", "mpi": "X", "array": "*"}
DASHED = ("bulk", "mpi")
# What a variant does: manual packing, casts of co-located pointers, no short loops, strided library copies, synchronisation.
OPTIONS = {
    "baseline": ("", "", "", "", "barriers"),
    "+shm": ("", "yes", "", "", "barriers"),
    "+local": ("", "yes", "yes", "", "barriers"),
    "+vis": ("", "yes", "yes", "yes", "barriers"),
    "+group": ("", "yes", "yes", "yes", "neighbours"),
    "bulk": ("yes", "yes", "yes", "", "point to point"),
    "mpi": ("yes", "", "yes", "", "messages"),
    "array": ("", "yes", "yes", "library", "with the data"),
}
OPTION_NAMES = ("manual packing", "shared-memory casts", "no short loops", "strided copies", "synchronisation", "lines of source")
FORMS = {"row": ("baseline", "+shm", "+local"), "region": ("+vis", "+group", "array"), "rank": ("bulk", "mpi")}
FORM_NAMES = {"row": "a row of cells", "region": "a region", "rank": "packed for a rank"}


def color_of(variant):
    return COLORS.get(variant, drawing.GREY)


def unique(values):
    return list(dict.fromkeys(values))


def line_style(variant):
    return {"color": color_of(variant), "marker": MARKERS.get(variant, "."), "markersize": 5, "linewidth": 1.6,
            "linestyle": "--" if variant in DASHED else "-"}


def boxes_name(boxes):
    return f"{boxes} box{'es' if boxes != 1 else ''}"


def series(groups):
    """Groups over several rank counts: the same grid (strong scaling), or as many boxes for each rank (weak). The widest
    first; a list of groups each, with its title."""
    found = {}
    for g in groups:
        found.setdefault((g.problem, "strong", g.cells), []).append(g)
        # Boxes are as many as make a cube, which not every number of ranks divides: alike are only equal shares of cells.
        found.setdefault((g.problem, "weak", g.log2_box, Fraction(g.cells**3, g.ranks)), []).append(g)
    panels = []
    for key, members in found.items():
        ranks = {g.ranks for g in members}
        # A variant may have been run with several divisions into boxes: the one with the fastest solve stands for it.
        best = {}
        for g in members:
            at = (g.comm, g.ranks)
            if at not in best or g.best() < best[at].best():
                best[at] = g
        title = f"{members[0].cells}³ cells" if key[1] == "strong" else \
            f"{boxes_name(key[3] / 8 ** key[2])} of {2 ** key[2]}³ a rank"
        panels.append((len(ranks), len(best), key[1] == "strong", f"{title}, {members[0].problem_name}", list(best.values())))
    panels.sort(key=lambda p: p[:3], reverse=True)
    chosen, seen = [], set()
    for wide, _, _, title, members in panels:
        new = {id(g) for g in members} - seen
        if (wide > 1 or not chosen) and new:
            chosen.append((title, members))
            seen |= new
    return chosen


def rank_axis(axes, ranks):
    axes.set_xscale("log", base=2)
    axes.set_xticks(ranks, [str(r) for r in ranks])
    axes.minorticks_off()
    if len(ranks) == 1:
        axes.set_xlim(ranks[0] / 2, ranks[0] * 2)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)


def draw_table(axes, variants, lines):
    """The paper's table below its figure: a column for each variant."""
    axes.axis("off")
    rows = [[OPTIONS.get(v, ("",) * 5)[i] for v in variants] for i in range(5)]
    rows.append([str(lines.get(v) or "") for v in variants])
    table = axes.table(cellText=rows, rowLabels=OPTION_NAMES, colLabels=variants, cellLoc="center", rowLoc="right",
                       loc="center", bbox=(0.16, 0.0, 0.84, 1.0))
    table.auto_set_font_size(False)
    table.set_fontsize(8.5)
    for (row, column), cell in table.get_celld().items():
        cell.set_edgecolor("#dddddd")
        if row == 0:
            cell.get_text().set_color(color_of(variants[column]))
            cell.get_text().set_weight("bold")
        elif column >= 0 and cell.get_text().get_text() == "yes":
            cell.set_facecolor("#e8f2ea")


def draw_variants(plt, groups):
    """The paper's Figure 6, with medians: time of a solve against ranks, for each variant; below, the ratio to bulk, and the options."""
    panels = series(groups)[:3]
    variants = unique(g.comm for g in sorted((g for _, members in panels for g in members), key=lambda g: list(COLORS).index(g.comm)
                                             if g.comm in COLORS else 99))
    lines = {g.comm: g.runs[-1]["comm_lines"] for g in groups}
    figure = plt.figure(figsize=(max(8.6, 5.0 * len(panels) + 0.6), 8.4), layout="constrained")
    grid = figure.add_gridspec(3, len(panels), height_ratios=[3.4, 2.0, 1.7])
    for column, (title, members) in enumerate(panels):
        axes = figure.add_subplot(grid[0, column])
        below = figure.add_subplot(grid[1, column], sharex=axes)  # bulk may not have been run on as many ranks
        ranks = sorted({g.ranks for g in members})
        bulk = {g.ranks: g.spread()[0] for g in members if g.comm == "bulk"}
        for variant in variants:
            line = sorted((g for g in members if g.comm == variant), key=lambda g: g.ranks)
            drawing.points(axes, [g.ranks for g in line], [[1e3 * s for s in g.spread()] for g in line], [g.disturbed for g in line],
                           label=variant, **line_style(variant))
            compared = [g for g in line if g.ranks in bulk]
            drawing.points(below, [g.ranks for g in compared], [[s / bulk[g.ranks] for s in g.spread()] for g in compared],
                           [g.disturbed for g in compared], **line_style(variant))
        drawing.set_log_scale(axes.yaxis, axes.set_yscale, *axes.dataLim.intervaly)
        axes.set_title(drawing.wrapped(title, 60), fontsize=10.5)
        axes.set_ylabel("median solve (ms); bars: p10 to p90")
        axes.set_xlabel("ranks")
        if column == 0:
            axes.legend(fontsize=8.5, ncols=2, frameon=True, framealpha=0.85, edgecolor="none")
        below.set_ylabel("over bulk's median")
        below.set_xlabel("ranks")
        if bulk:
            below.set_ylim(bottom=min(0.9, below.get_ylim()[0]))
        else:
            below.set_yticks([])
            below.text(0.5, 0.5, "bulk was not run here", transform=below.transAxes, ha="center", color=drawing.GREY)
        for each in (axes, below):
            rank_axis(each, ranks)
        cores = max(run["cores"] for g in groups for run in g.runs)
        if ranks[0] <= cores < ranks[-1]:
            axes.axvline(cores, color=drawing.GREY, linestyle=":", linewidth=1.2)
            axes.annotate("cores", (cores, 0), xycoords=("data", "axes fraction"), fontsize=8, color=drawing.GREY,
                          xytext=(3, 4), textcoords="offset points")
    draw_table(figure.add_subplot(grid[2, :]), variants, lines)
    return figure


def widest(groups):
    """The grid and the rank count, beyond one, with the most variants, then the largest grid, then the most ranks that have
    cores of their own."""
    found = {}
    for g in groups:
        found.setdefault((g.problem, g.log2_box, g.cells, g.ranks), []).append(g)

    cores = max(run["cores"] for g in groups for run in g.runs)

    def worth(key):
        return (key[3] > 1, len(found[key]), key[2], min(key[3], cores), -key[3])

    return found[max(found, key=worth)]


def draw_levels(plt, groups):
    """Where the time of a solve goes: on each level, computing and communicating, for each variant."""
    members = [g for g in widest(groups) if g.phases]
    if not members:
        return None
    levels = sorted({(level, cells) for g in members for level, cells, _ in g.phases})
    figure, axes = plt.subplots(figsize=(9.2, 4.4), layout="constrained")
    width = 0.84 / len(members)
    for i, g in enumerate(members):
        at = [n - 0.42 + (i + 0.5) * width for n in range(len(levels))]
        work = [1e3 * g.seconds(level, communicating=False) for level, _ in levels]
        sent = [1e3 * g.seconds(level, communicating=True) for level, _ in levels]
        axes.bar(at, work, width * 0.92, color=color_of(g.comm), alpha=0.35)
        axes.bar(at, sent, width * 0.92, bottom=work, color=color_of(g.comm), label=f"{g.comm}: {drawing.plain(sum(work) + sum(sent), 3)} ms")
    axes.set_xticks(range(len(levels)), [f"{cells}³" for _, cells in levels])
    axes.set_ylabel("ms of a solve, on rank 0")
    axes.set_xlabel("cells of the level")
    axes.set_title(drawing.wrapped(f"{members[0].cells}³ cells, {members[0].ranks} rank{'s' if members[0].ranks > 1 else ''}, "
                                   f"{members[0].problem_name}; pale: computing, full: communicating and waiting", 110), fontsize=10, loc="left")
    axes.legend(fontsize=8.5, ncols=2)
    return figure


def size_name(size):
    for unit, name in ((2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def draw_messages(plt, groups):
    """How many messages of which size a solve sends, by what a message is."""
    members = [g for g in widest(groups) if g.messages]
    if not members:
        return None
    shown = {g.comm for g in members}
    messages = members[0].messages  # the same for all: each run counts every form
    forms = [form for form, variants in FORMS.items() if form in messages and shown.intersection(variants)]
    sizes = {size for form in forms for size, _ in messages[form]}
    if not sizes:
        return None
    bins = [2**n for n in range(min(sizes).bit_length() - 1, max(sizes).bit_length())]
    figure, axes = plt.subplots(figsize=(9.2, 4.2), layout="constrained")
    width = 0.84 / len(forms)
    for i, form in enumerate(forms):
        counts = dict(messages[form])
        at = [n - 0.42 + (i + 0.5) * width for n in range(len(bins))]
        names = ", ".join(v for v in FORMS[form] if v in shown)
        axes.bar(at, [counts.get(size, 0) for size in bins], width * 0.92, color=color_of(FORMS[form][0]),
                 label=f"{FORM_NAMES[form]} ({names}): {sum(counts.values()):,.0f} in all")
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.5)
    axes.set_xticks(range(len(bins)), [size_name(size) for size in bins], rotation=30)
    axes.set_xlabel("size of a message: this, or more but less than twice as much")
    axes.set_ylabel("messages of a solve, all ranks together")
    axes.grid(True, axis="y", which="major", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(drawing.wrapped(f"{members[0].cells}³ cells, {members[0].ranks} rank{'s' if members[0].ranks > 1 else ''}, "
                                   f"{members[0].problem_name}; a message is", 110), fontsize=10, loc="left")
    axes.legend(fontsize=8.5)
    return figure


def draw_sizes(plt, groups):
    """Cells per second of solving against the number of cells: the three sizes of each run."""
    counts = {}
    for g in groups:
        counts.setdefault((g.problem, g.ranks), set()).add((g.comm, g.cells))
    chosen = sorted(counts, key=lambda k: (len(counts[k]), -k[1]), reverse=True)[:3]
    chosen.sort(key=lambda k: (k[0], k[1]))
    figure, all_axes = plt.subplots(1, len(chosen), squeeze=False, sharey=True, figsize=(4.4 * len(chosen) + 1.0, 4.2), layout="constrained")
    for axes, (problem, ranks) in zip(all_axes.flat, chosen):
        here = [g for g in groups if (g.problem, g.ranks) == (problem, ranks)]
        # A line for each configuration, through the three sizes of its runs: grids of another division into boxes are others.
        named = set()
        for g in sorted(here, key=lambda g: list(COLORS).index(g.comm) if g.comm in COLORS else 99):
            levels = {size["level"]: size["cells"] for size in g.sizes if size["level"] in g.solves}
            cells = sorted(levels.items(), key=lambda item: item[1])
            rates = [[1e-6 * n**3 / s for s in g.spread(level)] for level, n in cells]
            drawing.points(axes, [n**3 for _, n in cells], [(middle, high, low) for middle, low, high in rates],
                           [g.disturbed] * len(cells), label=None if g.comm in named else g.comm, **line_style(g.comm))
            named.add(g.comm)
        ticks = sorted({size["cells"] for g in here for size in g.sizes})
        axes.set_xscale("log", base=2)
        axes.set_xticks([n**3 for n in ticks], [f"{n}³" for n in ticks])
        axes.minorticks_off()
        axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
        axes.set_xlabel("cells of the finest grid")
        axes.set_title(drawing.wrapped(f"{ranks} rank{'s' if ranks > 1 else ''}, {here[0].problem_name}", 56), fontsize=10)
    first = all_axes.flat[0]
    low = min(axes.dataLim.intervaly[0] for axes in all_axes.flat)
    high = max(axes.dataLim.intervaly[1] for axes in all_axes.flat)
    drawing.set_log_scale(first.yaxis, first.set_yscale, low, high)
    first.set_ylabel("million DOF/s, median solve")
    all_axes.flat[-1].legend(fontsize=8.5, loc="best")
    return figure


def pictures(plt, groups):
    """Name, figure and caption of each picture."""
    for name, draw, caption in (
        ("variants", draw_variants, "The median solve against the number of ranks, for each way of communicating, and its ratio to that "
                                    "of packed one-sided messages (bulk); bars: p10 to p90 of the solves. The table says what each does, "
                                    "as in the paper's Figure 6." + drawing.HOLLOW),
        ("levels", draw_levels, "Where the time of a solve goes on rank 0, by level: the finest grid is on the left."),
        ("messages", draw_messages, "Sizes of the messages that a solve of the finest grid sends. What memory that ranks share makes a "
                                    "plain copy is counted as the message that it would be."),
        ("sizes", draw_sizes, "Cells per second of solving against the number of cells. The smaller grids of a run are solved with its "
                              "coarser operators. Bars: p10 to p90 of the solves." + drawing.HOLLOW),
    ):
        figure = draw(plt, groups)
        if figure is not None:
            yield name, figure, caption
