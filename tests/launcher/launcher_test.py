#!/usr/bin/env python3
"""Tests of `atoll run`, from outside: what a user sees, and what is left behind.

usage: launcher_test.py ATOLL RANK_PROGRAM [TestClass ...]

RANK_PROGRAM is the misbehaving program beside this file. ATOLL_TEST_SANITIZED=1 in the environment skips what a
sanitizer takes over (it reports crashes itself). Exit status 77: everything was skipped.
"""

import contextlib
import ctypes
import ctypes.util
import errno
import fcntl
import glob
import os
import platform
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

ATOLL = ""
PROGRAM = ""
SANITIZED = os.environ.get("ATOLL_TEST_SANITIZED") == "1"
PATIENCE = 30  # seconds; generous, because the machine may be busy
# The place of the fault, by libdw where it is installed.
HAVE_LIBDW = ctypes.util.find_library("dw") is not None
CRASH_LINE = r"#0 .*function_that_crashes\(int\*\) " + (r"at /\S*/rank_program\.cpp:\d+\n" if HAVE_LIBDW else "in ")
# Marks the processes of a test, so that leftovers are found whatever they are called.
MARK = "ATOLL_TEST_MARK"


def unlimited_environment(**more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PMIX_", "OMPI_", "ATOLL_JOB", "SLURM_", "PMI_", "FLUX_"))}
    environment.update(more)
    return environment


def forbid_memfd_create():
    """In this process and those that it starts, as old filters of container runtimes do."""
    number = {"x86_64": 319, "aarch64": 279, "ppc64le": 360}[platform.machine()]
    # Load the number of the call; if it is this one, fail with EPERM, else go on.
    program = struct.pack("<HBBI", 0x20, 0, 0, 0) + struct.pack("<HBBI", 0x15, 0, 1, number)
    program += struct.pack("<HBBI", 0x06, 0, 0, 0x00050000 | errno.EPERM) + struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)
    text = ctypes.create_string_buffer(program, len(program))
    filter_program = struct.pack("@HP", 4, ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.create_string_buffer(filter_program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no filter of system calls")


def own_terminal():
    """In a new process: its standard input is the terminal of a session of its own."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def read_until(terminal, words):
    """What comes out of a terminal, up to these words; all of it where they do not come."""
    seen = b""
    while words not in seen and select.select([terminal], [], [], PATIENCE)[0]:
        try:
            seen += os.read(terminal, 4096)
        except OSError:  # nobody writes any more
            break
    return seen


class Outcome:
    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds

    def __repr__(self):
        return f"status {self.status} after {self.seconds:.2f} s\n--- out\n{self.out}\n--- err\n{self.err}"


def processes_marked(mark):
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                if f"{MARK}={mark}".encode() not in file.read():
                    continue
            pid = int(path.split("/")[2])
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] != "Z":
                    found.append(pid)
        except (OSError, IndexError):
            pass
    return found


def files_of_ours():
    """Things with a name that a job could have left."""
    names = set()
    for folder in ("/dev/shm", tempfile.gettempdir()):
        with contextlib.suppress(OSError):
            # Compilers' files, whose names may hold those of ours, are not.
            names.update(os.path.join(folder, n) for n in os.listdir(folder)
                         if ("atoll" in n.lower() or "upcxx" in n) and not n.startswith("tmpxft_"))
    return names


def sockets_of_job():
    with open("/proc/net/unix") as file:
        return {line.split()[-1] for line in file if "atoll" in line}


class LauncherTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.mark = f"{os.getpid()}-{self.id()}-{time.monotonic_ns()}"
        self.files_before = files_of_ours()

    def tearDown(self):
        self.assert_nothing_left()

    def assert_nothing_left(self):
        self.wait_for(lambda: not processes_marked(self.mark), "no process is left", 3)
        # What other tests have there meanwhile comes and goes.
        deadline = time.monotonic() + 3
        while files_of_ours() - self.files_before and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(files_of_ours() - self.files_before, set())

    def environment(self, **more):
        return unlimited_environment(**{MARK: self.mark}, **more)

    def start(self, *arguments, **options):
        options.setdefault("env", self.environment())
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.Popen([ATOLL, "run", *map(str, arguments)], stderr=subprocess.PIPE, text=True, **options)

    def run_job(self, *arguments, input=None, **options):
        started = time.monotonic()
        if input is not None:
            options["stdin"] = subprocess.PIPE
        process = self.start(*arguments, **options)
        try:
            out, err = process.communicate(input=input, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail(f"the job does not end\n{out}\n{err}")
        return Outcome(process.returncode, out, err, time.monotonic() - started)

    def wait_for(self, condition, what, seconds=PATIENCE):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.01)
        self.fail(f"waited in vain: {what}")

    def start_hanging(self, ranks, *arguments, **options):
        """A job that hangs; returns the launcher and the pids by rank."""
        mode = options.pop("mode", "hang")
        process = self.start(*options.pop("launcher_options", []), "-n", ranks, PROGRAM, mode, *arguments, **options)
        pids = {}
        while len(pids) < ranks:
            line = process.stdout.readline()
            self.assertTrue(line, "the job ended early: " + (process.stderr.read() if not line else ""))
            found = re.match(r"rank (\d+) pid (\d+) hangs", line)
            if found:
                pids[int(found[1])] = int(found[2])
        time.sleep(0.1)  # let them reach their loops
        return process, pids


class Basics(LauncherTest):
    def test_every_rank_knows_its_place(self):
        for ranks in (1, 2, 5, 16):
            got = self.run_job("-n", ranks, PROGRAM, "ranks")
            self.assertEqual(got.status, 0, got)
            expected = [f"rank {r} of {ranks} local {r} of {ranks} host 0 of 1" for r in range(ranks)]
            self.assertEqual(sorted(got.out.splitlines()), sorted(expected))
            self.assertEqual(got.err, "")

    def test_exchange_gives_everybody_everything(self):
        for ranks in (1, 2, 5, 16):
            got = self.run_job("-n", ranks, PROGRAM, "exchange")
            self.assertEqual(got.status, 0, got)
            self.assertEqual(len(got.out.splitlines()), ranks)

    def test_descriptors_are_shared(self):
        for ranks in (1, 2, 5, 16):
            got = self.run_job("-n", ranks, PROGRAM, "share")
            self.assertEqual(got.status, 0, got)
            self.assertEqual(len(got.out.splitlines()), ranks)

    def test_simulated_hosts_keep_to_themselves(self):
        layouts = {"2x1": "01", "2x2": "0011", "1,3": "0111", "cyclic:2x2": "0101", "cyclic:1x4": "0000", "2,1,2": "00122"}
        for layout, host_of in layouts.items():
            ranks = len(host_of)
            environment = {**os.environ, "ATOLL_SIM_HOSTS": layout}
            expected = [f"rank {r} of {ranks} local {host_of[:r].count(h)} of {host_of.count(h)} host {h} of {len(set(host_of))}"
                        for r, h in enumerate(host_of)]
            got = self.run_job("-n", ranks, PROGRAM, "ranks", env=environment)
            self.assertEqual(sorted(got.out.splitlines()), sorted(expected), got)
            for what in ("exchange", "share"):
                got = self.run_job("-n", ranks, PROGRAM, what, env=environment)
                self.assertEqual((got.status, got.out.count(f"{what} ok")), (0, ranks), got)

    def test_simulated_hosts_must_fit_the_job(self):
        got = self.run_job("-n", 3, "--env", "ATOLL_SIM_HOSTS=2x2", PROGRAM, "ranks")
        self.assertNotEqual(got.status, 0)
        self.assertIn("ATOLL_SIM_HOSTS=2x2 is for 4 ranks, but the job has 3", got.err)

    def unshared(self, *options):
        """A command line that runs what follows in namespaces of its own; skips the test where that is not permitted."""
        command = ["unshare", *options]
        if not shutil.which("unshare") or subprocess.run([*command, "true"], capture_output=True).returncode != 0:
            self.skipTest("not permitted: " + " ".join(command))
        return command

    def test_descriptors_are_shared_between_network_namespaces(self):
        for ranks in (2, 5):
            got = self.run_job("-n", ranks, *self.unshared("-n"), PROGRAM, "share")
            self.assertEqual(got.status, 0, got)
            self.assertEqual(got.out.count("share ok"), ranks, got)

    def test_descriptors_are_shared_between_network_and_pid_namespaces(self):
        got = self.run_job("-n", 3, *self.unshared("-n", "-pf", "--mount-proc"), PROGRAM, "share")
        self.assertEqual(got.status, 0, got)
        self.assertEqual(got.out.count("share ok"), 3, got)

    def test_ranks_that_have_nothing_in_common_say_so_at_once(self):
        alone = self.unshared("-n", "-m", "-pf", "--mount-proc")
        # Not /tmp as well, which may hold this tree: the first folder that takes a socket is the one.
        hide = "mount -t tmpfs none /dev/shm && exec \"$@\""
        if subprocess.run([*alone, "sh", "-c", hide, "sh", "true"], capture_output=True).returncode != 0:
            self.skipTest("not permitted: mount")
        got = self.run_job("-n", 2, *alone, "sh", "-c", hide, "sh", PROGRAM, "share")
        self.assertNotEqual(got.status, 0, got)
        self.assertLess(got.seconds, 10, got)
        self.assertIn("local rank 1 has no access to the memory", got.err)
        self.assertIn("several network namespaces", got.err)
        self.assertRegex(got.err, r"/proc/\d+/fd/\d+: ")
        self.assertRegex(got.err, r"socket in a folder: connect to /dev/shm/atoll-\w+/box: No such file")

    def test_memory_without_memfd_create(self):
        got = self.run_job("-n", 3, PROGRAM, "share", preexec_fn=forbid_memfd_create)
        self.assertEqual(got.status, 0, got)
        self.assertEqual(got.out.count("share ok"), 3, got)

    def test_without_the_launcher_a_program_is_one_rank(self):
        got = subprocess.run([PROGRAM, "exchange"], env=self.environment(), text=True, capture_output=True)
        self.assertEqual(got.stdout, "exchange ok 0 of 1 by solo\n")

    def test_tasks_of_a_launcher_that_is_not_understood_are_no_jobs_of_one_rank(self):
        def run(rank, **more):
            environment = self.environment(SLURM_STEP_NUM_TASKS="3", SLURM_PROCID=str(rank), **more)
            return subprocess.run([PROGRAM, "exchange"], env=environment, text=True, capture_output=True)

        for rank, words in ((0, "Slurm's srun started this process as one of 3 tasks"), (2, "task 0 says more")):
            got = run(rank)
            self.assertNotEqual(got.returncode, 0)
            self.assertIn(words, got.stderr)
            self.assertIn("ATOLL_BOOTSTRAP=solo", got.stderr)
            self.assertEqual(got.stdout, "")
        for more in ({"ATOLL_BOOTSTRAP": "solo"}, {"GASNET_PSHM_NODES": "1"}):
            self.assertEqual(run(0, **more).stdout, "exchange ok 0 of 1 by solo\n")
        # The launcher's ranks, also in a task of another one, and the programs that they start, are as always.
        around = self.environment(SLURM_STEP_NUM_TASKS="3", SLURM_PROCID="1")
        self.assertEqual(self.run_job("-n", 2, PROGRAM, "exchange", env=around).status, 0)
        self.assertEqual(self.run_job("-n", 2, PROGRAM, "child-is-solo", env=around).status, 0)

    def test_wrappers_that_close_descriptors_do_not_matter(self):
        wrapper = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
        got = self.run_job("-n", 3, sys.executable, "-c", wrapper, PROGRAM, "exchange")
        self.assertEqual(got.status, 0, got)
        self.assertIn("exchange ok 2 of 3 by local", got.out)

    def test_shell_wrappers_may_run_programs_one_after_the_other(self):
        got = self.run_job("-n", 2, "sh", "-c", f"'{PROGRAM}' ranks && '{PROGRAM}' exchange")
        self.assertEqual(got.status, 0, got)
        self.assertEqual(len(got.out.splitlines()), 4)

    def test_a_program_started_by_a_rank_is_a_job_of_its_own(self):
        got = self.run_job("-n", 2, PROGRAM, "child-is-solo")
        self.assertEqual(got.status, 0, got)
        self.assertEqual(got.out, "rank 0 of 1 local 0 of 1 host 0 of 1\n")

    def test_programs_that_never_initialise_are_no_failure(self):
        got = self.run_job("-n", 3, PROGRAM, "plain")
        self.assertEqual((got.status, got.out, got.err), (0, "plain program\n" * 3, ""))

    def test_launchers_can_be_nested(self):
        got = self.run_job("-n", 2, ATOLL, "run", "-n", 3, PROGRAM, "exchange")
        self.assertEqual(got.status, 0, got)
        self.assertEqual(got.out.count("of 3 by local"), 6)

    def test_program_in_the_current_directory_is_found(self):
        folder, name = os.path.split(PROGRAM)
        got = self.run_job("-n", 1, name, "ranks", cwd=folder)
        self.assertEqual(got.status, 0, got)

    def test_binding_to_cores(self):
        cores = sorted(os.sched_getaffinity(0))
        show = "import os; print(*sorted(os.sched_getaffinity(0)))"
        got = self.run_job("-n", len(cores), "--bind", "core", sys.executable, "-c", show)
        self.assertEqual(sorted(map(int, got.out.split())), cores)
        got = self.run_job("-n", 1, "--bind", "none", sys.executable, "-c", show)
        self.assertEqual(sorted(map(int, got.out.split())), cores)
        if len(cores) > 1:
            got = self.run_job("-n", 1, sys.executable, "-c", show)  # auto: does not fill the machine
            self.assertEqual(sorted(map(int, got.out.split())), cores)

    def test_binding_to_sockets_and_numa_nodes(self):
        show = "import os; print(*sorted(os.sched_getaffinity(0)))"
        cores = sorted(os.sched_getaffinity(0))
        # The library that knows the machine takes another one from the environment: here each core is a socket.
        other = self.environment(HWLOC_SYNTHETIC=f"numa:{cores[-1] + 1} package:1 core:1 pu:1", HWLOC_THISSYSTEM="1")
        for how in ("socket", "numa"):
            got = self.run_job("-n", 2 * len(cores), "--tag", "--bind", how, sys.executable, "-c", show, env=other)
            if "this build has no hwloc" in got.err:
                self.assertEqual(got.status, 1)
                self.skipTest("built without hwloc")
            expected = [f"[{rank}] {cores[rank // 2]}" for rank in range(2 * len(cores))]
            self.assertEqual(sorted(got.out.splitlines()), sorted(expected), got)
            got = self.run_job("-n", 1, "--bind", how, sys.executable, "-c", show)
            self.assertLessEqual(set(map(int, got.out.split())), set(cores))
        got = subprocess.run([ATOLL, "info"], text=True, capture_output=True, env=other)
        self.assertRegex(got.stdout, rf"machine +{len(cores)} sockets?, {len(cores)} NUMA nodes?, {len(cores)} core")
        self.assertRegex(got.stdout, rf"-n {len(cores)} --bind socket +rank 0 on {cores[0]}")

    def test_second_job_is_not_bound_to_the_same_cores(self):
        cores = sorted(os.sched_getaffinity(0))
        show = "import os; print(*sorted(os.sched_getaffinity(0)))"
        for _ in range(100):
            first, _ = self.start_hanging(len(cores), launcher_options=["--bind", "core"])
            try:
                # Else a job of another test was bound when it came: it shares the cores, and may have them to itself at any time.
                if self.holds_cores(first.pid, cores):
                    got = self.run_job("-n", len(cores), sys.executable, "-c", show)
                    self.assertEqual([sorted(map(int, line.split())) for line in got.out.splitlines()], [cores] * len(cores))
                    return
            finally:
                first.terminate()
                first.communicate()
        self.fail("other jobs have had the cores all the time")

    def holds_cores(self, launcher, cores):
        """Whether nobody else can claim them: by abstract sockets, named after each."""
        folder = f"/proc/{launcher}/fd"
        open_files = {os.readlink(os.path.join(folder, each)) for each in os.listdir(folder)}
        with open("/proc/net/unix") as file:
            sockets = {line.split()[7]: line.split()[6] for line in file if len(line.split()) > 7}
        return all(f"socket:[{sockets.get(f'@atoll-core-{core}')}]" in open_files for core in cores)

    def test_verbose_tells_the_layout(self):
        got = self.run_job("-vv", "-n", 2, PROGRAM, "plain")
        self.assertRegex(got.err, r"2 ranks on \S+, \d+ usable core")
        self.assertRegex(got.err, r"rank 1: pid \d+")


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
        ready, _, _ = select.select([process.stdout], [], [], 10)
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

    def test_show_runs_nothing(self):
        got = self.run_job("--show", "--shared-heap=10%", "-np", 2, PROGRAM, "two words", "plain")
        self.assertEqual(got.status, 0)
        self.assertIn("UPCXX_SHARED_HEAP_SIZE=10%", got.out)
        self.assertIn(f"{PROGRAM} 'two words' plain", got.out)


class Failures(LauncherTest):
    def assert_failure(self, got, status, *patterns):
        self.assertEqual(got.status, status, got)
        self.assertLess(got.seconds, 8, got)
        for pattern in patterns:
            self.assertRegex(got.err, pattern)

    def test_exit_statuses(self):
        self.assert_failure(self.run_job("-n", 2, PROGRAM, "plain", 7), 7, r"exited with status 7")
        self.assert_failure(self.run_job("-n", 2, "sh", "-c", "kill -TERM $$"), 128 + signal.SIGTERM,
                            r"died of SIGTERM")

    def test_exit_without_finalize(self):
        for code, status in ((3, 3), (0, 1)):
            got = self.run_job("-n", 3, PROGRAM, "exit", 1, code)
            self.assert_failure(got, status,
                                rf"rank 1 of 3 on \S+ \(pid \d+\) exited with status {code} without calling "
                                r"upcxx::finalize\(\)", r"(?m)^ +0 .*running +in barrier for .* 3 replies awaited",
                                r"(?m)^ +2 .*running +in barrier for .* 3 replies awaited")

    def test_failure_after_finalize_lets_the_others_finish(self):
        got = self.run_job("-n", 3, PROGRAM, "exit-after-finalize", 1, 5)
        self.assert_failure(got, 5, r"rank 1 of 3 .* exited with status 5")
        self.assertNotIn("other ranks", got.err)

    @unittest.skipIf(SANITIZED, "the sanitizer reports crashes")
    def test_crashes_of_forked_children_are_not_the_ranks(self):
        got = self.run_job("-n", 2, PROGRAM, "child-crashes", 9)
        self.assertEqual(got.status, 0, got)
        self.assertNotIn("atoll run", got.err)
        # Nor do they hide a crash of the rank that comes later, or mix their exception into it.
        got = self.run_job("-n", 2, PROGRAM, "child-crashes", 1)
        self.assert_failure(got, 128 + signal.SIGSEGV, r"(?m)^atoll run: rank 1 of 2 .* died of SIGSEGV .* at address 0x20$")

    def test_kill_9_of_a_rank(self):
        process, pids = self.start_hanging(4)
        killed = time.monotonic()
        os.kill(pids[2], signal.SIGKILL)
        line = process.stderr.readline()
        self.assertLess(time.monotonic() - killed, 2)
        self.assertRegex(line, r"rank 2 of 4 on \S+ \(pid %d\) was killed by SIGKILL" % pids[2])
        err = process.stderr.read()
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 137)
        self.assertRegex(err, r"(?m)^ +3 +%d +running +in barrier for " % pids[3])

    def test_kill_9_of_a_program_behind_a_wrapper(self):
        process = self.start("-n", 2, "sh", "-c", f"'{PROGRAM}' hang; sleep 60")
        pids = {}
        for _ in range(2):
            found = re.match(r"rank (\d+) pid (\d+) hangs", process.stdout.readline())
            pids[int(found[1])] = int(found[2])
        time.sleep(0.5)
        killed = time.monotonic()
        os.kill(pids[1], signal.SIGKILL)
        line = process.stderr.readline()
        if "Killed" in line:  # the shell's own remark
            line = process.stderr.readline()
        self.assertLess(time.monotonic() - killed, 2)
        self.assertRegex(line, r"rank 1 of 2 .* lost its process %d" % pids[1])
        process.communicate(timeout=PATIENCE)
        self.assertNotEqual(process.returncode, 0)

    @unittest.skipIf(SANITIZED, "the sanitizer reports this itself")
    def test_segmentation_fault_has_a_backtrace(self):
        got = self.run_job("-n", 3, PROGRAM, "segv", 1)
        self.assert_failure(got, 139, r"rank 1 of 3 on \S+ \(pid \d+\) died of SIGSEGV \(Segmentation fault\) at address 0x10",
                            CRASH_LINE, r"what the other ranks were doing")

    @unittest.skipIf(SANITIZED, "the sanitizer reports this itself")
    def test_segmentation_fault_in_a_thread(self):
        got = self.run_job("-n", 2, PROGRAM, "thread-segv", 1)
        self.assert_failure(got, 139, r"rank 1 of 2 .* died of SIGSEGV")

    @unittest.skipIf(SANITIZED, "the sanitizer reports this itself")
    def test_stack_overflow(self):
        got = self.run_job("-n", 2, PROGRAM, "overflow", 0)
        self.assert_failure(got, 139, r"rank 0 of 2 .* died of SIGSEGV", r"the same \d+ more times")

    @unittest.skipIf(SANITIZED, "the sanitizer reports this itself")
    def test_crash_behind_a_wrapper(self):
        got = self.run_job("-n", 2, "sh", "-c", f"'{PROGRAM}' segv 1; exit $?")
        self.assert_failure(got, 139, r"rank 1 of 2 .* died of SIGSEGV")

    @unittest.skipIf(SANITIZED, "the sanitizer reports this itself")
    def test_without_libdw_functions_and_modules_are_named(self):
        in_module = r"#0 .*function_that_crashes\(int\*\) in %s" % re.escape(os.path.basename(PROGRAM))
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "libdw.so.1"), "w").close()  # found first, and no library
            environment = self.environment(LD_LIBRARY_PATH=folder)
            self.assert_failure(self.run_job("-n", 2, PROGRAM, "segv", 1, env=environment), 139, in_module)
            if shutil.which("strip"):
                stripped = os.path.join(folder, "stripped")
                subprocess.run(["strip", "--strip-debug", PROGRAM, "-o", stripped], check=True)
                self.assert_failure(self.run_job("-n", 2, stripped, "segv", 1), 139,
                                    r"#0 .*function_that_crashes\(int\*\) in stripped")

    def test_uncaught_exception(self):
        got = self.run_job("-n", 3, PROGRAM, "throw", 2)
        self.assert_failure(got, 134, r"rank 2 of 3 .* died of an uncaught exception std::runtime_error: "
                                      r"the text of the exception")
        got = self.run_job("-n", 1, PROGRAM, "throw-int", 0)
        self.assert_failure(got, 134, r"uncaught exception int")

    def test_abort(self):
        got = self.run_job("-n", 3, PROGRAM, "abort", 0)
        self.assert_failure(got, 134, r"rank 0 of 3 .* called abort\(\)")

    def test_abort_of_the_job_is_reported_once(self):
        got = self.run_job("-n", 3, PROGRAM, "job-abort", 1, 9)
        self.assert_failure(got, 9, r"the rank's own message", r"rank 1 of 3 .* ended the job with status 9")
        self.assertEqual(len(got.err.splitlines()), 2, got)

    def test_ranks_that_wait_in_an_exchange_keep_silent_when_another_ends_the_job(self):
        got = self.run_job("-n", 4, PROGRAM, "abort-in-exchange", 2, 11)
        self.assert_failure(got, 11, r"the rank's own message", r"rank 2 of 4 .* ended the job with status 11")
        self.assertEqual(len(got.err.splitlines()), 2, got)

    def test_ranks_that_ignore_sigterm_are_killed(self):
        process, pids = self.start_hanging(2, 1)
        started = time.monotonic()
        process.terminate()
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 143)
        self.assertLess(time.monotonic() - started, 5)

    def test_background_processes_of_ranks_end_with_the_job(self):
        got = self.run_job("-n", 3, PROGRAM, "spawn")
        self.assertEqual(got.status, 0, got)
        # tearDown looks for what is left

    def test_signals_end_every_rank(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            process, _ = self.start_hanging(3)
            process.send_signal(number)
            _, err = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, status, err)
            self.assertIn("SIG", err)
            self.assert_nothing_left()

    def test_kill_9_of_the_launcher_ends_everything(self):
        process, pids = self.start_hanging(4)
        process.kill()
        self.wait_for(lambda: not any(os.path.exists(f"/proc/{p}") for p in pids.values()), "ranks end", 3)
        process.communicate()

    def test_kill_9_of_the_launcher_ends_programs_behind_wrappers(self):
        command = f"{sys.executable} -c 'import subprocess; subprocess.run([\"{PROGRAM}\", \"hang\"])' & wait"
        process = self.start("-n", 2, "sh", "-c", command)
        for _ in range(2):
            self.assertRegex(process.stdout.readline(), "hangs")
        process.kill()
        self.assert_nothing_left()
        process.communicate()

    def test_kill_9_of_launcher_and_ranks_leaves_nothing(self):
        process, pids = self.start_hanging(3)
        process.kill()
        for pid in pids.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()


class Pictures(LauncherTest):
    def assert_picture(self, err, ranks):
        for rank in range(ranks):
            self.assertRegex(err, rf"(?m)^ +{rank} +\d+ +running +in barrier for .* 3 replies awaited")
        self.assertRegex(err, r"#\d+ .*function_that_hangs")

    def test_timeout(self):
        got = self.run_job("--timeout", "1.5", "-n", 3, PROGRAM, "hang")
        self.assertEqual(got.status, 124, got)
        self.assertIn("time is up after 1.5 s", got.err)
        self.assert_picture(got.err, 3)
        self.assertGreater(got.seconds, 1.4)

    def test_timeout_of_a_program_without_the_library(self):
        got = self.run_job("--timeout", "0.3", "-n", 2, "sleep", "60")
        self.assertEqual(got.status, 124, got)
        self.assertIn("not attached", got.err)

    def test_timeout_that_is_not_reached(self):
        got = self.run_job("--timeout", "1m", "-n", 2, PROGRAM, "ranks")
        self.assertEqual((got.status, got.err), (0, ""))

    def test_sigquit(self):
        process, _ = self.start_hanging(3)
        process.send_signal(signal.SIGQUIT)
        _, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 131, err)
        self.assertIn("got SIGQUIT", err)
        self.assert_picture(err, 3)

    def test_the_picture_does_not_wake_a_program_that_sleeps(self):
        for options, ask, status in (([], lambda process: process.send_signal(signal.SIGQUIT), 131),
                                     (["--timeout", "3"], lambda process: None, 124)):
            process, _ = self.start_hanging(2, mode="sleep", launcher_options=options)
            ask(process)
            out, err = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, status, err)
            self.assertRegex(err, r"#\d+ .*nanosleep|#\d+ .*sleep")
            self.assertNotIn("woke up", out)

    def test_sigquit_to_a_rank_is_not_the_launchers_question(self):
        process, pids = self.start_hanging(2)
        os.kill(pids[1], signal.SIGQUIT)
        _, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 131, err)
        self.assertRegex(err, r"rank 1 of 2 .* died of SIGQUIT")

    def test_stopped_ranks_do_not_hold_up_the_picture(self):
        process, pids = self.start_hanging(2)
        os.kill(pids[1], signal.SIGSTOP)
        process.send_signal(signal.SIGQUIT)
        _, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 131, err)
        self.assertRegex(err, r"rank 0:")


class Mistakes(LauncherTest):
    def assert_refused(self, status, pattern, *arguments, **options):
        got = self.run_job(*arguments, **options)
        self.assertEqual(got.status, status, got)
        self.assertEqual(len(got.err.splitlines()), 1, got)
        self.assertRegex(got.err, pattern)
        self.assertEqual(got.out, "")

    def test_wrong_options(self):
        self.assert_refused(2, "no program", "-n", 2)
        self.assert_refused(2, "no program")
        self.assert_refused(2, "at least one rank", "-n", 0, PROGRAM)
        self.assert_refused(2, "at least one rank", "-n", "-3", PROGRAM)
        self.assert_refused(2, "not a number", "-n", "two", PROGRAM)
        self.assert_refused(2, "more than the", "-n", 100_000_000, PROGRAM)
        self.assert_refused(2, "not a time", "-n", 2, "--timeout", "soon", PROGRAM)
        self.assert_refused(2, "not one of none, core, socket, numa, auto", "-n", 2, "--bind", "chip", PROGRAM)
        self.assert_refused(2, "not one of 0, all, none", "-n", 2, "--stdin", "1", PROGRAM)
        self.assert_refused(2, "unknown unit", "-n", 2, "--shared-heap", "64X", PROGRAM)
        self.assert_refused(2, "-N 2: which hosts", "-n", 2, "-N", 2, PROGRAM)
        self.assert_refused(2, "-N two: not a number", "-n", 2, "-N", "two", PROGRAM)
        self.assert_refused(2, "no name of a host", "-n", 2, "--hosts", "a;b", PROGRAM)
        self.assert_refused(2, "hosts are named twice", "-n", 2, "--hosts", "a", "-ssh-servers", "b", PROGRAM)
        self.assert_refused(2, "--launcher: ranks of this host need none", "-n", 2, "--launcher", "hydra", PROGRAM)
        self.assert_refused(2, "--launcher ssh: not one of srun", "-n", 2, "--launcher", "ssh", "--hosts", "a", PROGRAM)
        self.assert_refused(2, "run: --frobnicate is no option", "--frobnicate", "-n", 2, PROGRAM)
        self.assert_refused(2, "run: -frob is no option", "-n", 2, "-frob", PROGRAM)
        self.assert_refused(2, "run: -hosst is no option", "-hosst", "a,b", PROGRAM)
        self.assert_refused(2, "-E FOO,BAR=4: `FOO,BAR` is no name of a variable; lists hold names only", "-n", 1, "-E", "FOO,BAR=4", PROGRAM)
        self.assert_refused(2, "-E =4: no name before the =", "-n", 1, "-E", "=4", PROGRAM)
        for names in ("2X", "A-B", "HOME,,PATH", "HOME, PATH"):
            self.assert_refused(2, f"-E {names}: `.*` is no name of a variable$", "-n", 1, "-E", names, PROGRAM)
        for option in ("--hosts", "-hosts", "--hostfile", "--shared-heap", "-n", "-E", "--bind"):
            self.assert_refused(2, f"run: {option}: its value is empty", option, "", PROGRAM)
        self.assert_refused(2, "run: --hosts: its value is empty", "--hosts=", PROGRAM)
        for words in (("-n", 2, "-n", 3), ("-np", 2, "-n3"), ("--ranks=2", "-n", 2)):
            self.assert_refused(2, "run: -n is given twice$", *words, PROGRAM)
        self.assert_refused(2, "run: --hosts is given twice", "--hosts", "a", "--hosts", "b", PROGRAM)
        for nothing in ("0", "0M", "0%"):
            self.assert_refused(2, f"--shared-heap {nothing}: nothing could be allocated", "-n", 1, "--shared-heap", nothing, PROGRAM)
        self.assert_refused(2, "run: -n: its value is missing", "-n")
        self.assert_refused(2, "run: -hosts: its value is missing", "-n", 2, "-hosts")

    def test_without_a_number_there_is_a_rank_for_each_core_and_words(self):
        cores = len(os.sched_getaffinity(0))
        got = self.run_job(PROGRAM, "plain")
        self.assertEqual(got.status, 0, got)
        said = re.search(r"no -n given: (\d+) ranks?, one for each usable core", got.err)
        self.assertLessEqual(int(said[1]), cores)
        self.assertEqual(got.out.count("plain program"), int(said[1]))

    def test_forwarding_a_variable_that_is_not_set_is_said(self):
        got = self.run_job("-n", 1, "-E", "HOME,NO_SUCH_VARIABLE", PROGRAM, "env", "NO_SUCH_VARIABLE")
        self.assertEqual((got.status, got.out), (0, "here=- console=-\n"))
        self.assertRegex(got.err, r"^atoll run: -E NO_SUCH_VARIABLE: not set here.*\n$")

    def test_program_that_cannot_be_run(self):
        self.assert_refused(127, "cannot find no-such-program", "-n", 2, "no-such-program")
        self.assert_refused(127, "cannot find ./no-such-program", "-n", 2, "./no-such-program")
        self.assert_refused(127, "the program's name is empty", "-n", 2, "")
        self.assert_refused(126, "directory", "-n", 2, "/tmp/")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            with open(path, "w") as file:
                file.write("#!/no/such/interpreter\n")
            self.assert_refused(126, "no permission", "-n", 2, path)
            os.chmod(path, 0o755)
            self.assert_refused(127, "interpreter", "-n", 2, path)

    def test_help(self):
        got = self.run_job("--help")
        self.assertEqual(got.status, 0)
        for word in ("Usage: atoll run [OPTIONS] PROGRAM [ARGUMENTS...]", "--timeout", "--tag", "--stdin", "Exit status", "SIGQUIT", "Examples"):
            self.assertIn(word, got.out)

    def test_options_of_the_program_are_the_programs(self):
        got = self.run_job("-n", 1, "echo", "-n", "--tag", "--timeout", "x")
        self.assertEqual((got.status, got.out), (0, "--tag --timeout x"))
        got = self.run_job("-n", 1, "--", "echo", "-v")
        self.assertEqual((got.status, got.out), (0, "-v\n"))

    def test_long_options_may_have_one_dash(self):
        for words in (("-ranks", 1, "-tag"), ("-n1", "-t"), ("-np=1", "-tag"), ("-n", 1, "-timeout", 30, "-tag"), ("-n", 1, "-bind", "none", "-tv"),
                      ("-n", 1, "-stdin=none", "-tag", "-nodes", 1)):
            got = self.run_job(*words, "echo", "-hosts", "-tag")
            self.assertEqual((got.status, got.out), (0, "[0] -hosts -tag\n"), (words, got))
        got = self.run_job("-ranks", 1, "-env", "WORD=said", "-pty", "sh", "-c", "test -t 1 && printf $WORD")
        self.assertEqual((got.status, got.out), (0, "said"), got)
        for word in ("-help", "-h"):
            self.assertIn("Usage: atoll run", self.run_job(word).out)

    def test_other_subcommands(self):
        run = lambda *words: subprocess.run([ATOLL, *words], text=True, capture_output=True, env=self.environment())
        self.assertIn("run", run("--help").stdout)
        self.assertEqual(run().returncode, 2)
        self.assertEqual(run("frobnicate").returncode, 2)
        self.assertRegex(run("--version").stdout, r"^atoll \d+\.\d+\.\d+\n$")

    def test_info(self):
        environment = self.environment(ATOLL_TRANSIT_MEMORY="12", UPCXX_VERBOSE="2")
        got = subprocess.run([ATOLL, "info"], text=True, capture_output=True, env=environment)
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertRegex(got.stdout, r"cores +\d+ usable")
        self.assertRegex(got.stdout, r"\* solo")
        self.assertRegex(got.stdout, r"UPCXX_VERBOSE +2 +environment")
        self.assertRegex(got.stdout, r"! ATOLL_TRANSIT_MEMORY=12: a unit is missing")
        self.assertRegex(got.stdout, r"ATOLL_BOOTSTRAP +auto +default")


    def test_doctor(self):
        run = lambda **more: subprocess.run([ATOLL, "doctor"], text=True, capture_output=True,
                                            env=self.environment(**more))
        got = run()
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        self.assertRegex(got.stdout, r"(?m)^ok +shared memory")
        got = run(UPCXX_OVERSUBSCRIBED="perhaps")
        self.assertEqual(got.returncode, 1)
        self.assertRegex(got.stdout, r"(?m)^PROBLEM +settings +UPCXX_OVERSUBSCRIBED=perhaps")


class Pmix(LauncherTest):
    """Ranks of a PMIx launcher; programs of MPI and ours in one process."""

    def setUp(self):
        super().setUp()
        self.mpirun = shutil.which("mpirun")
        if not self.mpirun:
            self.skipTest("mpirun is not installed")
        version = subprocess.run([self.mpirun, "--version"], text=True, capture_output=True).stdout
        if "Open MPI" not in version and "PRTE" not in version:
            self.skipTest("mpirun is not Open MPI's")

    def tearDown(self):
        # Open MPI's daemon takes a moment to go, and its session folder is its own.
        self.wait_for(lambda: not processes_marked(self.mark), "no process is left", 10)

    def mpi(self, ranks, *words):
        command = [self.mpirun, "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), *words]
        return subprocess.run(command, text=True, capture_output=True, timeout=60, env=self.environment(),
                              stdin=subprocess.DEVNULL)

    def test_exchange(self):
        for ranks in (1, 3):
            got = self.mpi(ranks, PROGRAM, "exchange")
            self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
            for rank in range(ranks):
                self.assertIn(f"exchange ok {rank} of {ranks} by pmix", got.stdout)

    def test_share(self):
        got = self.mpi(3, PROGRAM, "share")
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        self.assertEqual(got.stdout.count("share ok"), 3)

    def test_ranks_are_those_of_mpi(self):
        program = os.path.join(os.path.dirname(PROGRAM), "launcher_mpi_program")
        if not os.path.exists(program):
            self.skipTest("built without MPI")
        for order in ("mpi-first", "mpi-last", "mpi-never"):
            got = self.mpi(3, program, order)
            self.assertEqual(got.returncode, 0, order + got.stdout + got.stderr)
            self.assertEqual(got.stdout.count("ranks agree"), 3, order + got.stdout + got.stderr)

    def test_mpi_of_another_launcher_is_no_launcher(self):
        # Open MPI under MPICH's Hydra makes each process a job of its own, and sets the variables of PMIx as if somebody had started that.
        hydra = shutil.which("mpiexec.hydra")
        program = os.path.join(os.path.dirname(PROGRAM), "launcher_mpi_program")
        if not hydra or not os.path.exists(program):
            self.skipTest("MPICH's Hydra is not installed" if not hydra else "built without MPI")
        got = subprocess.run([hydra, "-n", "3", program, "mpi-first"], text=True, capture_output=True, timeout=60, env=self.environment(),
                             stdin=subprocess.DEVNULL)
        for rank in range(3):
            self.assertIn(f"rank {rank} of 3 by pmi", got.stdout, got.stderr)

    def test_a_crash_is_told_beside_mpi(self):
        # Open MPI, and UCX that it uses, catch signals when they are initialised.
        program = os.path.join(os.path.dirname(PROGRAM), "launcher_mpi_program")
        if not os.path.exists(program):
            self.skipTest("built without MPI")
        if os.environ.get("ATOLL_TEST_SANITIZED"):
            self.skipTest("sanitizers report crashes themselves")
        for order in ("mpi-first", "mpi-last", "mpi-never"):
            got = self.mpi(3, program, order, "crash")
            self.assertNotEqual(got.returncode, 0, got)
            self.assertRegex(got.stderr, r"atoll: rank 1 of 3 on \S+ \(pid \d+\) died of SIGSEGV \(Segmentation fault\), which it raised itself\n    #0 ")
            self.assertNotIn("*** Process received signal ***", got.stderr)

    def test_abort_ends_the_job(self):
        got = self.mpi(2, PROGRAM, "job-abort", "1", "9")
        self.assertNotEqual(got.returncode, 0)
        self.assertIn("the rank's own message", got.stderr)

    def test_atoll_run_under_mpirun_is_a_job_of_its_own(self):
        got = self.mpi(1, ATOLL, "run", "-n", "2", PROGRAM, "exchange")
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        self.assertIn("exchange ok 1 of 2 by local", got.stdout)

    def test_mpirun_under_atoll_run_is_the_inner_launcher(self):
        got = self.run_job("-n", 1, self.mpirun, "--allow-run-as-root", "--oversubscribe", "-n", 2, PROGRAM, "exchange")
        self.assertEqual(got.status, 0, got)
        self.assertIn("exchange ok 1 of 2 by pmix", got.out)


class Hosts(unittest.TestCase):
    """Jobs on several hosts: what launchers are told, by ones that only write that down. tests/clusters starts real ones."""

    VERSIONS = {"mpirun": "mpirun (Open MPI) 4.1.4", "mpiexec.hydra": "HYDRA build details:", "prterun": "prterun (PRRTE) 3.0", "srun": "slurm"}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.told = os.path.join(self.folder, "told")

    def install(self, *names, act="exit 0"):
        for name in names:
            file = os.path.join(self.folder, name)
            with open(file, "w", encoding="utf-8") as script:
                script.write(f"""#!/bin/sh
case "$*" in --version) echo '{self.VERSIONS[name]}'; exit 0 ;; --mpi=list) echo 'MPI plugin types are... pmi2 pmix'; exit 0 ;; esac
{{ printf '%s|' {name} "$@"; echo; /usr/bin/env; }} > {self.told}
{act}
""")
            os.chmod(file, 0o755)

    def start(self, *words, status=0, **environment):
        # Only what these tests install is on the path; a shell's own words need none.
        done = subprocess.run([ATOLL, "run", *map(str, words)], env={"PATH": f"{self.folder}:/nowhere", "HOME": "/", **environment}, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
        self.assertEqual(done.returncode, status, done)
        return done

    def line(self):
        with open(self.told, encoding="utf-8") as file:
            return file.readline().rstrip("|\n").split("|")

    def test_the_first_that_is_there(self):
        self.assertIn("none is installed", self.start("--hosts", "a,b", PROGRAM, status=2).stderr)
        for name in ("mpiexec.hydra", "mpirun", "prterun"):
            self.install(name, act="/usr/bin/env > /dev/null")
            self.assertIn(f"atoll run: starting by ", self.start("--hosts", "a,b", PROGRAM).stderr)
            self.assertEqual(self.line()[0], name)
        self.start("--hosts", "a,b", "--launcher", "hydra", PROGRAM)
        self.assertEqual(self.line(), ["mpiexec.hydra", "-hosts", "a:1,b:1", "-n", "2", "-prepend-pattern", "<atoll:%r>", PROGRAM])
        # Hydra's own spellings.
        hosts = os.path.join(self.folder, "hosts")
        with open(hosts, "w", encoding="utf-8") as file:
            file.write("a\nb\n")
        for words in (("-hosts", "a,b"), ("-hosts=a,b",), ("-hostfile", hosts), ("-ssh-servers", "a,b")):
            self.start(*words, "-launcher", "hydra", PROGRAM)
            self.assertEqual(self.line()[:5], ["mpiexec.hydra", "-hosts", "a:1,b:1", "-n", "2"])

    def test_hosts_as_people_write_them(self):
        self.install("mpirun")
        for written, expected in (("n[1-3]", "n1:1,n2:1,n3:1"), ("n[08-10,12]:2,m", "n08:2,n09:2,n10:2,n12:2,m:1"), ("r[1-2]n[1,3].x", "r1n1.x:1,r1n3.x:1,r2n1.x:1,r2n3.x:1")):
            self.start("--hosts", written, PROGRAM)
            self.assertEqual(self.line()[1:3], ["--host", expected])
        for written, words in (("n[1-", "bracket that is not closed"), ("n[3-1]", "from a larger number to a smaller"), ("n[a-b]", "no range of numbers"),
                               ("n[]", "no range of numbers"), ("n[0-99999999]", "too far"), ("n]", "no name of a host"), ("a,,b", "no name of a host")):
            self.assertIn(words, self.start("--hosts", written, PROGRAM, status=2).stderr)
        hosts = os.path.join(self.folder, "hosts")
        for text, expected in (("\ufeffa slots = 2\r\nb\tslots= 3 max_slots =4\r\n", "a:2,b:3"), ("n[1-2]:4\n# more\nm[1-2] slots=1", "n1:4,n2:4,m1:1,m2:1"), ("a\na\nb\n", "a:2,b:1")):
            with open(hosts, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            self.start("--hostfile", hosts, PROGRAM)
            self.assertEqual(self.line()[1:3], ["--host", expected])

    def test_inside_an_allocation_of_slurm(self):
        self.install("mpirun", "srun")
        self.start("-n", 8, PROGRAM, SLURM_JOB_ID="1", SLURM_JOB_NUM_NODES="2")
        words = self.line()
        self.assertEqual((words[0], words[1], "-w" in words), ("srun", "--mpi=pmix", False))
        # One of its tasks, and who asks for one host, start ranks here.
        for environment, more in (({"SLURM_STEP_ID": "0"}, ()), ({}, ("-N", 1))):
            os.remove(self.told)
            self.start("-n", 1, *more, "/bin/true", SLURM_JOB_ID="1", SLURM_JOB_NUM_NODES="2", **environment)
            self.assertFalse(os.path.exists(self.told))
            self.start("-n", 8, PROGRAM, SLURM_JOB_ID="1", SLURM_JOB_NUM_NODES="2")

    def test_environment_of_ranks(self):
        self.install("mpirun")
        self.start("--hosts", "a", "-E", "MINE=a b", "--shared-heap", "1G", PROGRAM, UPCXX_OTHER="1", PRIVATE="2", PMIX_RANK="0", ATOLL_JOB="1:2:3")
        words = self.line()
        forwarded = {words[i + 1] for i, word in enumerate(words) if word == "-x"}
        self.assertLessEqual({"MINE", "UPCXX_SHARED_HEAP_SIZE", "UPCXX_OTHER", "PATH"}, forwarded)
        self.assertFalse(forwarded & {"PRIVATE", "PMIX_RANK", "ATOLL_JOB", "HOME"})
        with open(self.told, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("\nMINE=a b\n", text)
        self.assertNotIn("PMIX_RANK", text)

    def test_status_and_output_of_the_launcher(self):
        self.install("mpirun", act="echo '[1,1]<stdout>:out'; echo '[1,0]<stderr>:err' >&2; exit 7")
        got = self.start("--hosts", "a", "--tag", PROGRAM, status=7)
        self.assertEqual(got.stdout, "[1] out\n")
        self.assertIn("[0] err\n", got.stderr)
        self.assertEqual(self.start("--hosts", "a,b", PROGRAM, status=7).stdout, "out\n")
        # A job of one rank is passed on as it comes.
        self.assertEqual(self.start("--hosts", "a", PROGRAM, status=7).stdout, "[1,1]<stdout>:out\n")

    def test_lines_that_launchers_cut(self):
        self.install("mpirun", act="printf '[1,0]<stdout>:one [1,1]<stdout>:three'; printf '[1,0]<stdout>:two\\n[1,1]<stdout>: four'; exit 0")
        self.assertEqual(self.start("--hosts", "a,b", PROGRAM).stdout, "one two\nthree four\n")
        self.assertEqual(self.start("--hosts", "a,b", "--tag", PROGRAM).stdout, "[0] one two\n[1] three four\n")

    def test_nobody_reads_the_output(self):
        self.install("mpirun", act=f"trap 'echo ended >> {self.told}; exit 5' TERM; while :; do echo '[1,0]<stdout>:words'; /bin/sleep 0.01; done")
        job = subprocess.Popen([ATOLL, "run", "--hosts", "a,b", PROGRAM], env={"PATH": self.folder}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual(job.stdout.readline(), b"words\n")
        job.stdout.close()
        self.assertEqual(job.wait(30), 128 + signal.SIGPIPE)
        with open(self.told, encoding="utf-8") as file:
            self.assertTrue(file.read().endswith("ended\n"))

    def test_output_that_cannot_be_written(self):
        for act in ("trap 'exit 5' TERM; while :; do echo '[1,0]<stdout>:words'; /bin/sleep 0.01; done", "echo '[1,0]<stdout>:words'; exit 0"):
            self.install("mpirun", act=act)
            with open("/dev/full", "w", encoding="utf-8") as full:
                got = subprocess.run([ATOLL, "run", "--hosts", "a,b", PROGRAM], env={"PATH": self.folder}, stdin=subprocess.DEVNULL, stdout=full,
                                     stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            self.assertEqual(got.returncode, 1, got)
            self.assertEqual(got.stderr.count("cannot write standard output: No space left on device\n"), 1, got)

    def test_a_launcher_that_hangs(self):
        self.install("mpirun", act="trap 'exit 3' TERM; while :; do /bin/sleep 0.05; done")
        got = self.start("--hosts", "a", "--timeout", "0.3", PROGRAM, status=124)
        self.assertIn("the time is up", got.stderr)
        # It waits for a host that is gone: its ranks have been ended.
        self.install("mpirun", act="echo 'atoll: host a: host b (rank 1) is lost: nothing has been heard of it for 7.0 s' >&2; exec /bin/sleep 60")
        begin = time.monotonic()
        self.start("--hosts", "a,b", PROGRAM, status=1)
        self.assertLess(time.monotonic() - begin, 50)

    def test_signals_are_handed_on(self):
        self.install("mpirun", act=self.hangs())
        job = subprocess.Popen([ATOLL, "run", "--hosts", "a", PROGRAM], env={"PATH": self.folder}, stderr=subprocess.DEVNULL)
        while not os.path.exists(self.told):
            time.sleep(0.01)
        time.sleep(0.2)
        job.terminate()
        self.assertEqual(job.wait(30), 128 + signal.SIGTERM)
        with open(self.told, encoding="utf-8") as file:
            self.assertTrue(file.read().endswith("ended\n"))

    def hangs(self):
        """A launcher that tells when it is asked to end, not when a terminal kills it."""
        return f"trap 'echo ended >> {self.told}; exit 5' TERM; while :; do /bin/sleep 0.05; done"

    def quit_job(self, by_terminal=False):
        """Sends SIGQUIT to a job by mpirun as it runs; what it said."""
        master, slave = pty.openpty()
        job = subprocess.Popen([ATOLL, "run", "--hosts", "a,b", PROGRAM], env={"PATH": self.folder}, stderr=subprocess.PIPE, text=True,
                               **({"stdin": slave, "preexec_fn": own_terminal} if by_terminal else {"stdin": subprocess.DEVNULL}))
        os.close(slave)
        while not os.path.exists(self.told):
            time.sleep(0.01)
        time.sleep(0.2)
        if by_terminal:
            os.write(master, b"\x1c")
        else:
            job.send_signal(signal.SIGQUIT)
        _, errors = job.communicate(timeout=30)
        os.close(master)
        self.assertEqual(job.returncode, 128 + signal.SIGQUIT, errors)
        self.assertIn("got SIGQUIT", errors)
        return errors

    def test_on_sigquit_ranks_are_asked(self):
        asked = os.path.join(self.folder, "asked")
        for by_terminal in (False, True):
            with self.subTest(by_terminal=by_terminal):
                self.install("mpirun", act=f"""case "$*" in *' picture '*) echo "$@" $ATOLL_CLUSTER_JOB > {asked}; exit 0 ;; esac; {self.hangs()}""")
                self.assertNotIn("has failed", self.quit_job(by_terminal))
                with open(self.told, encoding="utf-8") as file:
                    self.assertIn("\nended\n", file.read())
                with open(asked, encoding="utf-8") as file:
                    words = file.read().split()
                self.assertEqual((words[:4], words[-4:-2]), (["--host", "a:1", "-n", "1"], [os.path.realpath(ATOLL), "picture"]))
                self.assertRegex(words[-1], "^[0-9a-f]{16}$")
                self.assertEqual(words[-1], words[-2])
                os.remove(asked)
                os.remove(self.told)

    def test_nobody_can_be_asked(self):
        self.install("mpirun", act=f"""case "$*" in *' picture '*) exit 1 ;; esac; {self.hangs()}""")
        self.assertIn("picture` has failed", self.quit_job())

    def test_picture_counts_jobs(self):
        keeper = os.path.join(self.folder, "atoll-keeper")
        shutil.copy("/bin/sleep", keeper)
        job = f"{time.monotonic_ns():016x}"
        keepers = [subprocess.Popen([keeper, "60"], env={"ATOLL_CLUSTER_JOB": name}) for name in (job, job, job + "0")]
        got = subprocess.run([ATOLL, "picture", job], text=True, capture_output=True, check=False)
        self.assertEqual((got.returncode, got.stderr), (0, ""), got)
        self.assertRegex(got.stdout, "^1 job asked")
        self.assertEqual([each.wait(30) for each in keepers[:2]], [-signal.SIGQUIT] * 2)
        self.assertIsNone(keepers[2].poll())
        keepers[2].kill()
        keepers[2].wait(30)

    def test_verbose_tells_the_name_for_picture(self):
        self.install("mpirun")
        said = re.search("^atoll run: job ([0-9a-f]{16}), as `atoll picture` knows it$", self.start("-v", "--hosts", "a", PROGRAM).stderr, flags=re.M)
        with open(self.told, encoding="utf-8") as file:
            self.assertIn(f"\nATOLL_CLUSTER_JOB={said[1]}\n", file.read())

    def test_picture_without_a_job(self):
        got = subprocess.run([ATOLL, "picture", "0" * 16], text=True, capture_output=True, check=False)
        self.assertEqual((got.returncode, got.stdout), (1, ""))
        self.assertIn(f"no job {'0' * 16} on several hosts has ranks of yours here", got.stderr)
        for words, said in ((("--all",), "--all is no option"), (("a", "b"), "one JOB, or none"), (("",), "JOB is empty")):
            got = subprocess.run([ATOLL, "picture", *words], text=True, capture_output=True, check=False)
            self.assertEqual((got.returncode, got.stdout), (2, ""))
            self.assertRegex(got.stderr, f"^atoll picture: {said}.*\n\nusage: atoll picture")
        self.assertIn("usage: atoll picture", subprocess.run([ATOLL, "picture", "--help"], text=True, capture_output=True, check=True).stdout)

    def test_show(self):
        self.install("mpirun")
        got = self.start("--hosts", "a:2,b", "--show", "-E", "A=1 2", PROGRAM, "x y")
        self.assertRegex(got.stdout, r"^A='1 2' \S*/mpirun --host a:2,b:1 -n 3 .*'x y'\n$")
        self.assertFalse(os.path.exists(self.told))


if __name__ == "__main__":
    ATOLL, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:3])
    result = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False).result
    if result.testsRun and len(result.skipped) == result.testsRun:
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
