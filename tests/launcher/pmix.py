"""Under Open MPI's mpirun."""

import os
import shutil
import subprocess

from support import ATOLL, LauncherTest, PATIENCE, processes_marked, PROGRAM


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
        self.wait_for(lambda: not processes_marked(self.mark), "no process is left")

    def mpi(self, ranks, *words):
        command = [self.mpirun, "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), *words]
        return subprocess.run(command, text=True, capture_output=True, timeout=PATIENCE, env=self.environment(),
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
        got = subprocess.run([hydra, "-n", "3", program, "mpi-first"], text=True, capture_output=True, timeout=PATIENCE, env=self.environment(),
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

    def test_a_program_started_by_a_rank_is_a_job_of_its_own(self):
        hydra = shutil.which("mpiexec.hydra")
        for start in [[self.mpirun, "--allow-run-as-root", "--oversubscribe"]] + [[hydra]] * bool(hydra):
            got = subprocess.run([*start, "-n", "2", PROGRAM, "child-is-solo"], text=True, capture_output=True, timeout=60, env=self.environment(),
                                 stdin=subprocess.DEVNULL, check=False)
            self.assertEqual((got.returncode, got.stdout), (0, "rank 0 of 1 local 0 of 1 host 0 of 1\n"), got)
            # Who asks for ranks without a launcher means programs that nobody has started as a rank.
            got = subprocess.run([*start, "-n", "1", PROGRAM, "child", f"{PROGRAM} ranks"], text=True, capture_output=True, timeout=60,
                                 env=self.environment() | {"GASNET_PSHM_NODES": "3"}, stdin=subprocess.DEVNULL, check=False)
            self.assertEqual((got.returncode, got.stdout.count("rank 0 of 1 ")), (0, 1), got)
        # And one that a rank starts by a launcher is that one's.
        for launcher in [f"{ATOLL} run"] + [hydra] * bool(hydra):
            got = self.mpi(1, PROGRAM, "child", f"{launcher} -n 2 {PROGRAM} ranks")
            self.assertEqual(got.returncode, 0, got)
            self.assertIn("rank 1 of 2 ", got.stdout)

    def test_mpirun_under_atoll_run_is_the_inner_launcher(self):
        got = self.run_job("-n", 1, self.mpirun, "--allow-run-as-root", "--oversubscribe", "-n", 2, PROGRAM, "exchange")
        self.assertEqual(got.status, 0, got)
        self.assertIn("exchange ok 1 of 2 by pmix", got.out)
