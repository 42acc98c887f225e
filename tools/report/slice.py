"""Draws a plane of a temperature field to a PNG file.

Standard input: the plane as raw doubles, first named direction fastest.
"""

import argparse
import sys

import drawing


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True)
    parser.add_argument("--width", type=int, required=True, help="cells in the first direction")
    parser.add_argument("--height", type=int, required=True, help="cells in the second direction")
    parser.add_argument("--axes", default="xy", help="names of the two directions")
    parser.add_argument("--title", default="")
    parser.add_argument("--cuts-across", type=float, nargs="*", default=[], help="block borders in the first direction")
    parser.add_argument("--cuts-up", type=float, nargs="*", default=[], help="block borders in the second direction")
    arguments = parser.parse_args()

    plt = drawing.load()
    import numpy
    from mpl_toolkits.axes_grid1 import make_axes_locatable

    field = numpy.frombuffer(sys.stdin.buffer.read(), dtype=float)
    if field.size != arguments.width * arguments.height:
        sys.exit(f"slice.py: expected {arguments.width} x {arguments.height} values, got {field.size}")
    field = field.reshape(arguments.height, arguments.width)

    # The picture keeps the proportions of the plane, within reason.
    ratio = min(max(arguments.height / arguments.width, 0.25), 2.5)
    width = 6.4 if ratio <= 1.2 else 5.0
    figure, axes = plt.subplots(figsize=(width + 1.2, max(2.6, width * ratio) + 0.9))
    image = axes.imshow(
        field,
        origin="lower",
        cmap="inferno",
        interpolation="nearest",
        aspect="equal" if 0.25 <= arguments.height / arguments.width <= 2.5 else "auto",
        extent=(0, arguments.width, 0, arguments.height),
    )
    # Where one rank's cells end and another's begin.
    for at in arguments.cuts_across:
        axes.axvline(at, color="white", linewidth=0.7, linestyle=(0, (4, 3)), alpha=0.7)
    for at in arguments.cuts_up:
        axes.axhline(at, color="white", linewidth=0.7, linestyle=(0, (4, 3)), alpha=0.7)
    beside = make_axes_locatable(axes).append_axes("right", size="4%", pad=0.12)
    figure.colorbar(image, cax=beside, label="temperature (dimensionless)")
    axes.set_xlabel(f"{arguments.axes[0]} (cells)")
    axes.set_ylabel(f"{arguments.axes[1]} (cells)")
    axes.set_title(arguments.title, fontsize=11)
    drawing.save(figure, arguments.output)


if __name__ == "__main__":
    drawing.guarded("slice", main)
