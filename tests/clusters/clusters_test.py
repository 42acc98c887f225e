#!/usr/bin/env python3
"""Jobs on several hosts, which scripts/hosts.sh makes out of namespaces, under real launchers.

usage: clusters_test.py HOSTS_SH PROGRAMS [TestClass ...]

PROGRAMS is the folder of the test programs. Exit status 77: hosts cannot be made here, or no launcher of the classes is installed.
CLUSTERS_TEST_WHOLE=yes runs what continuous integration has no time for, too.
"""

import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HOSTS_SH = ""
PROGRAMS = ""
SET = f"t{os.getpid()}"
HOSTS = 4
WHOLE = os.environ.get("CLUSTERS_TEST_WHOLE") == "yes"
PATIENCE = 60  # seconds; generous, because the machine may be busy
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


def setUpModule():
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


class LauncherTest(unittest.TestCase):
    """What all launchers have to do; those derived say how."""

    LAUNCHER = ("mpirun",)
    BOOTSTRAP = "pmix"
    UNEVEN = True
    PROGRAM = "cluster_bootstrap_program"

    @classmethod
    def setUpClass(cls):
        if cls in (LauncherTest, Slurm):
            raise unittest.SkipTest("the others derive from this")

    def job(self, *words, **environment):
        got = hosts_sh("run", "--launcher", *self.LAUNCHER, *words, **environment)
        if got.returncode == 77:
            self.skipTest(got.stderr)
        return got

    def program(self):
        return os.path.join(PROGRAMS, self.PROGRAM)

    def check(self, layout, *options, rounds=1, **environment):
        """Runs a job whose rank r must be on host layout[r]."""
        with tempfile.TemporaryDirectory(dir=PROGRAMS) as folder:
            got = self.job("-n", len(layout), *options, self.program(), "check", folder, rounds, **environment)
        words = got.stdout + got.stderr
        self.assertEqual(got.returncode, 0, words)
        lines = {int(m[1]): m for m in LINE.finditer(got.stdout)}
        self.assertEqual(sorted(lines), list(range(len(layout))), words)
        names = sorted(set(layout), key=layout.index)
        for rank, host in enumerate(layout):
            members = [r for r, of in enumerate(layout) if of == host]
            said = tuple(int(number) for number in lines[rank].groups()[1:7])
            largest = max(layout.count(name) for name in names)
            expected = (len(layout), names.index(host), len(names), members.index(rank), len(members), largest)
            self.assertEqual(said, expected, words)
            self.assertEqual(lines[rank][9], self.BOOTSTRAP, words)
        self.assertEqual(len({m[10] for m in lines.values()}), 1, words)
        return lines

    def test_blocks(self):
        for hosts, each in ((2, 1), (3, 2), (4, 4)):
            with self.subTest(hosts=hosts, each=each):
                layout = [f"h{h + 1}" for h in range(hosts) for _ in range(each)]
                lines = self.check(layout, "--hosts", hosts, rounds=2)
                self.assertEqual([lines[r][8] for r in range(len(layout))], layout)

    def test_cyclic(self):
        lines = self.check(["h1", "h2", "h3"] * 2, "--hosts", 3, "--by-node", rounds=2)
        self.assertEqual([lines[r][8] for r in range(6)], ["h1", "h2", "h3"] * 2)

    def test_uneven(self):
        if self.UNEVEN:
            self.check(["h1", "h2", "h2", "h2"], "--shares", "1,3")

    def test_names_of_users_override(self):
        # Ranks of a node on two hosts, which are in the order of their first ranks.
        wrapper = f"ATOLL_HOST=$(( ${{PMIX_RANK:-$PMI_RANK}} / 2 % 2 + 10 * (${{PMIX_RANK:-$PMI_RANK}} / 4) )) exec {self.program()} \"$@\""
        with tempfile.TemporaryDirectory(dir=PROGRAMS) as folder:
            got = self.job("-n", 8, "--hosts", 2, "sh", "-c", wrapper, "sh", "check", folder, 1)
        words = got.stdout + got.stderr
        self.assertEqual(got.returncode, 0, words)
        hosts = {int(m[1]): (int(m[3]), int(m[4])) for m in LINE.finditer(got.stdout)}
        self.assertEqual(hosts, {rank: (rank // 2, 4) for rank in range(8)}, words)

    def test_hosts_that_share_no_memory_are_none(self):
        got = self.job("-n", 2, "--hosts", 2, self.program(), "check", "/tmp", ATOLL_HOST="both")
        self.assertNotEqual(got.returncode, 0, got.stdout)
        self.assertIn("ATOLL_HOST", got.stderr)

    def ends(self, *words, ranks=4, status=None):
        got = self.job("-n", ranks, self.program(), *words)
        self.assertNotEqual(got.returncode, 0, got)
        self.assertIn("rank 1 on h2 ends", got.stderr)
        if status is not None:
            self.assertEqual(got.returncode, status, got)
        deadline = time.monotonic() + PATIENCE
        while processes_called(self.PROGRAM):
            self.assertLess(time.monotonic(), deadline, "ranks are left")
            time.sleep(0.01)
        return got

    def test_abort_ends_all_hosts(self):
        self.ends("abort", 1, 9)

    def test_exit_without_finalize_ends_all_hosts(self):
        self.assertIn("exits with status 5 without upcxx::finalize()", self.ends("exit", 1, 5).stderr)
        self.ends("exit", 1, 0)


    def test_a_rank_that_is_killed_ends_all_hosts(self):
        self.ends("kill", 1)

    def check_missed(self):
        """A rank that ends well before the others meet: launchers would wait for it."""
        script = f"[ ${{PMIX_RANK:-$PMI_RANK}} = 1 ] || exec {self.program()} wait -1"
        begin = time.monotonic()
        got = self.job("-n", 4, "--hosts", 2, "sh", "-c", script)
        self.assertNotEqual(got.returncode, 0, got)
        self.assertLess(time.monotonic() - begin, 30)
        return got

    def test_a_crash_is_told_once_with_its_place(self):
        # One rank, all of all hosts, and several threads of one on a single host, where Slurm alone has a keeper.
        for who, threads, ranks, hosts, named in ((3, 1, 4, 2, "rank 3 of 4 on h2"), (-1, 1, 4, 2, "rank . of 4 on h[12]"), (1, 6, 2, 1, "rank 1 of 2 on h1")):
            with self.subTest(who=who, hosts=hosts):
                got = self.job("-n", ranks, "--hosts", hosts, self.program(), "crash", who, threads)
                self.assertNotEqual(got.returncode, 0, got)
                told = re.findall(r"atoll: .*", got.stderr)
                self.assertEqual(len(told), 1, got.stderr)
                self.assertRegex(told[0], rf"^atoll: {named} \(pid \d+\) died of SIGSEGV \(Segmentation fault\) at address 0x0$")
                self.assertRegex(got.stderr, r"#0 +\(?.*function_that_crashes\(int volatile\*\)")


class Pmix(LauncherTest):
    """Open MPI's mpirun, which otherwise waits 2 s for ranks that it ends."""

    LAUNCHER = ("mpirun", *(word for part in ("--mca", "odls_base_sigkill_timeout", "0") for word in ("--launcher-option", part)))


class Hydra(LauncherTest):
    """MPICH's mpiexec: PMI-1."""

    LAUNCHER = ("hydra",)
    BOOTSTRAP = "pmi"

    def test_a_rank_that_ends_before_it_joins_is_missed(self):
        got = self.check_missed()
        self.assertEqual(re.findall(r"atoll: .*", got.stderr),
                         ["atoll: rank 0 of 4 (h1): bootstrap: rank 1, of this host, has ended without having come to upcxx::init(), "
                          "in which the others wait; the job ends"])

    def test_a_host_that_a_rank_has_left_without_a_word_is_not_lost(self):
        # Hydra then kills the groups of that host's ranks at once, so that the one killed may be told of, or all of the job before anybody is.
        got = self.job("-n", 4, "--hosts", 2, self.program(), "leave", 3)
        self.assertNotEqual(got.returncode, 0, got)
        self.assertNotIn("is lost", got.stderr)

    def test_ranks_are_those_of_mpi(self):
        # On one host: between several, MPICH 4.0.2 over UCX 1.13 hangs in MPI_Finalize now and then, without us, too.
        for order in ("mpi-first", "mpi-around", "mpi-last", "mpi-never"):
            with self.subTest(order=order):
                program = os.path.join(PROGRAMS, "cluster_mpich_program")
                got = self.job("-n", 3, "--hosts", 1, program, order, UCX_TLS="self,sysv,posix")
                if "skipped: " in got.stderr:
                    self.skipTest(got.stderr)
                words = got.stdout + got.stderr
                self.assertEqual(got.returncode, 0, words)
                self.assertEqual(got.stdout.count("of 3 on host 0 by pmi: ranks agree"), 3, words)


class Slurm(LauncherTest):
    """What those with srun have in common."""

    UNEVEN = False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        started = hosts_sh("slurm")
        if started.returncode == 77:
            raise unittest.SkipTest(started.stderr)
        if started.returncode != 0:
            raise RuntimeError(started.stdout + started.stderr)


    def test_a_rank_that_is_killed_ends_all_hosts(self):
        # srun lets the others go on for half a minute; keepers do not.
        begin = time.monotonic()
        got = self.ends("kill", 1)
        self.assertIn("rank 1 on host h2 has ended without upcxx::finalize()", got.stderr)
        self.assertLess(time.monotonic() - begin, 25)

    def test_a_rank_that_is_killed_on_a_single_host(self):
        # With PMI-2 srun would wait for the other one for ever.
        got = self.job("-n", 2, "--hosts", 1, self.program(), "kill", 1)
        self.assertNotEqual(got.returncode, 0, got)


class SlurmPmix(Slurm):
    """srun --mpi=pmix."""

    LAUNCHER = ("srun", "--launcher-option", "--mpi=pmix")


class SlurmPmi2(Slurm):
    """srun --mpi=pmi2."""

    LAUNCHER = ("srun", "--launcher-option", "--mpi=pmi2")
    BOOTSTRAP = "pmi"


class Losses(unittest.TestCase):
    """Hosts that disappear while ranks compute. The launcher waits for such a host for ever, so that it is ended here."""

    PROGRAM = "cluster_bootstrap_program"

    def setUp(self):
        self.words = tempfile.TemporaryFile("w+")  # pylint: disable=consider-using-with
        self.addCleanup(self.words.close)

    def left(self, name, but=()):
        return [number for number in processes_called(name) if host_of(number) not in (None, *but)]

    def start(self, ranks, keepers=HOSTS, **environment):
        job = subprocess.Popen([HOSTS_SH, "--set", SET, "run", "-n", str(ranks), os.path.join(PROGRAMS, self.PROGRAM), "wait", "-1"],
                               stdout=subprocess.DEVNULL, stderr=self.words, stdin=subprocess.DEVNULL, start_new_session=True,
                               env={**os.environ, **environment})

        self.addCleanup(kill_job, job, self.PROGRAM)
        self.wait("all have started", lambda: len(processes_called(self.PROGRAM)) == ranks and len(processes_called("atoll-keeper")) == keepers)
        time.sleep(0.5)  # keepers meet

    def wait(self, what, holds):
        deadline = time.monotonic() + PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.01)

    def cut(self, host):
        def mend():
            hosts_sh("exec", host, "ip", "link", "set", "dev", "eth0", "up")
            # Until launchers reach it again: nobody listens there, and its system says so.
            hosts_sh("exec", "head", "bash", "-c", f"until (echo > /dev/tcp/{host}/9) 2>&1 | grep -q refused; do sleep 0.05; done")

        self.addCleanup(mend)
        self.assertEqual(hosts_sh("exec", host, "ip", "link", "set", "dev", "eth0", "down").returncode, 0)

    def check_ended(self, words, but=()):
        self.wait("ranks are left", lambda: not self.left(self.PROGRAM, but))
        self.wait("keepers are left", lambda: not self.left("atoll-keeper", but))
        self.words.seek(0)
        said = self.words.read()
        self.assertEqual(said.count(words), 1, said)

    def test_a_link_that_stays_down(self):
        self.start(2 * HOSTS, ATOLL_HOST_TIMEOUT="3")
        begin = time.monotonic()
        self.cut("h2")
        self.check_ended("host h1: host h2 (ranks 2 to 3) is lost: nothing has been heard of it for 2.1 s")
        self.assertGreater(time.monotonic() - begin, 1.5)

    def test_a_host_that_is_killed_whole(self):
        self.start(HOSTS, ATOLL_HOST_TIMEOUT="2")
        self.cut("h3")
        # Not the launcher's daemon, which the launcher would miss: here that is no connection between hosts.
        for name in (self.PROGRAM, "atoll-keeper"):
            for number in processes_called(name):
                if host_of(number) == "h3":
                    os.kill(number, signal.SIGKILL)
        self.check_ended("host h3 (rank 2) is lost", but=("h3",))

    def test_launchers_that_kill_the_group_of_a_rank_do_not_kill_the_keeper(self):
        self.start(HOSTS)
        groups = {os.getpgid(number) for number in processes_called(self.PROGRAM)}
        for keeper in processes_called("atoll-keeper"):
            self.assertNotIn(os.getpgid(keeper), groups)

    def test_nobody_watches_if_it_is_so_wanted(self):
        self.start(HOSTS, keepers=0, ATOLL_HOST_TIMEOUT="0")
        self.assertEqual(processes_called("atoll-keeper"), [])


def start_atoll(*words, by=(), source=subprocess.DEVNULL):
    """On `head`, where users would be."""
    atoll = os.path.join(os.path.dirname(PROGRAMS), "bin", "atoll")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PMIX_", "OMPI_", "ATOLL_JOB", "SLURM_", "PMI_"))}
    return subprocess.Popen([HOSTS_SH, "--set", SET, "launch", "env", "ATOLL_HOST_TIMEOUT=3", *by, atoll, *map(str, words)], text=True,
                            stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean)


class AtollRun(unittest.TestCase):
    """`atoll run --hosts` by the launchers that are installed."""

    PROGRAM = "cluster_bootstrap_program"

    def start(self, launcher, *words, **more):
        return start_atoll("run", *(("--launcher", launcher) if launcher else ()), *words, **more)

    def run_job(self, launcher, *words, status=0, **more):
        job = self.start(launcher, *words, **more)
        out, errors = job.communicate(timeout=PATIENCE)
        if "is not installed" in errors:
            self.skipTest(errors)
        self.assertEqual(job.returncode, status, out + errors)
        return out, errors

    def launchers(self):
        slurm = hosts_sh("slurm")
        self.assertIn(slurm.returncode, (0, 77), slurm.stderr)
        return ("mpirun", "hydra") + (("srun",) if slurm.returncode == 0 else ())

    def program(self):
        return os.path.join(PROGRAMS, self.PROGRAM)

    def check_nothing_left(self):
        deadline = time.monotonic() + PATIENCE
        while processes_called(self.PROGRAM) or processes_called("atoll-keeper"):
            self.assertLess(time.monotonic(), deadline, "processes are left")
            time.sleep(0.02)

    def test_ranks_are_where_they_were_wanted(self):
        for launcher in self.launchers():
            with self.subTest(launcher=launcher), tempfile.TemporaryDirectory(dir=PROGRAMS) as folder:
                out, errors = self.run_job(launcher, "--hosts", "h1,h2,h3", "-n", 6, "--tag", self.program(), "check", folder, 1)
                self.assertIn("starting by", errors)
                lines = {int(m[1]): m for m in LINE.finditer(out)}
                self.assertEqual([lines[r][8] for r in range(6)], ["h1", "h1", "h2", "h2", "h3", "h3"])
                self.assertEqual(sorted(re.findall(r"^\[(\d)\] rank (\d)", out, flags=re.M)), [(str(r), str(r)) for r in range(6)])

    def test_shares_that_differ(self):
        with tempfile.TemporaryDirectory(dir=PROGRAMS) as folder:
            for launcher in self.launchers():
                with self.subTest(launcher=launcher):
                    out, _ = self.run_job(launcher, "--hosts", "h2:1,h1:3", self.program(), "check", folder, 1)
                    self.assertEqual([m[8] for m in sorted(LINE.finditer(out), key=lambda m: int(m[1]))], ["h2", "h1", "h1", "h1"])
                    out, _ = self.run_job(launcher, "--hosts", "h[1-4]", "-n", 5, self.program(), "check", folder, 1)
                    self.assertEqual([m[8] for m in sorted(LINE.finditer(out), key=lambda m: int(m[1]))], ["h1", "h1", "h2", "h3", "h4"])

    def test_measuring_between_two_hosts(self):
        atoll = os.path.join(os.path.dirname(PROGRAMS), "bin", "atoll")
        if "ucx (between hosts)" not in subprocess.run([atoll, "info"], capture_output=True, text=True).stdout:
            self.skipTest("no network over UCX")
        done = hosts_sh("launch", "env", "ATOLL_TRANSPORTS=ucx", atoll, "bench", "net", "--quick", "--no-mpi", "--hosts", "h1,h2",
                        "--only", "am.oneway", "--csv", "-")
        if "unknown command bench" in done.stderr or "not part of this installation" in done.stderr:
            self.skipTest("no atoll bench")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^net,net\.ucx\.am\.oneway,8,2,.*,\"tcp\",")

    def test_inside_an_allocation_hosts_need_no_names(self):
        if "srun" not in self.launchers():
            self.skipTest("Slurm does not run here")
        with tempfile.TemporaryDirectory(dir=PROGRAMS) as folder:
            out, errors = self.run_job("", "-n", 4, self.program(), "check", folder, 1, by=("salloc", "-Q", "-N", "2"))
            self.assertIn("srun", errors)
            self.assertEqual(len({m[8] for m in LINE.finditer(out)}), 2)

    def test_input_is_for_the_first_rank_and_ends_for_all(self):
        for launcher in self.launchers():
            with self.subTest(launcher=launcher), tempfile.TemporaryFile("w+") as source:
                source.write("one\ntwo\n")
                source.seek(0)
                out, _ = self.run_job(launcher, "--hosts", "h1,h2", "-n", 4, self.program(), "read", source=source)
                read = dict(re.findall(r"rank (\d) has read '(.*)'", out))
                self.assertEqual(read, {"0": "one;two;", "1": "", "2": "", "3": ""})

    def test_input_that_a_script_gives_stays(self):
        for launcher in self.launchers():
            with self.subTest(launcher=launcher):
                out, _ = self.run_job(launcher, "--hosts", "h1,h2", "-n", 4, "sh", "-c", f"echo mine | {self.program()} read")
                self.assertEqual(sorted(re.findall(r"rank (\d) has read 'mine;'", out)), ["0", "1", "2", "3"], out)

    def test_status_of_a_rank(self):
        for launcher in self.launchers():
            with self.subTest(launcher=launcher):
                self.run_job(launcher, "--hosts", "h1,h2", "-n", 4, self.program(), "exit", 2, 7, status=7)
                self.check_nothing_left()

    def test_a_mistake_of_several_hosts_is_told_once(self):
        for launcher in self.launchers():
            for first in (0, 1):
                with self.subTest(launcher=launcher, first=first):
                    job = self.start(launcher, "--hosts", "h1,h2,h3,h4", "-n", 8, self.program(), "mistake", first)
                    out, errors = job.communicate(timeout=PATIENCE)
                    if "is not installed" in errors:
                        self.skipTest(errors)
                    self.assertNotEqual(job.returncode, 0, out + errors)
                    told = re.findall(r"host (\d): a mistake", errors)
                    self.assertEqual(len(told), 1, errors)
                    self.assertGreaterEqual(int(told[0]), first)
                    self.assertNotIn("killed perhaps", errors)
                    self.check_nothing_left()

    def check_tables(self, errors, hosts):
        for host, ranks in hosts:
            self.assertEqual(errors.count(f"host {host}: what its ranks are doing:"), 1, errors)
            for rank in ranks:
                self.assertRegex(errors, rf"(?m)^ +{rank} +\d+ +running +no communication yet +nothing$")

    def test_ranks_are_shown_on_sigquit(self):
        for launcher in self.launchers():
            with self.subTest(launcher=launcher):
                job = self.start(launcher, "--hosts", "h1,h2", "-n", 4, self.program(), "wait", -1)
                deadline = time.monotonic() + PATIENCE
                while len(processes_called("atoll-keeper")) < 2 and job.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.02)
                time.sleep(1)  # until they have met
                os.kill(next(p for p in processes_called("atoll")), signal.SIGQUIT)
                _, errors = job.communicate(timeout=PATIENCE)
                self.assertEqual(job.returncode, 128 + signal.SIGQUIT, errors)
                self.check_tables(errors, (("h1", (0, 1)), ("h2", (2, 3))))
                self.check_nothing_left()

    def test_lines_of_ranks_stay_whole(self):
        code = "import sys\nfor i in range(4000): sys.stdout.write(f'{i:04} ' + 'x' * (i % 173) + ' end\\n')"
        for launcher in self.launchers():
            with self.subTest(launcher=launcher):
                out, _ = self.run_job(launcher, "--hosts", "h1,h2", "-n", 4, "--tag", sys.executable, "-c", code)
                for rank in range(4):
                    mine = re.findall(rf"^\[{rank}\] (\d{{4}}) x* end$", out, flags=re.M)
                    self.assertEqual(mine, [f"{i:04}" for i in range(4000)])
                self.assertEqual(out.count("\n"), 16000)

    def test_time_limit_and_signal_leave_nothing(self):
        for launcher in self.launchers():
            with self.subTest(launcher=launcher):
                _, errors = self.run_job(launcher, "--hosts", "h1,h2", "-n", 4, "--timeout", 4, self.program(), "wait", -1, status=124)
                self.check_nothing_left()
                self.check_tables(errors, (("h1", (0, 1)), ("h2", (2, 3))))
                _, errors = self.run_job(launcher, "--hosts", "h2", "-n", 2, "--timeout", 3, self.program(), "wait", -1, status=124)
                self.check_nothing_left()
                self.check_tables(errors, (("h2", (0, 1)),))
                job = self.start(launcher, "--hosts", "h1,h2", "-n", 4, self.program(), "wait", -1)
                while len(processes_called(self.PROGRAM)) < 4:
                    time.sleep(0.02)
                os.kill(next(p for p in processes_called("atoll")), signal.SIGTERM)
                job.communicate(timeout=PATIENCE)
                self.assertEqual(job.returncode, 128 + signal.SIGTERM)
                self.check_nothing_left()


class Network:
    """Programs of tests/multirank: what goes between hosts goes over one network, by TCP between theirs."""

    TRIED = ("rma", "rpc", "atomics", "collectives")

    def check(self, launcher, programs, *options, arguments=(), device="tcp/eth0", **environment):
        # Ranks meet in a folder that all hosts see: /tmp is each host's own.
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            for program in programs:
                with self.subTest(launcher=launcher, program=program):
                    got = hosts_sh("run", "--launcher", launcher, *options, os.path.join(PROGRAMS, program), *arguments,
                                   ATOLL_TEST_SOCKETS=folder, ATOLL_TRANSPORTS=self.NAME, UPCXX_SHARED_HEAP_SIZE="64M",
                                   UPCXX_VERBOSE="1", **environment)
                    words = got.stdout + got.stderr
                    if got.returncode == 77:
                        self.skipTest(words)
                    self.assertEqual(got.returncode, 0, words)
                    self.assertRegex(words, rf"network between hosts: {self.NAME} \({self.LIBRARY} 1\..*{device}")

    def test_the_suite_of_transports(self):
        # One process, whose ranks are in the networks of all hosts in turn.
        spaces = ",".join(f"/run/netns/atoll-{SET}-h{1 + i}" for i in range(HOSTS))
        got = hosts_sh("exec", "h1", "env", f"NETWORK_TEST_SPACES={spaces}", "ATOLL_NET_DEVICES=eth0",
                       os.path.join(PROGRAMS, f"network_{self.NAME}_test"))
        if got.returncode == 77:
            self.skipTest(got.stdout)
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)

    def check_application(self, name, *options):
        """Runs one that compares its numbers with known ones; returns what it says."""
        program = os.path.join(os.path.dirname(PROGRAMS), "bin", name)
        if not os.path.exists(program):
            self.skipTest(f"{name} is not built")
        got = hosts_sh("run", "-n", 4, "--hosts", 2, program, *options, ATOLL_TRANSPORTS=self.NAME, UPCXX_VERBOSE="1")
        words = got.stdout + got.stderr
        self.assertEqual(got.returncode, 0, words)
        self.assertIn(f"network between hosts: {self.NAME} (", words)
        self.assertIn("on 2 hosts", got.stdout)
        self.assertRegex(got.stdout, "(?m)^check passed")
        return got.stdout

    def test_the_multigrid_solver(self):
        # The Richardson error is one that the public reference prints.
        out = self.check_application("atoll-hpgmg", 4, 2, "--comm", "array", "--seconds", 0, "--solves", 1, "--warmup", 1)
        self.assertRegex(out, r"(?m)^check passed: \d\d numbers compared")

    def test_the_heat_simulation(self):
        # Planes are larger than what a small message holds. The sum of a field of all hosts is that of one.
        out = self.check_application("atoll-heat3d", "-X", 120, "-Y", 120, "-Z", 24, "-N", 20, "--exchange", "rma")
        self.assertRegex(out, r"(?m)^energy balance +ok ")

    def test_open_mpi(self):
        self.check("mpirun", [f"multirank.{name}" for name in self.TRIED], "-n", 4, "--hosts", 2)

    def test_bundles_by_host(self):
        program = "network.by_host"
        if not os.path.exists(os.path.join(PROGRAMS, program)):
            self.skipTest(f"{program} is not built")
        settings = {"ATOLL_BUNDLES_BY_HOST": "yes", "ATOLL_MESSAGE_MEMORY": "4MB"}
        self.check("mpirun", [program], "-n", 4, "--hosts", 2, **settings)
        self.check("mpirun", [program], "-n", 6, "--hosts", 3, "--by-node", **settings)

    def test_bridges_of_guests_are_left_out(self):
        # As Docker makes them, with a container in each: up, and of the same address on all hosts.
        for host in ("h1", "h2"):
            bridge = "ip link add docker0 type bridge && ip addr add 172.17.0.1/16 dev docker0 && ip link add port type veth peer name guest"
            made = hosts_sh("exec", host, "sh", "-c", f"{bridge} && ip link set port master docker0 && for i in port guest docker0; do ip link set $i up; done")
            self.assertEqual(made.returncode, 0, made.stderr)
            self.addCleanup(hosts_sh, "exec", host, "sh", "-c", "ip link del docker0; ip link del port")
        self.check("mpirun", ["multirank.rpc"], "-n", 2, "--hosts", 2, arguments=["--gtest_filter=rpc.*"], device=r"tcp/eth0[,)]", ATOLL_HOST_TIMEOUT="3")
        got = hosts_sh("exec", "h1", "env", f"ATOLL_TRANSPORTS={self.NAME}", os.path.join(os.path.dirname(PROGRAMS), "bin", "atoll"), "info")
        self.assertNotIn("docker0", "".join(line for line in got.stdout.splitlines() if self.LIBRARY in line), got.stdout)


class Ofi(Network, unittest.TestCase):
    NAME = "ofi"
    LIBRARY = "libfabric"
    TRIED = ("rma", "rpc")

    def test_in_turn(self):
        self.check("mpirun", ["multirank.collectives"], "-n", 6, "--hosts", 3, "--by-node")

    def test_one_endpoint_for_all_peers(self):
        one = "tcp;ofi_rxm/eth0"
        self.check("mpirun", ["multirank.rma", "multirank.rpc"], "-n", 4, "--hosts", 2, device=one, ATOLL_NET_DEVICES=one)


class ThreeInterfaces:
    """Two hosts with three interfaces of one speed."""

    @classmethod
    def setUpClass(cls):
        hosts_sh("down")
        made = hosts_sh("up", "--interfaces", 3, 2)
        if made.returncode != 0:
            raise RuntimeError(made.stdout + made.stderr)

    @classmethod
    def tearDownClass(cls):
        hosts_sh("down")
        setUpModule()


class Rails(ThreeInterfaces, unittest.TestCase):
    """Long transfers go over all of them."""

    def job(self, **environment):
        """Names of the devices as the network has them, bytes that each interface of rank 0's host has sent, and what was said."""
        got = hosts_sh("run", "-n", 2, os.path.join(PROGRAMS, "cluster_rails_program"), 16, 1 << 20, ATOLL_TRANSPORTS="ofi",
                       UPCXX_VERBOSE="1", **environment)
        words = got.stdout + got.stderr
        if got.returncode == 77:
            self.skipTest(words)
        self.assertEqual(got.returncode, 0, words)
        network = re.search(r"network between hosts: ofi \((.*)\)", words)
        self.assertIsNotNone(network, words)
        sent = {name: int(count) for name, count in re.findall(r"(?m)^(eth\d) sent (\d+)$", got.stdout)}
        return re.findall(r"tcp/(\w+)", network[1]), sent, words

    def test_all_are_used_but_those_that_do_not_reach_the_peer(self):
        # Sixteen MiB are put and sixteen are read by the other rank, of which each interface has a third.
        devices, sent, words = self.job()
        self.assertEqual(sorted(devices), ["eth0", "eth1", "eth2"])
        for name in devices:
            self.assertGreater(sent[name], 4 << 20, words)
        self.assertNotIn("leaves that device out", words)
        left_out = next(name for name in devices[1:] if name != "eth0")
        way = f"198.19.{left_out[-1]}.2"
        self.assertEqual(hosts_sh("exec", "h1", "ip", "route", "add", "unreachable", way).returncode, 0)
        self.addCleanup(hosts_sh, "exec", "h1", "ip", "route", "del", "unreachable", way)
        devices, sent, words = self.job()
        for name in devices:
            self.assertEqual(sent[name] > 4 << 20, name != left_out, words)
        self.assertRegex(words, rf"rank 0 cannot connect to rank 1 over tcp/{left_out} \(.*\), and leaves that device out")

    def test_those_beside_the_gpu_are_used(self):
        # A GPU under one switch with two of three interfaces, in files that lie over the hosts' own. The first one stays, as each has a network of its own.
        first, beside, elsewhere = self.job()[0]
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            switch = f"{folder}/pci0000:10/0000:10:01.0/0000:11:00.0"
            gpu = f"{switch}/0000:12:02.0/0000:15:00.0"
            places = {first: f"{switch}/0000:12:00.0/0000:13:00.0", beside: f"{switch}/0000:12:01.0/0000:14:00.0",
                      elsewhere: f"{folder}/pci0000:20/0000:20:01.0/0000:21:00.0"}
            for name, place in places.items():
                entry = f"{folder}/class/net/{name}"
                os.makedirs(place)
                os.makedirs(entry)
                os.symlink(place, f"{entry}/device")
                for known in ("speed", "statistics"):
                    os.symlink(f"/sys/devices/virtual/net/{name}/{known}", f"{entry}/{known}")
            os.makedirs(gpu)
            for file, line in {"class": "0x030200", "vendor": "0x10de", "numa_node": "-1"}.items():
                with open(f"{gpu}/{file}", "w", encoding="ascii") as out:
                    out.write(line + "\n")
            os.makedirs(f"{folder}/bus")
            os.symlink(gpu, f"{folder}/bus/0000:15:00.0")
            for host, (part, over) in itertools.product(("h1", "h2"), (("class", "/sys/class"), ("bus", "/sys/bus/pci/devices"))):
                self.assertEqual(hosts_sh("exec", host, "mount", "--bind", f"{folder}/{part}", over).returncode, 0)
                self.addCleanup(hosts_sh, "exec", host, "umount", over)
            devices, sent, words = self.job()
            self.assertEqual(devices, [first, beside], words)
            self.assertIn("; beside GPU 0000:15:00.0)", words)
            self.assertGreater(sent[beside], 4 << 20, words)
            self.assertLess(sent[elsewhere], 4 << 20, words)
            devices, sent, words = self.job(ATOLL_CUDA_DRIVER="none")
            self.assertEqual(devices, [first, beside, elsewhere], words)
            self.doCleanups()

    def test_one_is_used_where_one_is_named(self):
        devices, sent, words = self.job(ATOLL_NET_DEVICES="eth1")
        self.assertEqual(devices, ["eth1"])
        self.assertGreater(sent["eth1"], 32 << 20, words)
        self.assertLess(sent["eth0"] + sent["eth2"], 4 << 20, words)


class Cables(ThreeInterfaces, unittest.TestCase):
    """One of several cables of a host is out. Whichever it is, the job ends in time with one message, if it is used."""

    PROGRAM = "cluster_rails_program"

    def start(self, network):
        """A job of long transfers, and the interfaces of its hosts in the order of what they carry; eth0 also serves the launcher."""
        words = tempfile.TemporaryFile("w+")  # pylint: disable=consider-using-with
        self.addCleanup(words.close)
        job = subprocess.Popen([HOSTS_SH, "--set", SET, "run", "-n", "2", os.path.join(PROGRAMS, self.PROGRAM), "1000000", str(2 << 20)],
                               stdin=subprocess.DEVNULL, stdout=words, stderr=subprocess.STDOUT, start_new_session=True,
                               env={**os.environ, "ATOLL_TRANSPORTS": network, "ATOLL_HOST_TIMEOUT": "2"})

        self.addCleanup(kill_job, job, self.PROGRAM)
        before = self.sent()
        carried = dict.fromkeys(before, 0)
        deadline = time.monotonic() + PATIENCE
        while sum(carried.values()) < 64 << 20:
            self.assertIsNone(job.poll())
            self.assertLess(time.monotonic(), deadline, "nothing is sent")
            time.sleep(0.05)
            carried = {name: now - before[name] for name, now in self.sent().items()}
        time.sleep(0.3)  # keepers meet by further ways
        return job, words, sorted(carried, key=carried.get, reverse=True), carried

    @staticmethod
    def sent():
        names = [f"eth{k}" for k in range(3)]
        files = [f"/sys/class/net/{name}/statistics/tx_bytes" for name in names]
        return dict(zip(names, map(int, hosts_sh("exec", "h1", "cat", *files).stdout.split())))

    def cut(self, cable):
        def mend():
            self.assertEqual(hosts_sh("link", "--mend", cable).returncode, 0)

        self.assertEqual(hosts_sh("link", "--cut", cable).returncode, 0)
        self.addCleanup(mend)
        return mend

    def check_ended(self, begin, job, words, mend, expected):
        while processes_called(self.PROGRAM) or processes_called("atoll-keeper"):
            self.assertLess(time.monotonic(), begin + PATIENCE, "ranks or keepers are left")
            time.sleep(0.02)
        took = time.monotonic() - begin
        mend()  # what somebody who was alone has said comes now
        self.assertNotEqual(job.wait(PATIENCE), 0)
        words.seek(0)
        said = [line for line in words.read().splitlines() if line.startswith("atoll: ")]
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], expected)
        self.assertGreater(took, 1)

    def link_is_lost(self, name):
        return rf"host h[12]: the link {name} between hosts h(1 \(rank 0\) and h2|2 \(rank 1\) and h1) \(rank [01]\) is lost: nothing has come over it"

    def test_each_that_long_transfers_use(self):
        for which in ("first", "further"):
            with self.subTest(which=which):
                job, words, names, carried = self.start("ofi")
                self.assertGreater(min(carried.values()), 4 << 20, carried)
                name = "eth0" if which == "first" else next(name for name in names if name != "eth0")
                begin = time.monotonic()
                mend = self.cut(f"h2:{name}")
                self.check_ended(begin, job, words, mend, self.link_is_lost(name))
                self.doCleanups()

    def test_one_from_the_start(self):
        """Its system finds nobody after 3 s. Networks that choose that cable try again, until it is back or for as long as they are told to."""
        mend = self.cut("h2:eth1")
        begin = time.monotonic()
        got = self.short_job(2)
        if got.returncode != 0:
            self.assertLess(time.monotonic() - begin, PATIENCE)
            said = [line for line in (got.stdout + got.stderr).splitlines() if line.startswith("atoll: ")]
            self.assertGreaterEqual(len(said), 1, got.stdout + got.stderr)
            self.assertRegex(said[0], r"rank [01] of 2 \(h[12]\): network: rank [01] cannot be reached over the network ucx: .*Is a cable out")
            back = threading.Timer(4, mend)
            back.start()
            self.addCleanup(back.join)
            got = self.short_job(10)
            self.assertEqual(got.returncode, 0, got.stdout)

    def short_job(self, seconds, **more):
        return hosts_sh("run", "-n", 2, os.path.join(PROGRAMS, self.PROGRAM), 16, 1 << 20, ATOLL_TRANSPORTS="ucx", ATOLL_HOST_TIMEOUT=str(seconds), **more)

    def test_one_with_ipv6_alone_is_used_where_it_is_named(self):
        # Beside others UCX ends both hosts if it takes such a one on one of them, which depends on the order in which the system lists them.
        def address(host, number, back):
            ways = [f"ip addr flush dev eth1; sysctl -qw net.ipv6.conf.eth1.disable_ipv6={1 if back else 0}",
                    f"ip addr add 198.19.1.{number}/24 dev eth1" if back else f"ip addr add fd00::{number}/64 dev eth1 nodad"]
            done = hosts_sh("exec", host, "sh", "-c", "; ".join(ways))
            self.assertEqual(done.returncode, 0, done.stderr)

        for number, host in enumerate(("h1", "h2"), 1):
            self.addCleanup(address, host, number, True)
            address(host, number, False)
        for named, used in ((None, "tcp/eth0, tcp/eth2, tcp/lo"), ("eth1", "tcp/eth1"), ("eth1,eth2", "tcp/eth2")):
            got = self.short_job(10, UPCXX_VERBOSE="1", **({"ATOLL_NET_DEVICES": named} if named else {}))
            words = got.stdout + got.stderr
            self.assertEqual(got.returncode, 0, words)
            self.assertRegex(words, rf"network between hosts: ucx \(libucp [0-9.]+: {used}\)")

    @unittest.skipUnless(WHOLE, "for scripts/clusters.sh")
    def test_all_of_a_host(self):
        job, words, _, _ = self.start("ofi")
        begin = time.monotonic()
        self.check_ended(begin, job, words, self.cut("h2"), r"host h1: host h2 \(rank 1\) is lost: nothing has been heard of it")

    @unittest.skipUnless(WHOLE, "for scripts/clusters.sh")
    def test_the_one_that_is_used_and_one_that_is_not(self):
        job, words, names, carried = self.start("ucx")
        used, unused = names[0], next(name for name in names[1:] if name != "eth0")
        self.assertLess(carried[unused], 1 << 20, carried)
        mend = self.cut(f"h2:{unused}")
        time.sleep(2)  # ATOLL_HOST_TIMEOUT
        self.assertIsNone(job.poll())
        before = self.sent()[used]
        time.sleep(0.2)
        self.assertGreater(self.sent()[used], before, "the job stands still")
        mend()
        begin = time.monotonic()
        self.check_ended(begin, job, words, self.cut(f"h2:{used}"), self.link_is_lost(used))


class Ucx(Network, unittest.TestCase):
    NAME = "ucx"
    LIBRARY = "libucp"

    def test_more_hosts_and_ranks_dealt_out_in_turn(self):
        self.check("mpirun", ["multirank.collectives"], "-n", 4, "--hosts", 4)
        self.check("mpirun", ["multirank.collectives"], "-n", 6, "--hosts", 3, "--by-node")

    def test_hydra(self):
        self.check("hydra", ["multirank.rpc", "multirank.atomics"], "-n", 4, "--hosts", 2)

    def test_interfaces_that_lead_nowhere(self):
        got = hosts_sh("run", "-n", 6, "--hosts", 3, os.path.join(PROGRAMS, "cluster_traffic_program"), ATOLL_TRANSPORTS="ucx", ATOLL_NET_DEVICES="lo",
                       ATOLL_HOST_TIMEOUT="3")
        if got.returncode == 77:
            self.skipTest(got.stderr)
        self.assertNotEqual(got.returncode, 0, got.stdout)
        self.assertEqual(got.stderr.count("cannot be reached over the network ucx"), 1, got.stderr)
        # UCX has words for each attempt: there are not many.
        self.assertLess(got.stderr.count("no active messages transport"), 150, got.stderr)


class Agreement(unittest.TestCase):
    """Hosts of which one lacks the first network."""

    def job(self, **environment):
        program = os.path.join(PROGRAMS, "multirank.rpc")
        lacking = f"[ $(uname -n) != h2 ] || export ATOLL_UCX_LIBRARY=/nowhere/libucp.so; exec {program} --gtest_filter=rpc.*"
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            got = hosts_sh("run", "-n", 4, "--hosts", 2, "sh", "-c", lacking, ATOLL_TEST_SOCKETS=folder,
                           UPCXX_SHARED_HEAP_SIZE="64M", UPCXX_VERBOSE="1", **environment)
        if got.returncode == 77:
            self.skipTest(got.stderr)
        return got

    def test_all_use_what_all_have(self):
        got = self.job()
        words = got.stdout + got.stderr
        self.assertEqual(got.returncode, 0, words)
        self.assertIn("network between hosts: ofi", words)
        self.assertRegex(words, r"between hosts the job uses ofi, .*: ucx: not on rank 2 of 4 \(h2\): /nowhere/libucp.so")

    def test_where_all_have_none_the_job_ends_with_words(self):
        got = self.job(ATOLL_TRANSPORTS="ucx")
        self.assertNotEqual(got.returncode, 0, got.stdout)
        self.assertEqual(got.stderr.count("no network can be used by all ranks: ucx: not on rank 2 of 4 (h2): /nowhere"), 1, got.stderr)

    def test_a_host_whose_name_is_too_long_for_ucx(self):
        self.assertEqual(hosts_sh("exec", "h2", "hostname", "h" * 64).returncode, 0)
        self.addCleanup(hosts_sh, "exec", "h2", "hostname", "h2")
        got = hosts_sh("run", "-n", 2, "--hosts", 2, os.path.join(PROGRAMS, "cluster_traffic_program"), UPCXX_VERBOSE="1")
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        self.assertRegex(got.stderr, r"between hosts the job uses ofi, .*: ucx: not on rank 1 of 2 \(h{64}\): this host's name has 64 characters")

    def test_settings_of_a_job_are_those_of_the_first_rank(self):
        # As with mpirun where a variable is in the environment of one host only.
        program = os.path.join(PROGRAMS, "multirank.rpc")
        for name, value in (("ATOLL_HOST_TIMEOUT", "0"), ("ATOLL_BUNDLES_BY_HOST", "yes")):
            for host in ("h1", "h2"):
                with self.subTest(name=name, host=host), tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
                    differing = f"[ $(uname -n) != {host} ] || export {name}={value}; exec {program} --gtest_filter=rpc_flood*"
                    got = hosts_sh("run", "-n", 4, "--hosts", 2, "sh", "-c", differing, ATOLL_TEST_SOCKETS=folder, UPCXX_SHARED_HEAP_SIZE="64M")
                    self.assertEqual(got.returncode, 0, got.stdout + got.stderr)

    def test_hosts_whose_packets_are_dropped(self):
        # As a firewall does that answers nothing: what they send goes to an address of hardware that nobody has.
        for host, other in (("h1", "198.18.0.2"), ("h2", "198.18.0.1")):
            nowhere = ("ip", "neigh", "replace", other, "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent")
            self.assertEqual(hosts_sh("exec", host, *nowhere).returncode, 0)
            self.addCleanup(hosts_sh, "exec", host, "ip", "neigh", "del", other, "dev", "eth0")
        for network in ("ucx", "ofi"):
            with self.subTest(network=network):
                begin = time.monotonic()
                got = hosts_sh("run", "-n", 2, "--hosts", 2, os.path.join(PROGRAMS, "cluster_traffic_program"), ATOLL_TRANSPORTS=network, ATOLL_HOST_TIMEOUT="3")
                self.assertNotEqual(got.returncode, 0, got.stdout)
                self.assertLess(time.monotonic() - begin, 30)
                self.assertRegex(got.stderr, rf"rank [01] cannot be reached over the network {network}: for \d+\.\d s nobody has answered "
                                             r"the call from 198\.18\.0\.(1 to 198\.18\.0\.2|2 to 198\.18\.0\.1) port \d+, which was not refused either")
                self.assertEqual(len(re.findall("(?m)^atoll: ", got.stderr)), 1, got.stderr)

    def test_info_says_what_pairs_use(self):
        library = re.search(r"libucp\.so\.0 .*=> (\S+)", subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout)[1]
        self.assertEqual(hosts_sh("exec", "h2", "mount", "--bind", "/dev/null", library).returncode, 0)
        self.addCleanup(hosts_sh, "exec", "h2", "umount", library)
        out, errors = start_atoll("info", "--hosts", "h1,h2,h3").communicate(timeout=PATIENCE)
        if "is installed" in errors:
            self.skipTest(errors)
        self.assertRegex(out, r"\n  h2 +ucx  cannot be used: .*libucp")
        self.assertRegex(out, r"\n  h\[1,3\] with each other +ucx\n  h\[1,3\] with h2 +ofi \(not ucx: h2 lacks it\)\n")
        self.assertTrue(out.endswith("on all of them: ofi (not ucx: h2 lacks it)\n"), out + errors)


class BadLink(unittest.TestCase):
    """Frames between hosts come late, get lost, overtake each other, and stay out for a while. What sends much is scripts/clusters.sh's."""

    CHEAP = "--gtest_filter=-*size_test*:*of_every_size*:*chain_of*:*rpc_view*:rpc_flood*:*halos*"

    def link(self, *words):
        made = hosts_sh("link", *words)
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        return made.stdout

    def check(self, network, programs):
        self.addCleanup(self.link, "--plain")
        self.link("--delay", "200us", "--loss", "0.2%", "--reorder", "1%")
        network.check(network(), "mpirun", [f"multirank.{name}" for name in programs], "-n", 4, "--hosts", 2, arguments=[self.CHEAP])
        said = self.link()
        if "forwarder:" in said:
            self.assertRegex(said, r"[1-9]\d* lost, [1-9]\d* overtaking, 0 not taken in time, 0 refused")

    def test_ucx(self):
        self.check(Ucx, ("rma", "rpc", "collectives"))

    def test_ofi(self):
        self.check(Ofi, ("rma", "rpc"))

    def start_traffic(self, *options, **environment):
        """A job that talks all the time, until a file is there; and what gives its words."""
        folder = tempfile.TemporaryDirectory(dir="/var/tmp")  # pylint: disable=consider-using-with
        out = tempfile.TemporaryFile("w+")  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.addCleanup(out.close)
        stop = os.path.join(folder.name, "stop")
        job = subprocess.Popen([HOSTS_SH, "--set", SET, "run", *map(str, options), os.path.join(PROGRAMS, "cluster_traffic_program"), stop],
                               stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                               env={**os.environ, **environment})
        self.addCleanup(lambda: job.poll() is None and os.killpg(job.pid, signal.SIGKILL))

        def words():
            out.seek(0)
            return out.read()

        return job, stop, words

    def wait_for_rounds(self, job, words, enough):
        deadline = time.monotonic() + PATIENCE
        while words().count("round ") < enough:
            self.assertIsNone(job.poll(), words())
            self.assertLess(time.monotonic(), deadline, "the job stands still")
            time.sleep(0.01)

    def cut(self, host):
        self.addCleanup(self.link, "--mend", host)
        self.link("--cut", host)

    def test_a_cable_that_is_back_in_time(self):
        job, stop, words = self.start_traffic("-n", 4, "--hosts", 2)
        self.wait_for_rounds(job, words, 10)
        self.cut("h2")
        time.sleep(1)  # of which TCP makes repetitions
        at_most = words().count("round ")
        time.sleep(0.2)
        self.assertEqual(words().count("round "), at_most, "nothing was cut")
        self.link("--mend", "h2")
        self.wait_for_rounds(job, words, at_most + 10)
        with open(stop, "w", encoding="utf-8"):
            pass
        self.assertEqual(job.wait(PATIENCE), 0)

    def test_a_cable_that_stays_out_is_told_of_once(self):
        # Ranks that are ended lose each other, and h2, which finds itself alone, is heard when the cable is back.
        job, _, words = self.start_traffic("-n", HOSTS, ATOLL_HOST_TIMEOUT="3")
        self.wait_for_rounds(job, words, 10)
        self.cut("h2")
        deadline = time.monotonic() + PATIENCE
        while processes_called("cluster_traffic_program") or processes_called("atoll-keeper"):
            self.assertLess(time.monotonic(), deadline, "ranks or keepers are left")
            time.sleep(0.01)
        self.link("--mend", "h2")
        self.assertNotEqual(job.wait(PATIENCE), 0)
        said = [line for line in words().splitlines() if line.startswith("atoll: ")]
        self.assertEqual(len(said), 1, words())
        self.assertRegex(said[0], r"host h1: host h2 \(rank 1\) is lost: .* ATOLL_HOST_TIMEOUT \(now 3 s\) waits longer")


class ManyRanks(unittest.TestCase):
    """What a rank keeps does not grow with the ranks of the job."""

    def memory(self, network, ranks):
        """KiB that each has for itself, on four hosts."""
        got = hosts_sh("run", "-n", ranks, os.path.join(PROGRAMS, "cluster_memory_program"), ATOLL_TRANSPORTS=network)
        if got.returncode == 77:
            self.skipTest(got.stderr)
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        found = re.search(rf"{ranks} ranks, {ranks // 4} on a host: (\d+) KiB each", got.stdout)
        self.assertIsNotNone(found, got.stdout + got.stderr)
        return int(found[1])

    def test_memory(self):
        for network in ("ucx", "ofi"):
            with self.subTest(network=network):
                few, many = self.memory(network, 4), self.memory(network, 64)
                print(f"{network}: private memory of a rank: {few} KiB of 4, {many} of 64, on 4 hosts")
                self.assertLess(many, few + 512)


class Mixed(unittest.TestCase):
    """A program that uses MPI and Atoll, whose ranks are the same."""

    def check(self, network, order, *options):
        got = hosts_sh("run", *options, os.path.join(PROGRAMS, "coexistence.mpi"), order, ATOLL_TRANSPORTS=network)
        if got.returncode == 77:
            self.skipTest(got.stderr)
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        ranks = options[1]
        self.assertIn(f"{ranks} ranks, MPI has {ranks}: all well", got.stdout)

    def test_by_block(self):
        self.check("ucx", "mpi-first", "-n", 4, "--hosts", 2)

    def test_by_node(self):
        self.check("ofi", "mpi-last", "-n", 4, "--hosts", 2, "--by-node")

    def test_where_some_meet_others_early(self):
        # A rank of four hosts passes a barrier before its own connections stand, now and then.
        self.check("ucx", "mpi-first", "-n", 8, "--by-node")


if __name__ == "__main__":
    HOSTS_SH, PROGRAMS = (os.path.abspath(path) for path in sys.argv[1:3])
    try:
        result = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False).result
    finally:
        hosts_sh("down")
    skipped = len(result.skipped)
    if result.wasSuccessful() and (result.testsRun == 0 or skipped >= result.testsRun):
        print(f"skipped: {'; '.join({words for _, words in result.skipped})}")
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
