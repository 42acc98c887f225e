"""Hosts with several interfaces."""

import itertools
import os
import re
import subprocess
import tempfile
import threading
import time
import unittest

from support import HOSTS_SH, PATIENCE, PROGRAMS, SET, WHOLE, Patient, hosts_sh, kill_job, make_hosts, processes_called


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
        make_hosts()


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


class Cables(Patient, ThreeInterfaces, unittest.TestCase):
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
        self.wait("64 MiB are sent", lambda: sum(self.sent().values()) >= sum(before.values()) + (64 << 20), job)
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
        self.wait("ranks or keepers are left", lambda: not (processes_called(self.PROGRAM) or processes_called("atoll-keeper")))
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
            # The system's words, or on a busy machine those of the time that has passed.
            self.assertRegex(said[0], r"rank [01] of 2 \(h[12]\): network: rank [01] \(h[12]\) cannot be reached over the network ucx: "
                                      r".*(Is a cable out|for 2\.\d s nobody has answered the call)")
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
        several = "tcp/eth0, tcp/eth2, tcp/lo; two ranks use one of those of one speed, over ofi up to four"
        for named, used in ((None, several), ("eth1", "tcp/eth1"), ("eth1,eth2", "tcp/eth2")):
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
