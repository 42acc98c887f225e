#!/usr/bin/env python3
"""Does what compile_fail.cmake does for many files in two runs of the compiler, which takes most of its time for headers.

usage: compile_fail_together.py COMPILER STANDARD HEADER FOLDER [-I folder ...] FILE ...

HEADER.gch is <upcxx/upcxx.hpp>, compiled beforehand. The files become one in FOLDER, each in a namespace of its own behind the headers of all: with -DCONTROL it must be accepted; without,
each must have a diagnostic of its own that matches what it expects. Files of which that cannot be said are compiled alone.
"""

import os
import re
import subprocess
import sys

compiler, standard, header, folder = sys.argv[1:5]
arguments = sys.argv[5:]
includes = []
while arguments and arguments[0] == "-I":
    includes += arguments[:2]
    arguments = arguments[2:]
assert arguments, "no files: is the list empty?"
command = [compiler, f"-std=c++{standard}", "-fsyntax-only", "-fdiagnostics-color=never", *includes, "-include", header]



def compile(*more):
    """Whether the compiler accepts it, and its words."""
    done = subprocess.run([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode == 0, done.stdout


class Case:
    def __init__(self, path):
        self.path = path
        self.text = open(path).read()
        self.expect = re.compile(re.match(r"// expect: (.+)\n", self.text).group(1), re.DOTALL)  # as CMake takes it
        self.words = ""

    def can_join(self):
        """What adds to the library's namespaces or has macros cannot stand in a namespace of its own."""
        return not re.search(r"^(namespace |template <>|#define|#undef)", self.text, re.M)

    def is_refused_with_these_words(self):
        return self.expect.search(self.words) is not None

    def trouble_alone(self):
        accepted, words = compile(self.path, "-DCONTROL")
        if not accepted:
            return f"the control (-DCONTROL) does not compile, so the test proves nothing:\n{words}"
        accepted, words = compile(self.path)
        if accepted:
            return f"compiled, but should have been refused with: {self.expect.pattern}"
        if not self.expect.search(words):
            return f"refused, but no diagnostic matches: {self.expect.pattern}\n{words}"
        return None


def write_together(cases, path):
    with open(path, "w") as file:
        for header in sorted({h for case in cases for h in re.findall(r"^#include (<.+>)", case.text, re.M)}):
            file.write(f"#include {header}\n")
        for number, case in enumerate(cases):
            file.write(f'#pragma GCC diagnostic push\nnamespace case_{number} {{\n#include "{case.path}"\n}}\n#pragma GCC diagnostic pop\n')


def share_out(words, cases):
    """Gives each case the diagnostics that say in their context or at their place that they are about its file."""
    by_path = {case.path: case for case in cases}
    names = re.compile("|".join(re.escape(path) for path in by_path))
    begins_context = re.compile(r"^In file included from |^\S+: (In|At) |^\S+: +(required|recursively required|in )")
    context, current = [], None
    for line in words.splitlines():
        if begins_context.match(line):
            context.append(line)
            continue
        if ": error: " in line:
            mentioned = names.findall("\n".join([*context[-1:], line])) or names.findall("\n".join(context))
            if mentioned:
                current = by_path[mentioned[-1]]
            elif context:
                current = None
            if current:
                current.words += "\n".join([*context, ""])
            context = []
        if current:
            current.words += line + "\n"


every = [Case(path) for path in arguments]
joined = [case for case in every if case.can_join()]
together = os.path.join(folder, "together.cpp")
os.makedirs(folder, exist_ok=True)
write_together(joined, together)
accepted, control = compile(together, "-DCONTROL")
if accepted:
    share_out(compile(together)[1], joined)
else:
    print(f"the controls do not compile together:\n{control}")
alone = [case for case in every if not case.is_refused_with_these_words()]
failed = 0
for case in alone:
    trouble = case.trouble_alone()
    if trouble:
        failed += 1
        print(f"{case.path}: {trouble}")
print(f"{len(every)} files, {len(alone)} of them alone{''.join(' ' + os.path.basename(c.path) for c in alone)}; {failed} failed")
sys.exit(failed > 0)
