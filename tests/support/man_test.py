#!/usr/bin/env python3
"""Manual pages and completion say what the commands take. Arguments: the folder of the programs, then unittest's."""

import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else Path()
PAGES = ROOT / "docs" / "man"


def output(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False).stdout


def options_of(text):
    """Options at the beginnings of lines of a help text; the compiler's help, which follows the wrapper's, is another's."""
    text = re.split(r"^Usage: \S*(?:c\+\+|clang)", text, flags=re.M)[0]
    lines = re.findall(r"^  (-\S.*?)(?:  |$)", text, flags=re.M)
    return {option for line in lines for option in re.findall(r"(?:^|[ ,])(--?[A-Za-z][A-Za-z-]*)", line)}


def options_in_page(name):
    text = re.sub(r"\\f[A-Z]", " ", (PAGES / name).read_text(encoding="utf-8")).replace("\\-", "-")
    tagged = re.findall(r"^\.TP\n\.B[RI]* (.*)$", text, flags=re.M)
    return {option for line in tagged for option in re.findall(r"(?<![\w-])(--?[A-Za-z][A-Za-z-]*)", line)}


def complete(*words):
    """What bash offers for the last of these words."""
    script = ('. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              'f=$(complete -p "${1##*/}" | sed "s/.*-F \\([^ ]*\\).*/\\1/"); "$f" "$1"; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "--norc", "-c", script, "bash", str(ROOT / "tools" / "completion" / "atoll.bash"), *words],
                          capture_output=True, text=True, check=False, cwd=PAGES)
    if done.stderr:
        raise AssertionError(done.stderr)
    return set(done.stdout.split())


class Manual(unittest.TestCase):
    def test_pages_are_formatted_without_warnings(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        pages = sorted(PAGES.glob("*.1"))
        self.assertEqual(len(pages), 5)
        for page in pages:
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", str(page)], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)

    def test_pages_name_the_options_of_the_commands(self):
        for page, words in (("atoll-run.1", (PROGRAMS / "atoll", "run", "--help")), ("upcxx.1", (PROGRAMS / "upcxx", "--help"))):
            with self.subTest(page):
                missing = options_of(output(*words)) - options_in_page(page)
                self.assertGreater(len(options_of(output(*words))), 4)
                self.assertEqual(missing, set(), f"docs/man/{page} does not name them")
        gone = {o for o in options_in_page("atoll-run.1") if o.startswith("--")} - options_of(output(PROGRAMS / "atoll", "run", "--help"))
        self.assertEqual(gone, set(), "docs/man/atoll-run.1 names them, `atoll run --help` does not")

    def test_pages_name_subcommands_and_variables(self):
        page = (PAGES / "atoll.1").read_text(encoding="utf-8").replace("\\-", "-")
        for name in re.findall(r"^  ([a-z-]+) ", output(PROGRAMS / "atoll", "--help"), flags=re.M):
            self.assertRegex(page, rf"(?m)^\.BR? .*\b{name}\b")
        page = (PAGES / "upcxx-meta.1").read_text(encoding="utf-8")
        for name in re.findall(r"^(?!BUILD_FLAGS)([A-Z_]+)=", output(PROGRAMS / "upcxx-meta", "ALL"), flags=re.M):
            self.assertRegex(page, rf"(?m)^\.BR? .*\b{name}\b", name)

    def test_variables_of_ranks_on_other_hosts(self):
        source = (ROOT / "tools" / "run" / "hosts" / "cluster_plan.cpp").read_text(encoding="utf-8")
        forwarded = set(re.findall(r'"([A-Z]+_)"', re.search(r"bool is_forwarded\(.*?\n}\n", source, flags=re.S)[0]))
        self.assertGreater(len(forwarded), 4)
        for page in (PAGES / "atoll-run.1", ROOT / "docs" / "guide" / "clusters.md"):
            named = re.search(r"variables that begin with (.*?), the paths", page.read_text(encoding="utf-8"), flags=re.S)[1]
            self.assertEqual(set(re.findall("[A-Z]+_", named)), forwarded, page.name)


class Completion(unittest.TestCase):
    def test_subcommands(self):
        self.assertEqual(complete(str(PROGRAMS / "atoll"), "in"), {"info"})
        self.assertIn("heat-study", complete(str(PROGRAMS / "atoll"), ""))

    def test_every_option_of_a_start_is_offered(self):
        wanted = options_of(output(PROGRAMS / "atoll", "run", "--help"))
        self.assertLessEqual(wanted, complete(str(PROGRAMS / "atoll"), "run", "-"))
        self.assertLessEqual(wanted, complete(str(PROGRAMS / "upcxx-run"), "-n", "4", "-"))
        self.assertEqual(complete(str(PROGRAMS / "atoll"), "run", "--ti"), {"--timeout"})

    def test_values_and_files(self):
        self.assertIn("all", complete(str(PROGRAMS / "atoll"), "run", "--stdin", ""))
        self.assertIn("upcxx-meta.1", complete(str(PROGRAMS / "atoll"), "run", "-n", "4", "upcxx-m"))
        self.assertEqual(complete(str(PROGRAMS / "atoll"), "run", "-n", "4", "program", "upcxx-m"), {"upcxx-meta.1"})

    def test_modes_and_variables_of_the_compile_tools(self):
        self.assertEqual(complete(str(PROGRAMS / "upcxx"), "-codemode", "=", "d"), {"debug"})
        self.assertEqual(complete(str(PROGRAMS / "upcxx"), "-threadmode", "="), {"seq", "par"})
        self.assertEqual(complete(str(PROGRAMS / "upcxx-meta"), "LD"), {"LDFLAGS"})


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    unittest.main()
