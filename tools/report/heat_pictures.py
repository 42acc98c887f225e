"""Pictures of heat3d runs: windows of two steps, time per step against size, and against the number of ranks."""

import math
import statistics

import drawing

# Solid and dashed as in the study that compared one-sided communication with message passing.
LINE_STYLES = {"rma": "-", "graph": (0, (7, 1, 1, 1, 1, 1)), "device": (0, (7, 1, 1, 1)), "put": "-.", "mpi": "--", "mpi-tuned": ":", "mpi-cuda": (0, (5, 1)), "rma-staged": (0, (3, 1, 1, 1)),
               "none": (0, (1, 4)), "off": (0, (1, 2))}
MARKERS = ["o", "s", "^", "d", "v", "P", "X"]


def color_of(variant, variants):
    return drawing.COLORS[variants.index(variant) % len(drawing.COLORS)]


def unique(values):
    return list(dict.fromkeys(values))


def name_of(group, groups):
    """The variant, with the back end where there are several."""
    return group.variant if len({g.backend for g in groups}) == 1 else f"{group.variant}, {group.backend}"


def pick_panels(groups, most=6):
    """For each size, on hosts and on GPUs, the rank count with the most variants, then the fewest ranks to a GPU, then the
    most ranks; the largest sizes are kept. Runs in whose steps nobody waits have no times of single steps."""
    panels = []
    for size in unique(g.size for g in groups):
        of_size = [g for g in groups if g.size == size and g.windows()]
        for on_devices in (False, True):
            here = [g for g in of_size if bool(g.devices) == on_devices]
            setups = unique((g.ranks, g.devices, g.hosts) for g in here)
            if not setups:
                continue
            setup = max(setups, key=lambda s: (len([g for g in here if (g.ranks, g.devices, g.hosts) == s and g.exchange != "none"]),
                                               -s[0] / max(s[1], 1) if on_devices else 0, s))
            panels.append([g for g in here if (g.ranks, g.devices, g.hosts) == setup])
    return panels[-most:]


def draw_histogram(plt, groups):
    """Figure 2 of the study: how the durations of two consecutive steps are distributed, for each variant."""
    panels = pick_panels(groups)
    if not panels:
        return None
    columns = min(len(panels), 2)
    rows = math.ceil(len(panels) / columns)
    figure, all_axes = plt.subplots(
        rows, columns, figsize=(5.4 * columns + 0.8, 3.6 * rows + 0.5), squeeze=False, layout="constrained"
    )
    for axes in all_axes.flat[len(panels):]:
        axes.set_visible(False)
    shown = [g for panel in panels for g in panel]
    variants = unique(name_of(g, shown) for g in shown)
    for axes, panel in zip(all_axes.flat, panels):
        drawing.histogram(axes, [(name, color_of(name, variants), g.windows())
                                 for g in panel for name in [name_of(g, shown)]])
        axes.set_title(drawing.wrapped(f"{panel[0].size_name} cells, {panel[0].setup_name}", 56), fontsize=11)
    return figure


def of_runs(group):
    """Median, shortest and longest time per step of runs, in ms."""
    loops = [1e3 * loop for loop in group.loops()]
    return statistics.median(loops), min(loops), max(loops)


def statistic_of(groups):
    """One for all of these, in ms, and its name: of single steps where all have their times, else of whole runs."""
    if all(g.all_steps() for g in groups):
        return (lambda g: [1e3 * s for s in drawing.spread(g.all_steps())]), "median step; bars: p10 to p90 of the steps"
    return of_runs, "run divided by its steps, median; bars: shortest to longest run"


def draw_sizes(plt, groups):
    """Time per step against the edge of the cube, for each variant; beside it what of it is not the kernels'."""
    cubes = [g for g in groups if g.is_cube]
    setups = [s for s in unique((g.place, g.ranks, g.devices) for g in cubes if g.ranks > 1)
              if len({g.size for g in cubes if (g.place, g.ranks, g.devices) == s}) > 1]
    if not setups:
        return None
    has_kernels = any(g.exchange == "off" for g in cubes)
    figure, all_axes = plt.subplots(len(setups), 1 + has_kernels, squeeze=False, layout="constrained",
                                    figsize=(5.3 * (1 + has_kernels) + 0.4, 3.5 * len(setups) + 0.4))
    variants = unique(g.variant for g in cubes if g.ranks > 1 and g.exchange != "off")
    for row, (place, ranks, devices) in zip(all_axes, setups):
        here = [g for g in cubes if (g.place, g.ranks, g.devices) == (place, ranks, devices)]
        alone = {g.size: g.step() for g in here if g.exchange == "off"}
        # One for each size: a rank alone exchanges nothing, whichever way it would.
        single = list({g.size: g for g in cubes if g.backend == place[0] and g.ranks == 1 and g.exchange in ("rma", "none")}.values())
        lines = [("one rank", drawing.GREY, ":", single), *[
            (v, color_of(v, variants), "-", [g for g in here if g.variant == v]) for v in variants],
            ("kernels alone (off)", "#000000", ":", [g for g in here if g.exchange == "off"])]
        axes = row[0]
        for (label, color, style, line), marker in zip(lines, [".", *MARKERS]):
            if line:
                drawing.points(axes, [g.size[0] for g in line], [of_runs(g) for g in line], [g.disturbed for g in line],
                               linestyle=style, marker=marker, markersize=4, color=color, label=label, linewidth=1.6)
        drawing.set_log_scale(axes.yaxis, axes.set_yscale, *axes.dataLim.intervaly)
        axes.set_ylabel("time per step (ms)")
        for _, color, _, line in lines[1:-1] if has_kernels else []:
            line = [g for g in line if g.size in alone]
            beyond = [[1e3 * ms - 1e6 * alone[g.size] for ms in of_runs(g)] for g in line]
            drawing.points(row[1], [g.size[0] for g in line], beyond, [g.disturbed for g in line], linestyle="-", marker="o",
                           color=color, markersize=4, linewidth=1.6)
        if has_kernels:
            row[1].axhline(0, color="#000000", linestyle=":", linewidth=1.2)
            values = [abs(v) for line in row[1].lines for v in line.get_ydata() if v]
            if values and max(values) > 100 * statistics.median(values):
                row[1].set_yscale("symlog", linthresh=max(1.0, statistics.median(values)))
            row[1].set_ylabel("beyond the kernels alone (µs a step)")
            row[1].set_title("less the kernels alone", fontsize=11)
        axes.set_title(drawing.wrapped(f"{here[0].setup_name}, back end {place[0]}", 56), fontsize=11)
        axes.legend(fontsize=8)
        edges = sorted({g.size[0] for g in [*here, *single]})
        for each in row:
            each.set_xscale("log", base=2)
            each.set_xticks(edges, [f"{e}³" for e in edges])
            each.minorticks_off()
            each.grid(True, which="major", color="#dddddd", linewidth=0.6)
            each.set_xlabel("cells")
    return figure


def scaling_line(groups, size, exchange, place):
    """Groups of one line. One rank exchanges nothing, so that its run starts the line of any variant."""
    line = [g for g in groups if (g.size, g.exchange, g.place) == (size, exchange, place)]
    if not any(g.ranks == 1 for g in line):
        line = [g for g in groups if g.size == size and g.ranks == 1 and g.place == place][:1] + line
    return line


def draw_scaling(plt, groups):
    """Figure 1 of the study: time per step against ranks; one colour per size, one line style per variant."""
    from matplotlib.lines import Line2D

    # What the kernels take alone is in another picture, unless there is nothing else.
    shown = [g for g in groups if g.exchange != "off"] or groups
    on_what = [d for d in (False, True) if any(bool(g.devices) == d for g in shown)]
    figure, all_axes = plt.subplots(1, len(on_what), squeeze=False, figsize=(5.6 * len(on_what) + 2.6, 4.9),
                                    layout="constrained")
    sizes = unique(g.size for g in shown)
    places = unique(g.place for g in shown)
    for axes, on_devices in zip(all_axes.flat, on_what):
        here = [g for g in shown if bool(g.devices) == on_devices]
        count = (lambda g: g.devices) if on_devices else (lambda g: g.ranks)
        statistic, name = statistic_of(here)
        for size in unique(g.size for g in here):
            color = drawing.COLORS[sizes.index(size) % len(drawing.COLORS)]
            for place in unique(g.place for g in here if g.size == size):
                draw_ideal(axes, [g for g in here if (g.size, g.place) == (size, place)], count, color, statistic)
                exchanges = unique(g.exchange for g in here if (g.size, g.place) == (size, place))
                sent = [e for e in exchanges if any(g.ranks > 1 and g.exchange == e and (g.size, g.place) == (size, place)
                                                    for g in here)]
                for exchange in sent or exchanges:
                    line = scaling_line(here, size, exchange, place)
                    drawing.points(axes, [count(g) for g in line], [statistic(g) for g in line], [g.disturbed for g in line],
                                   color=color, linestyle=LINE_STYLES.get(exchange, "-"), linewidth=1.7, markersize=4.5,
                                   marker=MARKERS[places.index(place) % len(MARKERS)])
        counts = sorted({count(g) for g in here})
        axes.set_xscale("log", base=2)
        axes.set_xticks(counts, [str(c) for c in counts])
        axes.minorticks_off()
        if len(counts) == 1:
            axes.set_xlim(counts[0] / 2, counts[0] * 2)
        drawing.set_log_scale(axes.yaxis, axes.set_yscale, *axes.dataLim.intervaly)
        axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
        axes.set_xlabel("GPUs" if on_devices else "ranks")
        axes.set_ylabel("time per step (ms)")
        axes.set_title(f"{name}; dots: ideal", fontsize=10, loc="left")
    handles = [Line2D([], [], color=drawing.COLORS[i % len(drawing.COLORS)], linewidth=3, label=f"{name} cells")
               for i, name in enumerate(unique(g.size_name for g in shown))]
    handles += [Line2D([], [], color="#444444", linestyle=LINE_STYLES.get(e, "-"), label=name)
                for e, name in unique((g.exchange, g.variant) for g in shown if g.ranks > 1) or
                unique((g.exchange, g.variant) for g in shown)]
    if len(places) > 1:
        handles += [Line2D([], [], color="#444444", linestyle="", marker=MARKERS[i % len(MARKERS)],
                           label=drawing.wrapped(backend + (f", {per:g} rank{'s' if per > 1 else ''} a GPU" if per else "") +
                                                 (f", {hosts.words}" if hosts.words else ""), 32))
                    for i, (backend, per, hosts) in enumerate(places)]
    all_axes.flat[-1].legend(handles=handles, fontsize=8.5, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def draw_ideal(axes, line, count, color, statistic):
    """Where the time of one rank would fall to if it were shared without loss."""
    single = [g for g in line if g.ranks == 1]
    most = max(count(g) for g in line)
    if single and most > 1:
        time = statistic(single[0])[0]
        axes.plot([1, most], [time, time / most], color=color, linestyle=(0, (1, 3)), linewidth=1.0, alpha=0.8)


def pictures(plt, groups):
    """Name, figure and caption of each picture."""
    for name, draw, caption in (
        ("histogram", draw_histogram, "How long two consecutive steps take: share of all windows of two steps, timed on rank 0. "
                                      "Dotted: median."),
        ("sizes", draw_sizes, "Time per step against size, and what of it is not taken by the kernels alone: the same program "
                              "without exchange. Run divided by its steps, median of runs; bars: shortest to longest run."
                              + drawing.HOLLOW),
        ("scaling", draw_scaling, "Time per step against the number of ranks, or of GPUs, for each size and variant." + drawing.HOLLOW),
    ):
        figure = draw(plt, groups)
        if figure is not None:
            yield name, figure, caption
