#!/usr/bin/env python3
"""Puts the code of tested programs into the pages of docs/, so that plain Markdown shows it.

usage: scripts/snippets.py            writes the pages anew
       scripts/snippets.py --check    only says which pages differ from the programs (the tests do so)
       scripts/snippets.py --root DIR another tree

A page marks what is written for it with a comment, which no reader sees:

    <!-- code: snippets/rma.cpp [value] -->
    ```cpp
    ...the lines between `// [value]` and `// [/value]` of the program, without common indentation
    ```

    <!-- text: ../../examples/README.md [table] -->
    ...the lines between `<!-- [table] -->` and `<!-- [/table] -->`
    <!-- end -->

Paths are relative to the page. A page that shows a part of a program must link to the whole.
"""

import argparse
import re
import sys
import textwrap
from pathlib import Path

CODE = re.compile(r"(<!-- code: (?P<file>\S+) \[(?P<part>\w+)\] -->\n```cpp\n)(?P<old>.*?)(?P<end>^```$)", re.S | re.M)
TEXT = re.compile(r"(<!-- text: (?P<file>\S+) \[(?P<part>\w+)\] -->\n)(?P<old>.*?)(?P<end>^<!-- end -->$)", re.S | re.M)
MARK = re.compile(r"<!-- (?:code|text): ")


class Fault(Exception):
    pass


def part_of(page, file, part, begin, end):
    """The lines of a file between two marks, each on a line of its own."""
    path = (page.parent / file).resolve()
    if not path.exists():
        raise Fault(f"{page}: {file} does not exist")
    lines = path.read_text(encoding="utf-8").split("\n")
    stripped = [line.strip() for line in lines]
    for mark in (begin, end):
        if stripped.count(mark.format(part)) != 1:
            raise Fault(f"{page}: {file} has {stripped.count(mark.format(part))} lines {mark.format(part)}, not one")
    return textwrap.dedent("\n".join(lines[stripped.index(begin.format(part)) + 1 : stripped.index(end.format(part))])) + "\n"


def written(page, text):
    """The text of a page as it should be."""
    def code(match):
        return match[1] + part_of(page, match["file"], match["part"], "// [{}]", "// [/{}]") + match["end"]

    def prose(match):
        between = part_of(page, match["file"], match["part"], "<!-- [{}] -->", "<!-- [/{}] -->")
        return match[1] + "\n" + between.strip("\n") + "\n\n" + match["end"]

    found = len(CODE.findall(text)) + len(TEXT.findall(text))
    if found != len(MARK.findall(text)):
        raise Fault(f"{page}: a mark `<!-- code:` or `<!-- text:` is not followed by a block (scripts/snippets.py --help)")
    new = TEXT.sub(prose, CODE.sub(code, text))
    for file in sorted({match["file"] for match in CODE.finditer(text)}):
        if f"]({file})" not in text:
            raise Fault(f"{page}: shows a part of {file}, but does not link to the whole: [{Path(file).name}]({file})")
    return new


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page differs")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1], help="the tree")
    arguments = parser.parse_args()
    stale, faults, marks = [], [], 0
    for page in sorted((arguments.root / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        marks += len(MARK.findall(text))
        try:
            new = written(page, text)
        except Fault as fault:
            faults.append(str(fault))
            continue
        if new != text:
            stale.append(page.relative_to(arguments.root))
            if not arguments.check:
                page.write_text(new, encoding="utf-8")
    for fault in faults:
        print(f"snippets: {fault}", file=sys.stderr)
    if stale and arguments.check:
        print(f"snippets: not as the programs are: {', '.join(map(str, stale))}\n"
              "snippets: run scripts/snippets.py, look at the difference, and commit it", file=sys.stderr)
    elif not faults:
        print(f"{marks} pieces of programs and pages, {len(stale)} pages {'written' if stale else 'changed'}")
    return 1 if faults or (stale and arguments.check) else 0


if __name__ == "__main__":
    sys.exit(main())
