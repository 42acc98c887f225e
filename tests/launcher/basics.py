"""What every job has: ranks that know each other, descriptors, hosts that are simulated, cores."""

import os
import shlex
import shutil
import signal
import subprocess
import sys

from support import ATOLL, forbid_memfd_create, LauncherTest, PATIENCE, PROGRAM

# Closes descriptors that are not its standard ones.
WRAPPER = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"


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
        got = self.run_job("-n", 3, sys.executable, "-c", WRAPPER, PROGRAM, "exchange")
        self.assertEqual(got.status, 0, got)
        self.assertIn("exchange ok 2 of 3 by local", got.out)

    def test_ranks_that_cannot_reach_their_launcher_say_so_once(self):
        got = self.run_job("-n", 3, *self.unshared("-rpf", "--mount-proc"), sys.executable, "-c", WRAPPER, PROGRAM, "exchange")
        self.assertEqual((got.status, got.out), (0, "exchange ok 0 of 1 by solo\n" * 3), got)
        self.assertRegex(got.err, r"\Aatoll: pid \d+ .*ATOLL_JOB is gone or out of reach, so this process is a job of one rank.*\n\Z")

    def test_shell_wrappers_may_run_programs_one_after_the_other(self):
        got = self.run_job("-n", 2, "sh", "-c", f"'{PROGRAM}' ranks && '{PROGRAM}' exchange")
        self.assertEqual(got.status, 0, got)
        self.assertEqual(len(got.out.splitlines()), 4)

    def test_a_program_started_by_a_rank_is_a_job_of_its_own(self):
        got = self.run_job("-n", 2, PROGRAM, "child-is-solo")
        self.assertEqual(got.status, 0, got)
        self.assertEqual(got.out, "rank 0 of 1 local 0 of 1 host 0 of 1\n")

    def test_so_is_one_in_a_process_namespace_of_its_own(self):
        # There the number of the rank means another process, or none.
        around = ("unshare", "-rpf")
        if subprocess.run([*around, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("no process namespaces here")
        got = self.run_job("-n", 2, PROGRAM, "child-is-solo", " ".join(around))
        self.assertEqual(got.status, 0, got)
        self.assertEqual(got.out, "rank 0 of 1 local 0 of 1 host 0 of 1\n")

    def test_programs_that_never_initialise_are_no_failure(self):
        got = self.run_job("-n", 3, PROGRAM, "plain")
        self.assertEqual((got.status, got.out, got.err), (0, "plain program\n" * 3, ""))

    def test_a_rank_that_ends_before_it_initialises_is_missed(self):
        # The others would wait for it for ever: at their first init, and at a further one.
        for missing in (f"[ $ATOLL_RANK = 1 ] || exec '{PROGRAM}' ranks", f"'{PROGRAM}' ranks && [ $ATOLL_RANK = 1 ] || exec '{PROGRAM}' ranks"):
            with self.subTest(missing=missing):
                got = self.run_job("-n", 3, "sh", "-c", missing)
                self.assertEqual(got.status, 1, got)
                self.assertRegex(got.err, r"rank 1 of 3 on .* has ended with status 0, and others wait for it in upcxx::init\(\)")

    def test_a_program_that_a_wrapper_leaves_behind_is_waited_for(self):
        slow = f"[ $ATOLL_RANK = 1 ] || exec '{PROGRAM}' ranks; (sleep 1.5; exec '{PROGRAM}' ranks) & exit 0"
        got = self.run_job("-n", 3, "sh", "-c", slow)
        self.assertEqual(got.status, 0, got)
        self.assertEqual(len(got.out.splitlines()), 3, got)

    def test_children_of_a_shell_that_becomes_the_launcher_live_on(self):
        script = f"sleep 600 > /dev/null & echo $!; exec {ATOLL} run -n 2 {PROGRAM} ranks"
        got = subprocess.run(["bash", "-c", script], text=True, stdout=subprocess.PIPE, timeout=60, env=self.environment(), stdin=subprocess.DEVNULL, check=False)
        self.assertEqual((got.returncode, got.stdout.count("rank ")), (0, 2), got)
        os.kill(int(got.stdout.split()[0]), signal.SIGKILL)  # which is still there

    def test_without_a_launcher_where_ends_of_children_are_ignored(self):
        # As whoever has started the program may do: the system then waits for them by itself.
        for start in (lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN), None):
            got = subprocess.run([PROGRAM, "ranks"], env=self.environment(GASNET_PSHM_NODES="3"), preexec_fn=start, text=True, capture_output=True,
                                 timeout=PATIENCE, check=False)
            self.assertEqual((got.returncode, len(got.stdout.splitlines())), (0, 3), got)

    def test_without_a_launcher_a_rank_that_has_ended_is_missed(self):
        got = subprocess.run([PROGRAM, "left-alone", "0"], env=self.environment(GASNET_PSHM_NODES="2"), text=True, capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual((got.returncode, got.stdout, got.stderr),
                         (1, "", "atoll: rank 1 has ended, and others wait for it in upcxx::init(); the job ends\n"))

    def test_launchers_can_be_nested(self):
        got = self.run_job("-n", 2, ATOLL, "run", "-n", 3, PROGRAM, "exchange")
        self.assertEqual(got.status, 0, got)
        self.assertEqual(got.out.count("of 3 by local"), 6)

    def test_program_in_the_current_directory_is_found(self):
        folder, name = os.path.split(PROGRAM)
        got = self.run_job("-n", 1, name, "ranks", cwd=folder)
        self.assertEqual(got.status, 0, got)

    def test_words_of_the_program_arrive_as_they_are(self):
        words = ["[1,2]", "[]", "[a b]", "-n", "--", "{x,y}", "", "--help", "a=[1,2]"]
        got = self.run_job("-n", 1, "printf", "<%s>\n", *words)
        self.assertEqual((got.status, got.out), (0, "".join(f"<{word}>\n" for word in words)), got)
        shown = self.run_job("-n", 1, "--show", "printf", *words)
        self.assertEqual(shlex.split(shown.out)[-len(words):], words, shown)

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
        self.skipTest("other jobs have had the cores all the time")

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
