#!/usr/bin/env python3
"""The pages of docs/ show the code of the tested programs, and scripts/snippets.py sees where they do not."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "int main() {\n  // [part]\n  int a = 1;\n    int b = 2;\n  // [/part]\n}\n"
LINK = "\nAll of it: [a.cpp](snippets/a.cpp)\n"


def run(root, *options):
    return subprocess.run([sys.executable, ROOT / "scripts" / "snippets.py", "--root", root, *options],
                          capture_output=True, text=True, check=False)


class Snippets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.page = self.root / "docs" / "page.md"
        (self.root / "docs" / "snippets").mkdir(parents=True)
        (self.root / "docs" / "snippets" / "a.cpp").write_text(PROGRAM, encoding="utf-8")

    def write(self, block, rest=LINK):
        self.page.write_text("# Page\n\n" + block + rest, encoding="utf-8")

    def test_pages_of_the_tree_show_what_the_programs_are(self):
        done = run(ROOT, "--check")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(int(done.stdout.split()[0]), 60)
        self.assertNotIn("{literalinclude}", "".join(p.read_text(encoding="utf-8") for p in (ROOT / "docs").rglob("*.md")))

    def test_an_old_block_is_found_and_written_anew(self):
        self.write("<!-- code: snippets/a.cpp [part] -->\n```cpp\nint a = 0;\n```\n")
        done = run(self.root, "--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not as the programs are: docs/page.md", done.stderr)
        self.assertIn("run scripts/snippets.py", done.stderr)
        self.assertIn("int a = 0;", self.page.read_text(encoding="utf-8"))
        self.assertEqual(run(self.root).returncode, 0)
        self.assertIn("```cpp\nint a = 1;\n  int b = 2;\n```\n", self.page.read_text(encoding="utf-8"))
        self.assertEqual(run(self.root, "--check").returncode, 0)

    def test_lists_are_taken_over(self):
        (self.root / "docs" / "other.md").write_text("<!-- [rows] -->\n| a |\n<!-- [/rows] -->\n", encoding="utf-8")
        self.write("<!-- text: other.md [rows] -->\n<!-- end -->\n")
        self.assertEqual(run(self.root).returncode, 0)
        self.assertIn("-->\n\n| a |\n\n<!-- end -->", self.page.read_text(encoding="utf-8"))

    def test_faults_are_named(self):
        for block, rest, words in (
                ("<!-- code: snippets/b.cpp [part] -->\n```cpp\n```\n", LINK, "snippets/b.cpp does not exist"),
                ("<!-- code: snippets/a.cpp [whole] -->\n```cpp\n```\n", LINK, "0 lines // [whole], not one"),
                ("<!-- code: snippets/a.cpp [part] -->\n\nText\n", LINK, "is not followed by a block"),
                ("<!-- code: snippets/a.cpp [part] -->\n```cpp\n```\n", "", "does not link to the whole: [a.cpp](snippets/a.cpp)")):
            with self.subTest(words):
                self.write(block, rest)
                done = run(self.root)
                self.assertEqual(done.returncode, 1)
                self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
