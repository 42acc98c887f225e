"""What tests of several hosts share: the hosts, and what runs on them."""

import os
import re
import signal
import subprocess
import sys
import time
import unittest

HOSTS_SH, PROGRAMS = (os.path.abspath(path) for path in sys.argv[1:3])
SET = f"t{os.getpid()}"
HOSTS = 4
WHOLE = os.environ.get("CLUSTERS_TEST_WHOLE") == "yes"
PATIENCE = 60  # seconds; generous, because the machine may be busy
# What cluster_bootstrap_program says.
LINE = re.compile(r"rank (\d+) of (\d+) host (\d+) of (\d+) local (\d+) of (\d+) largest (\d+) on (\w+) by (\w+) job (\w+): all well")


def hosts_sh(*words, **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PMIX_", "OMPI_", "ATOLL_JOB", "SLURM_", "PMI_"))}
    environment.update(more)
    return subprocess.run([HOSTS_SH, "--set", SET, *map(str, words)], text=True, capture_output=True, timeout=PATIENCE,
                          env=environment, stdin=subprocess.DEVNULL, check=False)


def remove_left_sets():
    """Of tests that were killed: the process that a set is called after is gone."""
    spaces = os.listdir("/run/netns") if os.path.isdir("/run/netns") else []
    for name in {found[1] for found in (re.match(r"atoll-t(\d+)-", space) for space in spaces) if found}:
        if not os.path.exists(f"/proc/{name}"):
            subprocess.run([HOSTS_SH, "--set", f"t{name}", "down"], check=False)


def make_hosts():
    """Those of most tests; skips all where none can be made."""
    remove_left_sets()
    made = hosts_sh("up", HOSTS)
    if made.returncode == 77:
        print(f"skipped: {made.stderr}")
        raise unittest.SkipTest(made.stderr)
    if made.returncode != 0:
        raise RuntimeError(made.stdout + made.stderr)


def processes_called(name):
    """Of all hosts: those in their networks."""
    networks = {os.stat(f"/run/netns/{space}").st_ino for space in os.listdir("/run/netns") if space.startswith(f"atoll-{SET}-")}
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/comm", encoding="utf-8") as file:
                if file.read().strip() == name[:15] and os.stat(f"/proc/{number}/ns/net").st_ino in networks:
                    found.append(int(number))
        except OSError:
            pass
    return found


class Patient:
    """Tests that wait for what others do."""

    def wait(self, what, holds, job=None):
        """Not beyond the end of `job`."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            if job is not None:
                self.assertIsNone(job.poll(), f"{what}: the job has ended")
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.01)


def connections_of(number, state="01"):
    """How many a process has in that state of TCP: those that stand ("01"), or are being made ("02")."""
    try:
        files = {os.readlink(f"/proc/{number}/fd/{file}") for file in os.listdir(f"/proc/{number}/fd")}
        found = 0
        for table in ("tcp", "tcp6"):
            with open(f"/proc/{number}/net/{table}", encoding="ascii") as file:
                found += sum(words[3] == state and f"socket:[{words[9]}]" in files for words in map(str.split, file))
        return found
    except OSError:
        return 0


def kill_job(job, program):
    """What was started in a session of its own, with what that has started on hosts."""
    if job.poll() is None:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    for name in ("mpirun", "orted", program, "atoll-keeper"):
        for number in processes_called(name):
            os.kill(number, signal.SIGKILL)


def host_of(process):
    """Name of the host that a process is on; None if it is gone."""
    try:
        network = os.stat(f"/proc/{process}/ns/net").st_ino
    except OSError:
        return None
    spaces = [space for space in os.listdir("/run/netns") if space.startswith(f"atoll-{SET}-")]
    return next((space.rsplit("-", 1)[1] for space in spaces if os.stat(f"/run/netns/{space}").st_ino == network), None)


def start_atoll(*words, by=(), source=subprocess.DEVNULL, folder=None):
    """On `head`, where users would be, in a folder of theirs."""
    atoll = os.path.join(os.path.dirname(PROGRAMS), "bin", "atoll")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PMIX_", "OMPI_", "ATOLL_JOB", "SLURM_", "PMI_"))}
    return subprocess.Popen([HOSTS_SH, "--set", SET, "launch", "env", "ATOLL_HOST_TIMEOUT=3", *by, atoll, *map(str, words)], text=True,
                            stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean, cwd=folder)
