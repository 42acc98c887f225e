#!/usr/bin/env python3
"""What an installation has to read: guide and reference whose links lead somewhere, manual pages, completion.

usage: documents_test.py PREFIX
"""

import re
import sys
import unittest
from pathlib import Path

PREFIX = Path(sys.argv.pop(1))


class Documents(unittest.TestCase):
    def test_links_of_the_pages_lead_to_files(self):
        pages = sorted((PREFIX / "share" / "doc" / "atoll").rglob("*.md"))
        self.assertGreater(len(pages), 60)
        self.assertIn("rma.md", {page.name for page in pages})
        seen, dead = 0, []
        for page in pages:
            text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
            for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
                seen += 1
                if not (page.parent / link).exists():
                    dead.append(f"{page.relative_to(PREFIX)}: {link}")
        self.assertEqual(dead, [])
        self.assertGreater(seen, 200)

    def test_programs_have_manual_pages_and_completion(self):
        for program in ("atoll", "upcxx", "upcxx-meta", "upcxx-run"):
            self.assertTrue((PREFIX / "bin" / program).exists(), program)
            self.assertTrue((PREFIX / "share" / "man" / "man1" / f"{program}.1").is_file(), program)
            self.assertTrue((PREFIX / "share" / "bash-completion" / "completions" / program).is_file(), program)
        self.assertTrue((PREFIX / "share" / "man" / "man1" / "atoll-run.1").is_file())


if __name__ == "__main__":
    unittest.main()
