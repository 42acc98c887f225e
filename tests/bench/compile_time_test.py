#!/usr/bin/env python3
"""Tests that bench/compile_time measures what it says. No figure is judged.

usage: compile_time_test.py SCRIPT COMPILER
"""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile

script, compiler = sys.argv[1:3]


def measure(*arguments):
    return subprocess.run([sys.executable, script, compiler, "--levels=-O0", "--quick", *arguments],
                          capture_output=True, text=True, timeout=300)


with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "compile.json")
    done = measure("--json", file, "--csv", "-")
    assert done.returncode == 0, done.stderr
    with open(file) as stream:
        report = json.load(stream)
rows = {row["key"]: row for row in report["rows"]}
assert [row["key"] for row in csv.DictReader(io.StringIO(done.stdout))] == list(rows)
for key in ("standard", "include", "lean", "program", "calls.1", "calls.2", "calls.4"):
    assert rows[key]["value"] > 0 and rows[key]["peak_mib"] > 0 and len(rows[key]["samples_s"]) == 1, rows[key]
    assert rows[key]["suite"] == "compile" and rows[key]["level"] == "-O0"
# The standard headers are a part of the include, and a program more than it: memory says so without noise.
assert rows["standard"]["peak_mib"] <= rows["include"]["peak_mib"] < rows["program"]["peak_mib"]
assert rows["lean"]["peak_mib"] < rows["include"]["peak_mib"]
assert {"include.overhead", "calls.each"} <= set(rows) and "goal" in rows["include.overhead"]
assert report["configuration"]["compiler"]

broken = subprocess.run([sys.executable, script, os.path.join(os.sep, "no", "such", "compiler"), "--quick"],
                        capture_output=True, text=True)
assert broken.returncode != 0 and "no/such/compiler" in broken.stderr, broken
