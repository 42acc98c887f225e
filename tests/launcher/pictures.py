"""What all ranks are doing, as a table."""

import os
import signal

from support import LauncherTest, PATIENCE, PROGRAM


class Pictures(LauncherTest):
    def assert_picture(self, err, ranks):
        for rank in range(ranks):
            self.assertRegex(err, rf"(?m)^ +{rank} +\d+ +running +in barrier for .* 3 replies awaited")
        self.assertRegex(err, r"#\d+ .*function_that_hangs")

    def test_timeout(self):
        got = self.run_out_of_time(r"(in barrier for(.|\n)*){3}function_that_hangs", "-n", 3, PROGRAM, "hang")
        self.assert_picture(got.err, 3)
        self.assertGreater(got.seconds, 1.4)

    def test_timeout_of_a_program_without_the_library(self):
        got = self.run_job("--timeout", "0.3", "-n", 2, "sleep", "60")
        self.assertEqual(got.status, 124, got)
        self.assertIn("not attached", got.err)

    def test_timeout_that_is_not_reached(self):
        got = self.run_job("--timeout", "10m", "-n", 2, PROGRAM, "ranks")
        self.assertEqual((got.status, got.err), (0, ""))

    def test_a_rank_that_waits_in_a_second_init(self):
        # Its table comes before the rank has come so far, where the machine is busy.
        starts = r"(?m)^ +0 +\d+ +starting *\n +1 +\d+ +finalized *$"
        got = self.run_out_of_time(starts, "-n", 2, PROGRAM, "second-period", 0)
        self.assertRegex(got.err, starts)

    def test_sigquit(self):
        process, _ = self.start_hanging(3)
        process.send_signal(signal.SIGQUIT)
        _, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 131, err)
        self.assertIn("got SIGQUIT", err)
        self.assert_picture(err, 3)

    def test_the_picture_does_not_wake_a_program_that_sleeps(self):
        asleep = r"#\d+ .*sleep"
        process, _ = self.start_hanging(2, mode="sleep")
        process.send_signal(signal.SIGQUIT)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 131, err)
        by_time_limit = self.run_out_of_time(asleep, "-n", 2, PROGRAM, "sleep")
        for said, told in ((out, err), (by_time_limit.out, by_time_limit.err)):
            self.assertRegex(told, asleep)
            self.assertNotIn("woke up", said)

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
