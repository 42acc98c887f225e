"""Draws results: of heat3d or hpgmg runs (the SQLite file of `atoll-heat3d --results`, `atoll-hpgmg --results`, or of the
studies `atoll heat-study` and `atoll hpgmg-study`), or of copies to and from GPUs (the JSON or CSV file of `atoll bench gpu`).

Writes pictures (PNG, and SVG and PDF beside it) and index.html, a page that needs no other file, and prints the table of the page.
"""

import argparse
import os
import sys
import traceback

import copies
import database
import drawing
import heat
import hpgmg
import page


def contents_of(path):
    """What the file holds: modules that understand it, each with what it has read. Both applications may have added to one file."""
    if not os.path.isfile(path):
        raise drawing.NothingToDraw(f"{path}: no such file; atoll-heat3d --results, atoll-hpgmg --results and atoll bench gpu --json write "
                                    "some")
    with open(path, "rb") as file:
        if file.read(15) != b"SQLite format 3":
            return [(copies, copies.read(path))]
    modules = [each for each in (heat, hpgmg) if database.has_table(path, each.TABLE)]
    if not modules:
        raise drawing.NothingToDraw(f"{path}: no results file of heat3d or hpgmg, though one of SQLite: it has no table of runs")
    filled = [each for each in modules if database.has_rows(path, each.TABLE)]
    if not filled:
        raise drawing.NothingToDraw(f"{path}: holds no runs")
    return [(each, each.read(path)) for each in filled]


def section_of(content, data, path, output, prefix):
    """Draws the pictures of one content, and makes its part of the page."""
    plt = drawing.load()
    pictures = []
    for name, figure, caption in content.pictures(plt, data):
        file = drawing.save_all(figure, os.path.join(output, prefix + name))
        pictures.append((file, caption, drawing.describe(figure)))
        plt.close(figure)
    heading, rows = content.table(data)
    facts = [("File", os.path.abspath(path)), *content.facts(data)]
    return page.Section(content.TITLE, facts, pictures, heading, rows, content.NOTE)


def main():
    parser = argparse.ArgumentParser(prog="atoll report", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="file written by atoll-heat3d --results, atoll-hpgmg --results, or atoll bench gpu --json or "
                                     "--csv")
    parser.add_argument("-o", "--output", default="atoll-report", help="folder to write to (%(default)s)")
    parser.add_argument("--open", action="store_true", help="show the page in a browser")
    arguments = parser.parse_args()

    try:
        contents = contents_of(arguments.file)
        os.makedirs(arguments.output, exist_ok=True)
        # Pictures of both applications have the same names.
        sections = [section_of(content, data, arguments.file, arguments.output, f"{content.__name__}-" if len(contents) > 1 else "")
                    for content, data in contents]
    except drawing.NothingToDraw as problem:
        sys.stderr.write(f"atoll report: {problem}\n")
        sys.exit(2)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        sys.stderr.write(f"atoll report: {arguments.file}: holds values that no run writes; was it changed by hand? ({error}, at "
                         f"{os.path.basename(place.filename)}:{place.lineno})\n")
        sys.exit(2)
    index = os.path.join(arguments.output, "index.html")
    page.write(index, sections)
    for number, section in enumerate(sections):
        if len(sections) > 1:
            print(f"{chr(10) if number else ''}{section.title}")
        page.print_table(section.heading, section.rows)
    for section in sections:
        for path, *_ in section.pictures:
            print(f"wrote {path}, .svg, .pdf")
    print(f"wrote {index}")
    sys.stdout.flush()
    if arguments.open:
        import webbrowser

        webbrowser.open(f"file://{os.path.abspath(index)}")


if __name__ == "__main__":
    drawing.guarded("atoll report", main)
