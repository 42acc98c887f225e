"""Hosts that are lost, and who ends then."""

import os
import signal
import subprocess
import tempfile
import time
import unittest

from support import HOSTS, HOSTS_SH, PROGRAMS, SET, Patient, connections_of, host_of, hosts_sh, kill_job, processes_called


class Losses(Patient, unittest.TestCase):
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
        # One with each neighbour.
        self.wait("keepers meet", lambda: all(connections_of(number) >= 2 for number in processes_called("atoll-keeper")))
        time.sleep(0.5)  # they make sure of each other

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
