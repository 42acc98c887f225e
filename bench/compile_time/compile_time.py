#!/usr/bin/env python3
"""Measures what it costs to compile programs that include <upcxx/upcxx.hpp>: seconds and peak memory.

Every figure is user time plus system time of the compiler, the least of several runs: other work on the machine only
ever adds to it. Beside the include stands what the standard headers cost that it includes (the limit), and beside
programs with 1, 2, 4, ... distinct calls stands what one more call costs.
"""

import argparse
import csv
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
CALLS = [1, 2, 4, 8, 16, 32]
LARGEST_OVERHEAD_S = 0.25  # of the include at -O0, over its standard headers
LARGEST_GROWTH = 1.25  # of the price of one more call, from the first half of CALLS to the last doubling


class CompileError(Exception):
    pass


def compile_once(compiler, flags, source):
    """(seconds of processor time, MiB of peak memory) of one compilation."""
    command = [compiler, "-std=c++20", f"-I{INCLUDE}", *flags, "-c", str(source), "-o", os.devnull]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "CCACHE_DISABLE": "1"})
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise CompileError(f"{' '.join(command)}:\n{output.decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def standard_headers(compiler, flags, source):
    """Headers outside the project that the project's headers include, in order."""
    command = [compiler, "-std=c++20", f"-I{INCLUDE}", *flags, "-fsyntax-only", "-H", str(source)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    ours, parents, found = str(INCLUDE), {0: True}, []
    for line in listing.splitlines():
        entry = re.match(r"(\.+) (/.*)", line)
        if not entry:
            continue
        depth, path = len(entry[1]), os.path.normpath(entry[2])
        inside = path.startswith(ours)
        if parents[depth - 1] and not inside:
            found.append(path)
        parents[depth] = inside
    return found


def program_of_calls(count):
    """A program with `count` calls, each with a function and a list of argument types of its own."""
    extra = ["int", "double", "std::string const&", "std::vector<double> const&"]
    values = ["1", "2.0", "std::string()", "std::vector<double>()"]
    lines = ["#include <string>", "#include <upcxx/upcxx.hpp>", "#include <vector>", "", "template <int> struct tag { int value; };"]
    for i in range(count):
        lines += [f"int call_{i}() {{",
                  f"  return upcxx::rpc(0, [](tag<{i}> t, {extra[i % 4]}) {{ return t.value + {i}; }}, tag<{i}>{{{i}}}, {values[i % 4]}).wait();",
                  "}"]
    return "\n".join(lines) + "\n"


def sources(folder, compiler, level, counts):
    """(key, text to show, file) of everything to compile; the standard headers first."""
    include = folder / "include.cpp"
    include.write_text("#include <upcxx/upcxx.hpp>\n")
    standard = folder / "standard.cpp"
    standard.write_text("".join(f'#include "{path}"\n' for path in standard_headers(compiler, [level], include)))
    yield "standard", "the standard headers it includes", standard
    yield "include", "#include <upcxx/upcxx.hpp>", include
    lean = folder / "lean.cpp"
    lean.write_text("#define UPCXX_LEAN_INCLUDES 1\n#include <upcxx/upcxx.hpp>\n")
    yield "lean", "the same with UPCXX_LEAN_INCLUDES", lean
    yield "program", "a program of 300 lines", Path(__file__).with_name("representative.cpp")
    for count in counts:
        file = folder / f"calls_{count}.cpp"
        file.write_text(program_of_calls(count))
        yield f"calls.{count}", f"{count} distinct rpc", file


def growth(seconds):
    """How much dearer the calls of the last doubling are than those before them; 1 is linear."""
    counts = sorted(seconds)
    if len(counts) < 3:
        return None
    first, middle, last = counts[0], counts[-2], counts[-1]
    before = (seconds[middle] - seconds[first]) / (middle - first)
    return (seconds[last] - seconds[middle]) / (last - middle) / before if before > 0 else None


def measure(compiler, level, mode, repetitions, counts):
    """Rows of one compiler at one level of optimisation."""
    rows, seconds, calls = [], {}, {}

    def add(key, name, value, unit, **more):
        rows.append({"suite": "compile", "key": key, "name": name, "ranks": 0, "compiler": compiler, "level": level,
                     "value": round(value, 4), "unit": unit, **more})

    def add_goal(key, name, value, unit, most):
        add(key, name, value, unit, goal=f"<= {most:g} {unit}".strip(), reached=value <= most)

    with tempfile.TemporaryDirectory() as folder:
        flags = [level, f"-DUPCXX_CODEMODE={mode}"]
        files = list(sources(Path(folder), compiler, level, counts))
        rounds = [[compile_once(compiler, flags, source) for _, _, source in files] for _ in range(repetitions)]
        for (key, name, _), runs in zip(files, zip(*rounds)):
            samples = sorted(run[0] for run in runs)
            seconds[key] = samples[0]
            if key.startswith("calls."):
                calls[int(key.split(".")[1])] = samples[0]
            add(key, name, samples[0], "s", peak_mib=round(min(run[1] for run in runs)), samples_s=[round(s, 4) for s in samples])
    overhead = seconds["include"] - seconds["standard"]
    if level == "-O0":
        add_goal("include.overhead", "include over its standard headers", overhead, "s", LARGEST_OVERHEAD_S)
    else:
        add("include.overhead", "include over its standard headers", overhead, "s")
    if len(calls) > 1:
        least, most = min(calls), max(calls)
        add("calls.each", "one more rpc", (calls[most] - calls[least]) / (most - least), "s")
    ratio = growth(calls)
    if ratio is not None:
        add_goal("calls.growth", "price of the last calls over that of the first", ratio, "", LARGEST_GROWTH)
    return rows


def version(compiler):
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def configuration(compilers, repetitions):
    def git(*words):
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    commit = git("rev-parse", "--short=12", "HEAD") or "unknown"
    if git("status", "--porcelain", "-uno"):
        commit += "+changes"
    return {"commit": commit, "compiler": "; ".join(version(c) for c in compilers), "processor": model,
            "cores": str(len(os.sched_getaffinity(0))), "load": f"{os.getloadavg()[0]:.1f}", "repetitions": str(repetitions)}


def print_rows(rows, out):
    print(f"\n{'compiler':12} {'level':5} {'':46} {'value':>9} {'memory':>8}  goal", file=out)
    for row in rows:
        memory = f"{row['peak_mib']} MiB" if "peak_mib" in row else ""
        goal = f"{row['goal']}: {'reached' if row['reached'] else 'missed'}" if "goal" in row else ""
        print(f"{row['compiler']:12} {row['level']:5} {row['name']:46} {row['value']:7.3f} {row['unit']:1} {memory:>8}  {goal}".rstrip(), file=out)


def write(file, text):
    if file == "-":
        sys.stdout.write(text)
    else:
        Path(file).write_text(text)


def write_csv(file, rows):
    names = ["suite", "key", "compiler", "level", "value", "unit", "peak_mib", "goal", "reached"]
    with tempfile.SpooledTemporaryFile(mode="w+", newline="") as text:
        out = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
        text.seek(0)
        write(file, text.read())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("compilers", nargs="*", help="compilers [g++ clang++-16, those that are here]")
    parser.add_argument("--levels", default="-O0,-O2", help="levels of optimisation [-O0,-O2]")
    parser.add_argument("--codemode", choices=["debug", "opt"], default="debug", help="with or without checked calls [debug]")
    parser.add_argument("--repetitions", type=int, default=5, help="runs of which the least counts [5]")
    parser.add_argument("--quick", action="store_true", help="does everything work? (one run, few calls, figures of little worth)")
    parser.add_argument("--json", default="", metavar="FILE", help="write configuration and rows (-: standard output)")
    parser.add_argument("--csv", default="", metavar="FILE", help="write the rows (-: standard output)")
    options = parser.parse_args()
    if options.repetitions < 1:
        parser.error("--repetitions: at least 1")
    here = [c for c in ("g++", "clang++-16") if any(os.access(os.path.join(d, c), os.X_OK) for d in os.get_exec_path())]
    compilers = options.compilers or here
    out = sys.stderr if "-" in (options.json, options.csv) else sys.stdout
    repetitions = 1 if options.quick else options.repetitions
    settings = configuration(compilers, repetitions)
    for name, value in settings.items():
        print(f"{name:12} {value}", file=out)
    rows = []
    for compiler in compilers:
        for level in options.levels.split(","):
            rows += measure(compiler, level, int(options.codemode == "opt"), repetitions, CALLS[:3] if options.quick else CALLS)
    print_rows(rows, out)
    if options.json:
        write(options.json, json.dumps({"configuration": settings, "rows": rows}, indent=1) + "\n")
    if options.csv:
        write_csv(options.csv, rows)


if __name__ == "__main__":
    try:
        main()
    except (CompileError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"compile_time: {error}")
