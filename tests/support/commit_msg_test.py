#!/usr/bin/env python3
"""Tests of scripts/commit-msg, as git's hook and on a range.

usage: commit_msg_test.py SCRIPTS [TestClass ...]      SCRIPTS is the folder of scripts
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = ""
LONG = "a word " * 20 + "more"  # 144 characters


class CommitMessages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.git("init", "--quiet")
        self.count = 0

    def git(self, *words, status=0):
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment = {**inherited, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *who, *words], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=60)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def commit(self, message, lines=1, hook=True):
        """Commits so many new lines; what the hook said, or nothing if the commit was made."""
        self.count += 1
        with open(os.path.join(self.folder, f"file{self.count}"), "w") as file:
            file.write(f"a line of {self.count}\n" * lines)
        self.git("add", "--all")
        hooks = SCRIPTS if hook else os.devnull
        done = self.git("-c", f"core.hooksPath={hooks}", "commit", "--quiet", "--message", message, status=None)
        self.assertEqual(done.returncode != 0, "commit-msg: " in done.stderr, done.stderr)
        return done.stderr

    def check(self, commits, status):
        done = subprocess.run([os.path.join(SCRIPTS, "commit-msg"), "--range", commits], cwd=self.folder, text=True,
                              capture_output=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_good_messages_are_accepted(self):
        for message in (
            "transport/shm: Reserve the heap before attach",
            "docs, apps: Numbers of the reference",
            ".ci/run: Take less time",
            "scripts/commit-msg: `--range` checks what is there already",
            "test.sh: --gpu needs a device",
            "docs: " + 66 * "X",
            "docs: Größe\n\n" + 60 * "ö ",  # characters, not bytes
            "docs: Say where\n\nwide " + 115 * "x",
            "docs: Say where\n\nhttps://example.org/" + 200 * "x",
            "docs: Say where\n\n- https://example.org/" + 200 * "x",
            f"docs: Show output\n\n    {LONG}",
            'Revert "docs: Say where"\n\nThis reverts commit 0123456789.',
            "fixup! " + 100 * "x",
            "squash! docs: Say where",
            "Merge branch 'one' into another, with a name that makes the subject longer than any other may be",
        ):
            with self.subTest(message=message):
                self.assertEqual(self.commit(message), "")

    def test_bad_messages_are_refused(self):
        for message, words in (
            ("docs: " + 67 * "X", "73 characters, at most 72"),
            ("Mend the docs", "must begin with its area"),
            ("docs:Mend", "must begin with its area"),
            ("the docs: Mend", "must begin with its area"),
            ("docs, : Mend", "must begin with its area"),
            ("docs: mend", "begin it with a capital letter"),
            ("docs: Mend.", "full stop"),
            ("docs: Mend\nwhat was wrong", "second line must be empty"),
            (f"docs: Mend\n\nWhat was wrong.\n{LONG}", "line 4 has 144 characters"),
            (f"docs: Mend\n\n- {LONG}", "line 3 has 146 characters"),
            ("docs: Mend\n\nwide " + 116 * "x", "line 3 has 121 characters"),
        ):
            with self.subTest(message=message):
                # As git would write the file for an editor, so that git's own tidying does not hide the fault.
                path = os.path.join(self.folder, "message")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(message + f"\n# {LONG}\n# ------------------------ >8 ------------------------\n{LONG}\n")
                done = subprocess.run([os.path.join(SCRIPTS, "commit-msg"), path], cwd=self.folder, text=True, capture_output=True,
                                      timeout=60)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stderr.count("commit-msg: "), 2, done.stderr)  # nothing else, and where the message is

    def test_large_commits_need_a_body(self):
        self.assertEqual(self.commit("docs: Add what is short", lines=300), "")
        self.assertIn("adds 301 lines, more than 300", self.commit("docs: Add what is long", lines=301))
        self.assertEqual(self.commit("docs: Add what is long\n\nIt was missing.", lines=301), "")
        os.rename(os.path.join(self.folder, "file2"), os.path.join(self.folder, "moved"))
        self.assertEqual(self.commit("docs: Move what is long"), "")  # moves add nothing

    def test_a_range(self):
        self.commit("docs: Begin", hook=False)
        self.git("tag", "begin")
        self.commit("docs: Go on", hook=False)
        self.git("tag", "good")
        self.commit("go wrong", hook=False)
        self.commit("docs: Add much", lines=400, hook=False)
        self.commit("docs: End\n\n# no comment\n", hook=False)
        self.assertIn("1 messages, 0 with faults", self.check("begin..good", 0))
        said = self.check("begin..HEAD", 1)
        self.assertIn("go wrong\n    the subject must begin with its area", said)
        self.assertIn("docs: Add much\n    the commit adds 400 lines", said)
        self.assertIn("4 messages, 2 with faults", said)
        self.assertIn("begin..nowhere", self.check("begin..nowhere", 1))


if __name__ == "__main__":
    SCRIPTS = os.path.abspath(sys.argv[1])
    if not shutil.which("git"):
        print("skipped: no git")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
