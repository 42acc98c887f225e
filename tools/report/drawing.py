"""What the drawing scripts share: loading matplotlib without a display, colours, errors in one line."""

import os
import sys

# One colour per problem size or variant, told apart also by readers who do not see all colours (Okabe and Ito).
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]


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
        }
    )
    return plt


def save(figure, path):
    """Writes a PNG file, whatever the name ends in, under its final name only when it is complete."""
    partial = path
    if not os.path.exists(path) or os.path.isfile(path):
        partial = f"{path}.{os.getpid()}.part"
    try:
        with open(partial, "wb") as file:
            figure.savefig(file, format="png", bbox_inches="tight")
        if partial != path:
            os.replace(partial, path)
    except OSError:
        if partial != path and os.path.exists(partial):
            os.unlink(partial)
        raise


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
