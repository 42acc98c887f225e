#!/usr/bin/env python3
"""Counts the lines of communication code of each variant of atoll-hpgmg: those that are neither empty nor comments, of the
files that this variant would need, were it the only one: lists of regions, packing, and what moves them. Not counted is
what is asked of all of them (runtime.hpp), the start of the library, and what describes data: the boxes themselves (level.cpp),
and boxes as arrays (box_arrays.cpp).

With --header FILE it writes the table as C++, for the program's results.
"""

import argparse
import os
import re
import sys

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "apps", "hpgmg")
# Files of each variant; what is missing is a variant that does not exist.
PLAN = ["grid/plan.hpp", "grid/plan.cpp"]
PACKING = ["movers/packing.hpp", "movers/packing.cpp"]
NATURAL = [*PLAN, "movers/natural_movers.hpp", "movers/natural_movers.cpp"]
FILES = {
    "baseline": NATURAL,
    "+shm": NATURAL,
    "+local": NATURAL,
    "+vis": NATURAL,
    "+group": NATURAL,
    "bulk": [*PLAN, *PACKING, "movers/bulk_mover.hpp", "movers/bulk_mover.cpp"],
    "mpi": [*PLAN, *PACKING, "movers/mpi_runtime.cpp"],
    "array": ["movers/array_mover.hpp", "movers/array_mover.cpp"],
}


def lines_of(path):
    """Lines of code in a C++ file. Comments in strings do not occur."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    return sum(bool(re.sub(r"//.*", "", line).strip()) for line in text.splitlines())


def count(folder=FOLDER):
    """Lines of each variant that exists."""
    table = {}
    for variant, names in FILES.items():
        paths = [os.path.join(folder, name) for name in names]
        if os.path.exists(paths[-1]):
            table[variant] = sum(lines_of(path) for path in paths if os.path.exists(path))
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--header", metavar="FILE", help="write this C++ header instead of printing")
    arguments = parser.parse_args()
    table = count()
    if not arguments.header:
        for variant, lines in table.items():
            print(f"{variant:<10} {lines:>5}  {' '.join(FILES[variant])}")
        return
    entries = "".join(f'    {{"{variant}", {lines}}},\n' for variant, lines in table.items())
    text = ("#pragma once\n\nnamespace hpgmg {\nstruct lines_entry {\n  char const* name;\n  int lines;\n};\n"
            f"inline constexpr lines_entry communication_lines[] = {{\n{entries}    {{\"\", 0}}}};\n}}  // namespace hpgmg\n")
    with open(arguments.header, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    sys.exit(main())
