#!/usr/bin/env python3
"""docs/guide/migrating.md shows what C++20 rejects: of each pair of examples the first compiles in C++17 only, the second in both.

Argument: the compiler.
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "migrating.md"
COMPILER = sys.argv.pop(1)
EXAMPLE = re.compile(r"^<!-- c\+\+(17|20)( gcc)? -->\n```cpp\n(.*?)^```$", re.S | re.M)


def compiles(text, standard):
    return subprocess.run([COMPILER, f"-std=c++{standard}", "-fsyntax-only", "-x", "c++", "-"], input=text, text=True,
                          capture_output=True, check=False).returncode == 0


class Migrating(unittest.TestCase):
    def test_examples_are_what_the_page_says(self):
        examples = EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))
        self.assertGreater(len(examples), 12)
        self.assertEqual([standard for standard, _, _ in examples], ["17", "20"] * (len(examples) // 2))
        is_gcc = "Free Software" in subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True).stdout
        for standard, gcc, text in examples:
            with self.subTest(text):
                self.assertTrue(compiles(text, 17), "C++17 refuses it")
                if not gcc or is_gcc:
                    self.assertEqual(compiles(text, 20), standard == "20", "in C++20")


if __name__ == "__main__":
    unittest.main()
