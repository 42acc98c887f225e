"""Draws results: of heat3d or hpgmg runs (the SQLite file of `atoll-heat3d --results`, `atoll-hpgmg --results`, or of the
studies `atoll heat-study` and `atoll hpgmg-study`), or of copies to and from GPUs (the JSON or CSV file of `atoll bench gpu`).

Writes pictures (PNG, and SVG and PDF beside it) and index.html, a page that needs no other file, and prints the table of the page.
"""

import argparse
import os
import sys

import copies
import database
import drawing
import heat
import hpgmg
import page


def content_of(path):
    """The module that understands the file."""
    if not os.path.isfile(path):
        raise drawing.NothingToDraw(f"{path}: no such file; atoll-heat3d --results, atoll-hpgmg --results and atoll bench gpu --json write "
                                    "some")
    with open(path, "rb") as file:
        if file.read(15) != b"SQLite format 3":
            return copies
    return hpgmg if database.has_table(path, "hpgmg_runs") else heat


def main():
    parser = argparse.ArgumentParser(prog="atoll report", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="file written by atoll-heat3d --results, atoll-hpgmg --results, or atoll bench gpu --json or "
                                     "--csv")
    parser.add_argument("-o", "--output", default="atoll-report", help="folder to write to (%(default)s)")
    parser.add_argument("--open", action="store_true", help="show the page in a browser")
    arguments = parser.parse_args()

    try:
        content = content_of(arguments.file)
        data = content.read(arguments.file)
    except drawing.NothingToDraw as problem:
        sys.stderr.write(f"atoll report: {problem}\n")
        sys.exit(2)
    os.makedirs(arguments.output, exist_ok=True)
    plt = drawing.load()
    pictures = []
    for name, figure, caption in content.pictures(plt, data):
        path = drawing.save_all(figure, os.path.join(arguments.output, name))
        pictures.append((path, caption, drawing.describe(figure)))
        plt.close(figure)
    heading, rows = content.table(data)
    index = os.path.join(arguments.output, "index.html")
    facts = [("File", os.path.abspath(arguments.file)), *content.facts(data)]
    page.write(index, content.TITLE, facts, pictures, heading, rows, content.NOTE)
    page.print_table(heading, rows)
    for path, *_ in pictures:
        print(f"wrote {path}, .svg, .pdf")
    print(f"wrote {index}")
    sys.stdout.flush()
    if arguments.open:
        import webbrowser

        webbrowser.open(f"file://{os.path.abspath(index)}")


if __name__ == "__main__":
    drawing.guarded("atoll report", main)
