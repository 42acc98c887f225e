"""Hosts on a bad link."""

import os
import signal
import subprocess
import tempfile
import time
import unittest

from networks import Ofi, Ucx
from support import HOSTS, HOSTS_SH, PATIENCE, PROGRAMS, SET, Patient, hosts_sh, processes_called


class BadLink(Patient, unittest.TestCase):
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
        self.wait("ranks or keepers are left", lambda: not (processes_called("cluster_traffic_program") or processes_called("atoll-keeper")))
        self.link("--mend", "h2")
        self.assertNotEqual(job.wait(PATIENCE), 0)
        said = [line for line in words().splitlines() if line.startswith("atoll: ")]
        self.assertEqual(len(said), 1, words())
        self.assertRegex(said[0], r"host h1: host h2 \(rank 1\) is lost: .* ATOLL_HOST_TIMEOUT \(now 3 s\) waits longer")
