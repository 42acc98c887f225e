"""Ranks that die, exit, throw, hang: what is said, and that nothing is left."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support import ATOLL, CRASH_LINE, LauncherTest, PATIENCE, PROGRAM, SANITIZED, watched_by


class Failures(LauncherTest):
    def assert_failure(self, got, status, *patterns):
        self.assertEqual(got.status, status, got)
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

    def test_failing_checks_of_forked_children_are_not_the_ranks(self):
        got = self.run_job("-n", 2, PROGRAM, "failing-checks")
        self.assertEqual(got.status, 0, got)
        self.assertNotIn("atoll run", got.err)
        for words in ("a child is mistaken", "a child is lost"):
            self.assertEqual(got.err.count(words), 2, got)

    def test_of_ranks_that_fail_together_one_says_so_whoever_has_started_them(self):
        alone = subprocess.run([PROGRAM, "failing-checks", "1"], env=self.environment(GASNET_PSHM_NODES="4"), text=True, capture_output=True,
                               timeout=PATIENCE, check=False)
        launched = self.run_job("-n", 4, PROGRAM, "failing-checks", 1)
        for status, err in ((alone.returncode, alone.stderr), (launched.status, launched.err)):
            self.assertEqual((status, err.count("a child is mistaken"), err.count("a rank is mistaken")), (128 + signal.SIGABRT, 4, 1), err)

    def test_kill_9_of_a_rank(self):
        process, pids = self.start_hanging(4)
        os.kill(pids[2], signal.SIGKILL)
        line = process.stderr.readline()
        self.assertRegex(line, r"rank 2 of 4 on \S+ \(pid %d\) was killed by SIGKILL" % pids[2])
        err = process.stderr.read()
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 137)
        self.assertRegex(err, r"(?m)^ +3 +%d +running +in barrier for " % pids[3])

    def test_kill_9_of_a_program_behind_a_wrapper(self):
        process = self.start("-n", 2, "sh", "-c", f"'{PROGRAM}' hang; sleep 600")  # longer than anybody waits here
        pids = {}
        for _ in range(2):
            found = re.match(r"rank (\d+) pid (\d+) hangs", process.stdout.readline())
            pids[int(found[1])] = int(found[2])
        self.wait_for(lambda: watched_by(process.pid) >= set(pids.values()), "the launcher has found them")
        os.kill(pids[1], signal.SIGKILL)
        line = process.stderr.readline()
        if "Killed" in line:  # the shell's own remark
            line = process.stderr.readline()
        self.assertRegex(line, r"rank 1 of 2 .* lost its process %d" % pids[1])
        process.communicate(timeout=PATIENCE)
        self.assertNotEqual(process.returncode, 0)

    @unittest.skipIf(SANITIZED, "the sanitizer reports this itself")
    def test_segmentation_fault_has_a_backtrace(self):
        for mode in ("segv", "segv-with-alarm"):
            got = self.run_job("-n", 3, PROGRAM, mode, 1)
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
    def test_a_call_by_a_null_pointer_shows_the_caller(self):
        got = self.run_job("-n", 2, PROGRAM, "null-call", 1)
        self.assert_failure(got, 139, r"rank 1 of 2 .* died of SIGSEGV \(Segmentation fault\) at address 0x0\n +#0 +0x0\n"
                                      r" +#1 .*function_that_calls_nothing\(\).*\n +#2 +main")

    @unittest.skipIf(SANITIZED, "the sanitizer reports this itself")
    def test_crash_behind_a_wrapper(self):
        got = self.run_job("-n", 2, "sh", "-c", f"'{PROGRAM}' segv 1; exit $?")
        self.assert_failure(got, 139, r"rank 1 of 2 .* died of SIGSEGV")

    @unittest.skipIf(SANITIZED, "the sanitizer reports this itself")
    def test_crash_behind_a_wrapper_that_goes_on(self):
        # Before the launcher has looked for the program; the wrapper's end is longer away than anybody waits here.
        got = self.run_job("-n", 1, "sh", "-c", f"'{PROGRAM}' segv 0; sleep 600")
        self.assert_failure(got, 139, r"rank 0 of 1 .* died of SIGSEGV")

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
        self.assertNotIn("UCX", got.err)
        got = self.run_job("-n", 3, PROGRAM, "ucx-abort", 0)
        self.assert_failure(got, 134, r"rank 0 of 3 .* called abort\(\)", "UCX has ended this rank")

    def test_abort_of_the_job_is_reported_once(self):
        got = self.run_job("-n", 3, PROGRAM, "job-abort", 1, 9)
        self.assert_failure(got, 9, r"the rank's own message", r"rank 1 of 3 .* ended the job with status 9")
        self.assertEqual(len(got.err.splitlines()), 2, got)

    def test_no_failure_looks_like_success(self):
        # Of a status only eight bits are left.
        starts = [[], [ATOLL, "run", "-n", "1"]]
        for name in ("mpiexec.hydra", "mpirun.openmpi"):
            starts += [[name, "-n", "1"]] * bool(shutil.which(name))
        for start in starts:
            for mode in ["job-abort"] + ["exit"] * bool(start):  # who exits alone has no job to end
                with self.subTest(start=start, mode=mode):
                    environment = self.environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
                    got = subprocess.run([*start, PROGRAM, mode, "0", "256"], text=True, capture_output=True, timeout=PATIENCE, env=environment,
                                         stdin=subprocess.DEVNULL, check=False)
                    self.assertEqual(got.returncode, 1, got)

    def test_ranks_that_wait_in_an_exchange_keep_silent_when_another_ends_the_job(self):
        got = self.run_job("-n", 4, PROGRAM, "abort-in-exchange", 2, 11)
        self.assert_failure(got, 11, r"the rank's own message", r"rank 2 of 4 .* ended the job with status 11")
        self.assertEqual(len(got.err.splitlines()), 2, got)

    def test_ranks_that_ignore_sigterm_are_killed(self):
        process, _ = self.start_hanging(2, 1)
        process.terminate()
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 143)

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

    def test_nohup_keeps_hangups_away(self):
        process, pids = self.start_hanging(2, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        for target in (process.pid, *pids.values(), process.pid):
            os.kill(target, signal.SIGHUP)
        process.terminate()
        _, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, "SIGHUP" in err), (143, False), err)

    def test_kill_9_of_the_launcher_ends_everything(self):
        process, pids = self.start_hanging(4)
        process.kill()
        self.wait_for(lambda: not any(os.path.exists(f"/proc/{p}") for p in pids.values()), "ranks end")
        process.communicate()

    def test_kill_9_of_the_launcher_ends_programs_behind_wrappers(self):
        command = f"{sys.executable} -c 'import subprocess; subprocess.run([\"{PROGRAM}\", \"hang\"])' & wait"
        process = self.start("-n", 2, "sh", "-c", command)
        for _ in range(2):
            self.assertRegex(process.stdout.readline(), "hangs")
        process.kill()
        self.assert_nothing_left()
        process.communicate()

    def test_of_all_ranks_with_a_mistake_one_speaks(self):
        # The others wait for their end, though signals come meanwhile. The one is held up as if for a debugger.
        process = self.start("-n", 4, "-E", "GASNET_FREEZE_ON_ERROR=1", PROGRAM, "mistakes")
        self.addCleanup(process.kill)
        said = ""
        while "waits for a debugger" not in said:
            line = process.stderr.readline()
            self.assertTrue(line, said)
            said += line
        time.sleep(0.3)
        rank, pid = re.search(r"rank (\d) of 4 .*: a mistake of all", said)[1], int(re.search(r"pid (\d+) waits", said)[1])
        while process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
            time.sleep(0.05)
        said += process.communicate(timeout=PATIENCE)[1]
        self.assertEqual(process.returncode, 128 + signal.SIGABRT, said)
        self.assertEqual(said.count("a mistake of all"), 1, said)
        self.assertEqual(set(re.findall(r"pid (\d+) waits", said)), {str(pid)}, said)
        self.assertRegex(said, rf"atoll run: rank {rank} of 4 on \S+ \(pid {pid}\) stopped over")

    def test_impatience_is_no_failure_of_sigkill(self):
        # Ranks take a while to end, and Ctrl-C comes again and again meanwhile.
        process = self.start("-n", 32, "sh", "-c", "trap '' TERM; echo up; exec sleep 600")
        for _ in range(32):
            process.stdout.readline()
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, err)
        self.assertNotIn("do not even end", err)

    def test_kill_9_of_launcher_and_ranks_leaves_nothing(self):
        process, pids = self.start_hanging(3)
        process.kill()
        for pid in pids.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()
