"""What all tests of `atoll run` share: how jobs are started, and that nothing of them is left."""

import contextlib
import ctypes
import ctypes.util
import errno
import fcntl
import glob
import os
import platform
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

# The command, and the misbehaving program beside this file: the first words of the command line.
ATOLL, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:3])
SANITIZED = os.environ.get("ATOLL_TEST_SANITIZED") == "1"
PATIENCE = 120  # seconds; generous, because the machine may be busy
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


def watched_by(launcher):
    """The processes for whose ends it waits."""
    found = set()
    for path in glob.glob(f"/proc/{launcher}/fdinfo/*"):
        with contextlib.suppress(OSError), open(path) as file:
            found.update(int(pid) for pid in re.findall(r"(?m)^Pid:\s+(\d+)", file.read()))
    return found


def state_of(pid):
    """One letter, as proc(5) has it."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def sleeps(pid):
    return state_of(pid) == "S"


def processes_marked(mark):
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                if f"{MARK}={mark}".encode() not in file.read():
                    continue
            pid = int(path.split("/")[2])
            if state_of(pid) != "Z":
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


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return list(map(int, file.read().split()))


class Patient:
    """Tests that wait for what others do."""

    def wait_for(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"waited in vain: {what}")
            time.sleep(0.01)


class LauncherTest(Patient, unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.mark = f"{os.getpid()}-{self.id()}-{time.monotonic_ns()}"
        self.files_before = files_of_ours()

    def tearDown(self):
        self.assert_nothing_left()

    def assert_nothing_left(self):
        self.wait_for(lambda: not processes_marked(self.mark), "no process is left")
        # What other tests have there meanwhile comes and goes.
        deadline = time.monotonic() + PATIENCE
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

    def run_out_of_time(self, enough, *arguments):
        """A job that its time limit ends; once more with more time where it has not come so far."""
        for limit in ("1.5", "20"):
            got = self.run_job("--timeout", limit, *arguments)
            self.assertEqual(got.status, 124, got)
            self.assertIn(f"time is up after {limit} s", got.err)
            if re.search(enough, got.err):
                break
        return got

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
        self.wait_for(lambda: all(sleeps(pid) for pid in pids.values()), "all have reached their loops")
        return process, pids
