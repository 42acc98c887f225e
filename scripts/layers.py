#!/usr/bin/env python3
"""Checks by includes that a layer uses only those below it.

usage: scripts/layers.py [ROOT]

Prints every include that points up, and fails if there is one. The layers are those of CONTRIBUTING.md; a room of the engine
counts as a layer of its own.
"""

import re
import sys
from pathlib import Path

# From the ground up: name, folders. Rooms on one line do not know each other.
LAYERS = [
    [("base", ["include/atoll/base", "src/base"])],
    [("bootstrap", ["src/bootstrap"])],
    [("memory", ["src/memory"])],
    [("transport", ["include/atoll/transport", "src/transport"])],
    [("engine: host domain", ["src/engine/host"])],
    [("engine: tokens", ["src/engine/tokens"]), ("engine: network", ["src/engine/network"])],
    [("engine: progress", ["src/engine/progress"])],
    [("engine: remote memory", ["src/engine/rma"])],
    [("engine: collectives", ["src/engine/collectives"]), ("engine: copies", ["src/engine/copies"])],
    [("engine", ["include/atoll/engine", "src/engine"])],
    [("front end", ["include/upcxx", "src/upcxx"])],
    [("extensions", ["include/atoll"])],
    [("applications", ["apps"]), ("tools", ["tools"]), ("benchmarks", ["bench"])],
]
# Installed headers of the engine lie in one folder: the rooms below it may include them.
FACE_OF_ENGINE = "include/atoll/engine"
# What programs may include, and so the applications: neither the layers below the front end nor its parts.
PRIVATE_TO_APPLICATIONS = ["include/atoll/base", "include/atoll/transport", "include/atoll/engine", "include/upcxx/detail", "src"]

SOURCES = {".hpp", ".cpp", ".h", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<((?:atoll|upcxx)/[^>]+)>)')


def layer_of(path):
    """(height, name) of the deepest folder of the table that holds the path, or None."""
    best = None
    for height, rooms in enumerate(LAYERS):
        for name, folders in rooms:
            for folder in folders:
                if path.startswith(folder + "/") and (best is None or len(folder) > best[0]):
                    best = (len(folder), height, name)
    return best and best[1:]


def included_file(root, quoted, angled):
    """Path below root of what an include names, or None if it is not the project's."""
    for folder in ["include"] if angled else ["src", "include"]:
        if (root / folder / (angled or quoted)).is_file():
            return f"{folder}/{angled or quoted}"
    return None


def complaint(user, used):
    """Why the first file must not include the second, or None."""
    height, name = layer_of(user)
    used_height, used_name = layer_of(used)
    if name == "applications" and any(used.startswith(folder + "/") for folder in PRIVATE_TO_APPLICATIONS):
        return "applications are written against the public interface only"
    if name == used_name or used_height < height:
        return None
    if used.startswith(FACE_OF_ENGINE + "/") and name.startswith("engine"):
        return None
    return f"{name} does not know {used_name}" if used_height == height else f"{name} lies below {used_name}"


def check(root):
    """All includes that point up, as lines of text, and the number of includes that were looked at."""
    complaints, looked_at = [], 0
    for folder in ("include", "src", "apps", "tools", "bench"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            user = path.relative_to(root).as_posix()
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                used = match and included_file(root, *match.groups())
                if not used or layer_of(used) is None or layer_of(user) is None:
                    continue
                looked_at += 1
                why = complaint(user, used)
                if why:
                    complaints.append(f"{user}:{number}: includes {used}: {why}")
    return complaints, looked_at


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    complaints, looked_at = check(root)
    for line in complaints:
        print(line)
    print(f"layers: {looked_at} includes, {len(complaints)} pointing up")
    return 1 if complaints or looked_at == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
