"""Jobs by launchers that scripts/hosts.sh calls."""

import os
import re
import tempfile
import time
import unittest

from support import LINE, PROGRAMS, Patient, hosts_sh, processes_called


class LauncherTest(Patient, unittest.TestCase):
    """What all launchers have to do; those derived say how."""

    LAUNCHER = ("mpirun",)
    BOOTSTRAP = "pmix"
    UNEVEN = True
    NAMES = "atoll: host h1: rank "  # who names a rank that was killed
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

    def ends(self, *words, ranks=4, status=None, said="rank 1 on h2 ends"):
        got = self.job("-n", ranks, self.program(), *words)
        self.assertNotEqual(got.returncode, 0, got)
        self.assertIn(said, got.stderr)
        if status is not None:
            self.assertEqual(got.returncode, status, got)
        self.wait("ranks are left", lambda: not processes_called(self.PROGRAM))
        return got

    def test_abort_ends_all_hosts(self):
        self.ends("abort", 1, 9)

    def test_exit_without_finalize_ends_all_hosts(self):
        got = self.ends("exit", 1, 5)
        self.assertIn("exits with status 5 without upcxx::finalize()", got.stderr)
        self.assertIn("this is why", got.stdout)
        self.ends("exit", 1, 0)

    def test_of_all_that_exit_without_finalize_one_says_so(self):
        got = self.job("-n", 4, "--hosts", 2, self.program(), "exit", -1, 5)
        self.assertNotEqual(got.returncode, 0, got)
        self.assertEqual(got.stderr.count("exits with status 5 without upcxx::finalize()"), 1, got.stderr)

    def test_a_mistake_ends_the_job_also_where_the_program_answers_abort_with_exit(self):
        for who in (1, -1):
            with self.subTest(who=who):
                got = self.job("-n", 4, "--hosts", 2, os.path.join(PROGRAMS, "cluster_mistake_program"), who, UPCXX_SHARED_HEAP_SIZE="16M")
                self.assertNotEqual(got.returncode, 0, got)
                self.assertEqual(got.stderr.count("the target is rank 9"), 1, got.stderr)
                self.wait("ranks are left", lambda: not processes_called("cluster_mistake_program"))

    def check_named_once(self, ranks, seconds):
        # It has no word of its own.
        victim = ranks // 2 - 1
        got = self.ends("kill", victim, seconds, ranks=ranks, said=self.NAMES)
        self.assertEqual(len(re.findall(rf"(?m)^.*\brank {victim}\b.*\bh2\b", got.stderr)), 1, got.stderr)

    def test_a_rank_that_is_killed_on_another_host_is_named_once(self):
        # Alone on its host before keepers meet, and beside another one, which is ended at once or later.
        for ranks, seconds in ((4, 0), (8, 1)):
            with self.subTest(ranks=ranks):
                self.check_named_once(ranks, seconds)

    def check_missed(self):
        """A rank that ends well before the others meet: launchers would wait for it."""
        script = f"[ ${{PMIX_RANK:-$PMI_RANK}} = 1 ] || exec {self.program()} wait -1"
        got = self.job("-n", 4, "--hosts", 2, "sh", "-c", script)
        self.assertNotEqual(got.returncode, 0, got)
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
    NAMES = "mpirun noticed that process rank "

    def test_a_rank_that_is_killed_is_named_once_where_others_are_given_time(self):
        self.LAUNCHER = ("mpirun",)
        self.check_named_once(8, 0)


class Hydra(LauncherTest):
    """MPICH's mpiexec: PMI-1."""

    LAUNCHER = ("hydra",)
    BOOTSTRAP = "pmi"

    def test_a_rank_that_ends_before_it_joins_is_missed(self):
        got = self.check_missed()
        self.assertEqual(re.findall(r"atoll: .*", got.stderr),
                         ["atoll: rank 0 of 4 (h1): bootstrap: rank 1, of this host, has ended without having come to upcxx::init(), "
                          "in which the others wait; the job ends"])

    def test_ranks_of_a_host_in_networks_of_their_own(self):
        with tempfile.TemporaryDirectory(dir=PROGRAMS) as folder:
            got = self.job("-n", 3, "--hosts", 1, "unshare", "-n", self.program(), "check", folder)
        self.assertEqual((got.returncode, got.stdout.count("all well")), (0, 3), got)

    def test_a_host_that_a_rank_has_left_without_a_word_is_not_lost(self):
        # Hydra then kills the groups of that host's ranks at once.
        got = self.job("-n", 4, "--hosts", 2, self.program(), "leave", 3)
        self.assertNotEqual(got.returncode, 0, got)
        self.assertEqual(re.findall(r"atoll: .*", got.stderr),
                         ["atoll: host h1: rank 3 on host h2 has ended without upcxx::finalize(), killed perhaps; the job ends"])

    def test_ranks_are_those_of_mpi(self):
        # On one host: between several, MPICH 4.0.2 over UCX 1.13 hangs in MPI_Finalize now and then, unless all ranks have talked to each other.
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
        self.ends("kill", 1, said="rank 1 on host h2 has ended without upcxx::finalize()")
        self.assertLess(time.monotonic() - begin, 25)

    def test_a_rank_that_is_killed_on_a_single_host(self):
        # With PMI-2 srun would wait for the other one for ever.
        got = self.job("-n", 2, "--hosts", 1, self.program(), "kill", 1)
        self.assertNotEqual(got.returncode, 0, got)


class SlurmPmix(Slurm):
    """srun --mpi=pmix."""

    LAUNCHER = ("srun", "--launcher-option", "--mpi=pmix")

    def test_tasks_that_cannot_meet_are_told_what_to_write(self):
        # As `srun` without --mpi starts them where nobody has set MpiDefault.
        for options in ((), ("--launcher-option", "--mpi=none")):
            got = hosts_sh("run", "--launcher", "srun", *options, "-n", 4, self.program(), "check", "/tmp", 1)
            self.assertNotEqual(got.returncode, 0, got)
            self.assertEqual(len(re.findall(r"Slurm's srun started this process as one of 4 tasks .*Write `srun --mpi=pmix -n 4 PROGRAM`", got.stderr)), 1, got.stderr)
            self.assertEqual(sorted(re.findall(r"started by Slurm's srun as task (\d)", got.stderr)), ["1", "2", "3"], got.stderr)


class SlurmPmi2(Slurm):
    """srun --mpi=pmi2."""

    LAUNCHER = ("srun", "--launcher-option", "--mpi=pmi2")
    BOOTSTRAP = "pmi"
