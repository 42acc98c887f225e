"""Programs over networks between hosts."""

import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

from support import HOSTS, HOSTS_SH, PATIENCE, PROGRAMS, SET, Patient, connections_of, host_of, hosts_sh, kill_job, processes_called, start_atoll


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

    def test_no_room_in_dev_shm(self):
        # As in a container of many ranks. UCX would take 4 MiB for each, of which nothing would be used.
        self.assertEqual(hosts_sh("exec", "h2", "mount", "-o", "remount,size=64k", "/dev/shm").returncode, 0)
        self.addCleanup(hosts_sh, "exec", "h2", "mount", "-o", "remount,size=50%", "/dev/shm")
        got = hosts_sh("run", "-n", 4, "--hosts", 2, os.path.join(PROGRAMS, "cluster_traffic_program"), ATOLL_TRANSPORTS="ucx")
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertNotIn("UCX ", got.stderr)


class Agreement(Patient, unittest.TestCase):
    """Hosts of which one lacks the first network."""

    def job(self, **environment):
        program = os.path.join(PROGRAMS, "multirank.rpc")
        lacking = f"[ $(uname -n) != h2 ] || export ATOLL_UCX_LIBRARY=/nowhere/libucp.so; exec {program} --gtest_filter=rpc_function_test.*"
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

    def test_where_few_files_may_be_open(self):
        program = os.path.join(PROGRAMS, "cluster_traffic_program")
        for network in ("ucx", "ofi"):
            with self.subTest(network=network):
                got = hosts_sh("run", "-n", 2, "--hosts", 2, "sh", "-c", f"ulimit -n 16; exec {program}", ATOLL_TRANSPORTS=network)
                self.assertNotEqual(got.returncode, 0, got.stdout)
                self.assertRegex(got.stderr, rf"{network}: not on rank [01] of 2 \(h[12]\): .* \(of 16 files that this rank may have open \d+ are left; if that is why, raise the limit")

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
                    differing = f"[ $(uname -n) != {host} ] || export {name}={value}; exec {program} --gtest_filter=rpc_flood_test.small*:rpc_function_test.*"
                    got = hosts_sh("run", "-n", 4, "--hosts", 2, "sh", "-c", differing, ATOLL_TEST_SOCKETS=folder, UPCXX_SHARED_HEAP_SIZE="64M")
                    self.assertEqual(got.returncode, 0, got.stdout + got.stderr)

    def test_hosts_whose_packets_are_dropped(self):
        # As a firewall does that answers nothing: what they send goes to an address of hardware that nobody has.
        program = "cluster_traffic_program"
        for host, other in (("h1", "198.18.0.2"), ("h2", "198.18.0.1")):
            nowhere = ("ip", "neigh", "replace", other, "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent")
            self.assertEqual(hosts_sh("exec", host, *nowhere).returncode, 0)
            self.addCleanup(hosts_sh, "exec", host, "ip", "neigh", "del", other, "dev", "eth0")
        for network in ("ucx", "ofi"):
            with self.subTest(network=network):
                # TCP would give up after two minutes, which are more than a command has here.
                with tempfile.TemporaryFile("w+") as words:
                    job = self.start(program, network, words)
                    if network == "ofi":
                        self.delay_launcher(job, program, words)
                    self.assertNotEqual(job.wait(PATIENCE), 0)
                    errors = os.pread(words.fileno(), 1 << 16, 0).decode()
                self.assertRegex(errors, rf"rank [01] \(h[12]\) cannot be reached over the network {network}: for \d+\.\d s nobody has answered "
                                             r"the call from 198\.18\.0\.(1 to 198\.18\.0\.2|2 to 198\.18\.0\.1) port \d+, which was not refused either")
                self.assertEqual(len(re.findall("(?m)^atoll: ", errors)), 1, errors)

    def test_a_connection_that_is_broken(self):
        # As by a firewall, while both hosts and their keepers are well. Both ends find that, and one says so.
        program = "cluster_traffic_program"
        with tempfile.TemporaryFile("w+") as words:
            job = self.start(program, "ucx", words)
            self.wait("ranks and keepers meet", lambda: len(self.connections(program)) > 0 and len(processes_called("atoll-keeper")) == 2, job)
            mine, theirs = (end.rsplit(":", 1) for end in self.connections(program)[0])
            cut = hosts_sh("exec", "h1", "ss", "-HK", "src", mine[0], "sport", "=", f":{mine[1]}", "dst", theirs[0], "dport", "=", f":{theirs[1]}")
            if theirs[1] not in cut.stdout:
                self.skipTest("this system breaks no connections: " + cut.stderr)
            self.assertNotEqual(job.wait(PATIENCE), 0)
            errors = os.pread(words.fileno(), 1 << 16, 0).decode()
            # Where a put's acknowledgement cannot be sent, libucp ends the process itself.
            self.assertRegex(errors, r"rank [01] \(h[12]\) cannot be reached over the network ucx any more: |Fatal: unexpected error: Endpoint timeout")
            self.assertEqual(len(re.findall("(?m)^atoll: ", errors)), 1, errors)

    @staticmethod
    def connections(program):
        """Those of the first host's rank to the second host: both ends."""
        lines = hosts_sh("exec", "h1", "ss", "-tnpH", "state", "established", "dst", "198.18.0.2").stdout.splitlines()
        return [line.split()[2:4] for line in lines if program[:15] in line]

    def start(self, program, network, words):
        job = subprocess.Popen([HOSTS_SH, "--set", SET, "run", "-n", "2", "--hosts", "2", os.path.join(PROGRAMS, program), "/nowhere"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=words, start_new_session=True,
                               env={**os.environ, "ATOLL_TRANSPORTS": network, "ATOLL_HOST_TIMEOUT": "3"})
        self.addCleanup(kill_job, job, program)
        return job

    def delay_launcher(self, job, program, words):
        """Its daemon on the second host does nothing for a while when the first rank has said why the job ends, as on a busy host."""
        # Ranks need the daemon until they call each other.
        self.wait("both call", lambda: sum(connections_of(rank, "02") > 0 for rank in processes_called(program)) == 2, job)
        daemon = next(number for number in processes_called("orted") if host_of(number) == "h2")
        os.kill(daemon, signal.SIGSTOP)
        try:
            self.wait("the first rank says why", lambda: b"atoll: rank 0" in os.pread(words.fileno(), 1 << 16, 0), job)
            time.sleep(2)
        finally:
            os.kill(daemon, signal.SIGCONT)

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

    def check(self, network, order, *options, program="coexistence.mpi"):
        got = hosts_sh("run", *options, os.path.join(PROGRAMS, program), order, ATOLL_TRANSPORTS=network, UPCXX_VERBOSE="1")
        if got.returncode == 77:
            self.skipTest(got.stderr)
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        self.assertIn(f"network between hosts: {network} (", got.stderr)
        ranks = options[1]
        self.assertIn(f"{ranks} ranks, MPI has {ranks}: all well", got.stdout)

    def test_by_block(self):
        self.check("ucx", "mpi-first", "-n", 4, "--hosts", 2)

    def test_by_node(self):
        self.check("ofi", "mpi-last", "-n", 4, "--hosts", 2, "--by-node")

    def test_over_one_libucp(self):
        # Which MPI has opened, with a context and a worker of its own.
        over_ucx = (word for part in ("--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any")
                    for word in ("--launcher-option", part))
        self.check("ucx", "mpi-first", "-n", 4, "--hosts", 2, *over_ucx)

    def test_mpich(self):
        if not os.path.exists(os.path.join(PROGRAMS, "coexistence.mpich")):
            self.skipTest("MPICH's headers are not installed (Debian: libmpich-dev)")
        self.check("ucx", "mpi-last", "-n", 4, "--hosts", 2, "--launcher", "hydra", program="coexistence.mpich")

    def test_where_some_meet_others_early(self):
        # A rank of four hosts passes a barrier before its own connections stand, now and then.
        self.check("ucx", "mpi-first", "-n", 8, "--by-node")
