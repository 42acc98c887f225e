"""What ranks write and read, at terminals and elsewhere, and what they find in their environment."""

import glob
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

from support import ATOLL, LauncherTest, PATIENCE, PROGRAM, children_of, own_terminal, read_until, sleeps, state_of


class OutputAndInput(LauncherTest):
    def test_lines_of_ranks_stay_whole(self):
        got = self.run_job("-n", 4, PROGRAM, "lines", 200, 2000)
        self.assertEqual(got.status, 0, got.err)
        lines = got.out.splitlines()
        self.assertEqual(len(lines), 800)
        self.assertEqual({line for line in lines}, {c * 2000 for c in "abcd"})

    def test_huge_lines_stay_whole(self):
        got = self.run_job("-n", 3, PROGRAM, "lines", 2, 5_000_000)
        self.assertEqual(sorted(len(line) for line in got.out.splitlines()), [5_000_000] * 6)

    def test_what_several_ranks_wrote_last_is_not_lost(self):
        size, tail = 1_200_000, "the end"
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as out:
            write = f"head -c {size} /dev/zero | tr '\\0' x; touch {folder}/wrote.$$; until [ -e {folder}/go ]; do sleep 0.01; done; printf '{tail}'; touch {folder}/ends.$$"
            process = self.start("-n", 3, "sh", "-c", write, stdout=out)
            self.wait_for(lambda: len(glob.glob(f"{folder}/wrote.*")) == 3, "all have written")
            time.sleep(0.1)
            # It finds all three at their ends, and each fills what is on the way to the file.
            process.send_signal(signal.SIGSTOP)
            with open(f"{folder}/go", "w"):
                pass
            self.wait_for(lambda: len(glob.glob(f"{folder}/ends.*")) == 3, "all end")
            time.sleep(0.1)
            process.send_signal(signal.SIGCONT)
            _, err = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 0, err)
            out.seek(0)
            self.assertEqual([(len(line), line[-len(tail) :]) for line in out.read().splitlines()], [(size + len(tail), tail)] * 3)

    def test_tag_is_put_before_every_line(self):
        got = self.run_job("-n", 2, "--tag", "sh", "-c", "echo one; echo two >&2")
        self.assertEqual(sorted(got.out.splitlines()), ["[0] one", "[1] one"])
        self.assertEqual(sorted(got.err.splitlines()), ["[0] two", "[1] two"])

    def test_last_line_without_end_is_not_lost(self):
        got = self.run_job("-n", 2, PROGRAM, "partial")
        self.assertEqual(sorted(got.out.splitlines()), ["no end of line from 0", "no end of line from 1"])

    def test_standard_output_is_line_buffered(self):
        process = self.start("-n", 2, PROGRAM, "slow-line")
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        self.assertTrue(ready)
        self.assertEqual(process.stdout.readline(), "early line\n")
        process.terminate()
        process.communicate()

    def test_pty_makes_other_programs_print_at_once(self):
        code = "import sys, time; print('now', sys.stdout.isatty()); time.sleep(60)"
        process = self.start("-n", 2, "--pty", sys.executable, "-c", code)
        self.assertEqual(process.stdout.readline(), "now True\n")
        process.terminate()
        process.communicate()

    def test_slow_reader_gets_everything(self):
        process = self.start("-n", 4, PROGRAM, "lines", 300, 20_000)
        time.sleep(0.5)
        out, _ = process.communicate(timeout=PATIENCE)
        self.assertEqual(len(out.splitlines()), 1200)

    def awaits_reader(self):
        """A job whose ranks have ended while nobody reads the launcher's output."""
        process = self.start("-n", 2, PROGRAM, "lines", 250, 2000)
        self.assertTrue(select.select([process.stdout], [], [], PATIENCE)[0])
        self.wait_for(lambda: len(children_of(process.pid)) == 1 and sleeps(process.pid), "all but the keeper have ended")
        return process

    def test_launcher_that_awaits_a_reader_can_be_stopped(self):
        process = self.awaits_reader()
        process.send_signal(signal.SIGTSTP)
        self.wait_for(lambda: state_of(process.pid) == "T", "it stops")
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, len(out.splitlines())), (0, 500), err)

    def test_launcher_that_awaits_a_reader_can_be_ended(self):
        process = self.awaits_reader()
        process.terminate()
        _, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, err)

    def test_launcher_that_awaits_a_reader_remembers_no_ranks(self):
        # Of which the keeper would kill whoever has their numbers by then.
        def on_board(number):
            for link in glob.glob(f"/proc/{process.pid}/fd/*"):
                if "atoll-board" in os.readlink(link):
                    with open(link, "rb") as file:
                        return number in memoryview(file.read()).cast("i")
            self.skipTest("the board has no name here")

        with tempfile.TemporaryDirectory() as folder:
            go = os.path.join(folder, "go")
            write = "echo $$; until [ -e \"$1\" ]; do sleep 0.01; done; head -c 300000 /dev/zero | tr '\\0' x"
            process = self.start("-n", 2, "sh", "-c", write, "sh", go)
            numbers = [int(process.stdout.readline()) for _ in range(2)]
            self.assertTrue(all(on_board(number) for number in numbers))
            with open(go, "w", encoding="ascii"):
                pass
            self.wait_for(lambda: not any(os.path.exists(f"/proc/{number}") for number in numbers), "ranks have ended")
            self.wait_for(lambda: not any(on_board(number) for number in numbers), "they are forgotten")
            process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 0)

    def test_reader_that_leaves_ends_the_job(self):
        process = self.start("-n", 2, "sh", "-c", "while :; do echo yes; done")
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=PATIENCE), 128 + signal.SIGPIPE)
        process.stderr.close()

    def test_output_that_cannot_be_written_ends_the_job_with_words(self):
        words = "atoll run: cannot write standard output: No space left on device\n"
        with open("/dev/full", "w", encoding="utf-8") as full:
            # It would go on for ever; ends by itself before anybody looks; fails on its own.
            for script, status in (("while :; do echo yes; done", 1), ("echo yes", 1), ("echo yes; exit 3", None)):
                got = self.run_job("-n", 2, "sh", "-c", script, stdout=full)
                self.assertEqual(got.err.count(words), 1, got)
                self.assertIn(got.status, (status,) if status else (1, 3), got)

    def test_input_goes_to_rank_0(self):
        got = self.run_job("-n", 3, PROGRAM, "cat", input="some text\n")
        self.assertEqual(got.out.count("some text\n"), 1, got)
        self.assertEqual(len(re.findall("saw the end", got.out)), 3)

    def test_input_from_a_file(self):
        with tempfile.TemporaryFile("w+") as file:
            file.write("line\n" * 50_000)
            for who, copies in (("0", 1), ("all", 2), ("none", 0)):
                file.seek(0)
                got = self.run_job("--stdin", who, "-n", 2, PROGRAM, "cat", stdin=file)
                self.assertEqual(got.out.count("line\n"), 50_000 * copies)
                self.assertEqual(got.status, 0)

    def test_input_for_nobody(self):
        got = self.run_job("--stdin", "none", "-n", 2, PROGRAM, "cat", input="some text\n")
        self.assertNotIn("some text", got.out)
        self.assertEqual(got.status, 0, got)

    def test_input_from_a_terminal(self):
        master, slave = pty.openpty()

        process = self.start("-n", 2, PROGRAM, "cat", stdin=slave, preexec_fn=own_terminal)
        os.close(slave)
        os.write(master, b"typed\n\x04")
        out, err = process.communicate(timeout=PATIENCE)
        os.close(master)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("typed\n", out)

    def test_questions_of_several_ranks_are_seen_at_a_terminal(self):
        master, slave = pty.openpty()
        ask = "if [ $ATOLL_RANK = 1 ]; then printf 'n? '; until [ -e \"$1\" ]; do sleep 0.01; done; else read n; fi; echo \"$ATOLL_RANK has $n\""
        with tempfile.TemporaryDirectory() as folder:
            go = os.path.join(folder, "go")
            process = subprocess.Popen([ATOLL, "run", "-n", "2", "sh", "-c", ask, "sh", go], env=self.environment(), stdin=slave, stdout=slave,
                                       stderr=slave, preexec_fn=own_terminal)
            os.close(slave)
            seen = read_until(master, b"n? ")
            os.write(master, b"5\n")
            seen += read_until(master, b"0 has 5")
            with open(go, "w"):
                pass
            seen += read_until(master, b"1 has ")
            self.assertEqual(process.wait(timeout=PATIENCE), 0, seen)
        os.close(master)
        # The question stands below what others say, and is a whole line in the end.
        self.assertIn(b"\r\x1b[K0 has 5\r\nn? ", seen)
        self.assertIn(b"\r\x1b[Kn? 1 has ", seen)

    def test_control_c_at_a_terminal_ends_the_job(self):
        master, slave = pty.openpty()

        process, _ = self.start_hanging(2, stdin=slave, preexec_fn=own_terminal)
        os.close(slave)
        os.write(master, b"\x03")
        _, err = process.communicate(timeout=PATIENCE)
        os.close(master)
        self.assertEqual(process.returncode, 130, err)

    def test_what_ranks_share_is_no_standard_stream(self):
        # Of a program without a launcher, too: what it prints must not go into memory.
        with tempfile.NamedTemporaryFile() as errors:
            for more in ({}, {"GASNET_PSHM_NODES": "2"}):
                command = f"exec '{PROGRAM}' standard-streams {errors.name} <&- >&- 2>{errors.name}"
                got = subprocess.run(["sh", "-c", command], env=self.environment(**more), timeout=PATIENCE, check=False)
                with open(errors.name, encoding="utf-8") as file:
                    self.assertEqual((got.returncode, file.read()), (0, ""))

    def test_closed_standard_streams(self):
        command = f"exec '{ATOLL}' run -n 2 '{PROGRAM}' cat <&- 2>&-"
        got = subprocess.run(["sh", "-c", command], text=True, capture_output=True, env=self.environment())
        self.assertEqual((got.returncode, sorted(got.stdout.splitlines())),
                         (0, ["rank 0 saw the end", "rank 1 saw the end"]))

    def test_environment(self):
        environment = self.environment(FROM_OUTSIDE="outside")
        got = self.run_job("-n", 1, PROGRAM, "env", "FROM_OUTSIDE", env=environment)
        self.assertEqual(got.out, "here=outside console=outside\n")
        got = self.run_job("-E", "FROM_OUTSIDE=given", "-n", 1, PROGRAM, "env", "FROM_OUTSIDE", env=environment)
        self.assertEqual(got.out, "here=given console=given\n")
        got = self.run_job("--env", "A=b=c d", "-n", 1, PROGRAM, "env", "A", env=environment)
        self.assertEqual(got.out, "here=b=c d console=b=c d\n")
        got = self.run_job("-E", "FROM_OUTSIDE,HOME", "-n", 1, PROGRAM, "env", "FROM_OUTSIDE", env=environment)
        self.assertEqual(got.out, "here=outside console=outside\n")
        # A wrapper's changes are not the console's.
        got = self.run_job("-n", 1, "sh", "-c", f"FROM_OUTSIDE=changed exec '{PROGRAM}' env FROM_OUTSIDE",
                           env=environment)
        self.assertEqual(got.out, "here=changed console=outside\n")

    def test_shared_heap(self):
        got = self.run_job("-shared-heap", "64M", "-n", 1, PROGRAM, "env", "UPCXX_SHARED_HEAP_SIZE")
        self.assertEqual(got.out, "here=64M console=64M\n")

    def test_verbosity_is_what_the_user_says(self):
        for given, expected in (((), "1"), (("-E", "UPCXX_VERBOSE=3"), "3")):
            got = self.run_job("-vv", *given, "--show", "-n", 1, PROGRAM)
            self.assertEqual(re.findall(r"UPCXX_VERBOSE=(\d)", got.out), [expected], got)

    def test_show_runs_nothing(self):
        got = self.run_job("--show", "--shared-heap=10%", "-np", 2, PROGRAM, "two words", "plain")
        self.assertEqual(got.status, 0)
        self.assertIn("UPCXX_SHARED_HEAP_SIZE=10%", got.out)
        self.assertIn(f"{PROGRAM} 'two words' plain", got.out)
