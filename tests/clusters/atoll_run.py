"""`atoll run` on several hosts."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support import LINE, PATIENCE, PROGRAMS, Patient, connections_of, hosts_sh, processes_called, start_atoll


class AtollRun(Patient, unittest.TestCase):
    """`atoll run --hosts` by the launchers that are installed."""

    PROGRAM = "cluster_bootstrap_program"

    def start(self, launcher, *words, **more):
        return start_atoll("run", *(("--launcher", launcher) if launcher else ()), *words, **more)

    def run_job(self, launcher, *words, status=0, **more):
        job = self.start(launcher, *words, **more)
        out, errors = self.end_of(job)
        self.assertEqual(job.returncode, status, out + errors)
        return out, errors

    def end_of(self, job):
        """What it says until it ends; skips where there is no such launcher."""
        out, errors = job.communicate(timeout=PATIENCE)
        if "is not installed" in errors:
            self.skipTest(errors)
        return out, errors

    @staticmethod
    def slurm_runs():
        slurm = hosts_sh("slurm")
        if slurm.returncode not in (0, 77):
            raise AssertionError(slurm.stderr)
        return slurm.returncode == 0

    def launchers(self):
        """All; in continuous integration, which has little time, one for each test, in turn."""
        found = ["mpirun", "hydra"] + ["srun"] * self.slurm_runs()
        if not os.environ.get("CI"):
            return found
        tests = unittest.TestLoader().getTestCaseNames(type(self))
        return [found[tests.index(self._testMethodName) % len(found)]]

    def program(self):
        return os.path.join(PROGRAMS, self.PROGRAM)

    def check_nothing_left(self):
        self.wait("processes are left", lambda: not (processes_called(self.PROGRAM) or processes_called("atoll-keeper")))

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
        if not self.slurm_runs():
            self.skipTest("Slurm does not run here")
        with tempfile.TemporaryDirectory(dir=PROGRAMS) as folder:
            out, errors = self.run_job("", "-n", 4, self.program(), "check", folder, 1, by=("salloc", "-Q", "-N", "2"))
            self.assertIn("srun", errors)
            self.assertEqual(len({m[8] for m in LINE.finditer(out)}), 2)

    def test_ranks_get_their_variables_in_an_allocation_that_exports_none(self):
        # As in a script that was sent with `sbatch --export=NONE`.
        if not self.slurm_runs():
            self.skipTest("Slurm does not run here")
        out, _ = self.run_job("", "-n", 2, "-E", "ATOLL_MY=it", "sh", "-c", "echo $ATOLL_MY has come",
                              by=("SLURM_EXPORT_ENV=NONE", "salloc", "-Q", "-N", "2"))
        self.assertEqual(out, "it has come\n" * 2)

    def test_ranks_start_in_the_folder_and_with_the_variables_of_whoever_starts_them(self):
        # What launchers call on hosts, ssh or the like, begins elsewhere and with nothing of that.
        for launcher in self.launchers():
            with self.subTest(launcher=launcher), tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
                where = ("--hosts", "h1,h2", "-n", 2)
                out, _ = self.run_job(launcher, *where, "-E", "MINE=a b", "-E", "THEIRS", "sh", "-c", 'echo "$MINE, $THEIRS, in $(pwd)"',
                                      by=("THEIRS=c  d",), folder=folder)
                self.assertEqual(out, f"a b, c  d, in {folder}\n" * 2)
                out, _ = self.run_job(launcher, *where, f"./{self.PROGRAM}", "check", folder, 1, folder=PROGRAMS)
                self.assertEqual(sorted(m[8] for m in LINE.finditer(out)), ["h1", "h2"])

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
                    out, errors = self.end_of(job)
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
                self.wait("keepers are there", lambda: len(processes_called("atoll-keeper")) >= 2, job)
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

    def test_a_host_that_is_cut_off(self):
        # The launchers wait for it.
        for launcher in self.launchers():
            with self.subTest(launcher=launcher), contextlib.ExitStack() as after:
                agents = len(processes_called("nsenter"))  # what Slurm's daemons are started by
                job = self.start(launcher, "--hosts", "h1,h2,h3", "-n", 6, self.program(), "wait", -1)
                self.wait("all have started", lambda: job.poll() is not None or (
                    len(processes_called(self.PROGRAM)) == 6 and all(connections_of(keeper) >= 2 for keeper in processes_called("atoll-keeper"))))
                time.sleep(0.5)  # keepers make sure of each other
                after.callback(hosts_sh, "link", "--mend", "h2")
                self.assertEqual(hosts_sh("link", "--cut", "h2").returncode, 0)
                out, errors = self.end_of(job)
                self.assertEqual(job.returncode, 1, out + errors)
                told = re.findall(r"(?m)^atoll: .*", errors)
                self.assertEqual(len(told), 1, errors)
                self.assertRegex(told[0], r"^atoll: host h1: host h2 \(ranks 2 to 3\) is lost: nothing has been heard of it for 2\.1 s")
                self.assertNotIn("Segmentation fault", errors)
                self.check_nothing_left()
                # What is to reach that host, and what waits there until it is heard of again.
                self.assertEqual(len(processes_called("nsenter")), agents)
                self.assertEqual(hosts_sh("link", "--mend", "h2").returncode, 0)
                self.wait("daemons are left", lambda: not any(map(processes_called, ("orted", "hydra_pmi_proxy", "slurmstepd"))))

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
                self.wait("ranks are there", lambda: len(processes_called(self.PROGRAM)) == 4, job)
                os.kill(next(p for p in processes_called("atoll")), signal.SIGTERM)
                job.communicate(timeout=PATIENCE)
                self.assertEqual(job.returncode, 128 + signal.SIGTERM)
                self.check_nothing_left()
