#!/usr/bin/env python3
"""Everything on several hosts that continuous integration has no time for; scripts/clusters.sh calls this. See its --help.

Each part yields cases, which are jobs on the hosts of one set, in the order in which the first failures tell most.
"""

import argparse
import dataclasses
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from cuts import Cuts

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOSTS_SH = os.path.join(ROOT, "scripts", "hosts.sh")
LAUNCHERS = {"mpirun": ("mpirun",), "hydra": ("hydra",), "pmi2": ("srun", "--launcher-option", "--mpi=pmi2"),
             "pmix": ("srun", "--launcher-option", "--mpi=pmix"), "prterun": ("prterun",)}
LINKS = {"plain": ("--plain",), "slow": ("--rate", "1gbit"), "bad": ("--delay", "200us", "--loss", "0.5%", "--reorder", "2%"),
         "far": ("--delay", "2ms", "--rate", "1gbit")}
HOSTS = 4
# Programs that are about one host, or about drivers.
ELSEWHERE = re.compile(r"multirank\.(gpu|hip_ze|no_device)|by_messages\.hosts|\.cmake$")
# What waits for thousands of messages, one after the other, takes minutes on a far link and tells no more there.
ONE_BY_ONE = {"multirank.atomics": "--gtest_filter=-*every_ticket*:*floating_point_sums*:*make_a_lock*:atomic_operations_test/*",
              "multirank.unusual": "--gtest_filter=-*many_hops*"}


@dataclasses.dataclass
class Case:
    """A job. Its environment reaches the ranks if the names begin as hosts.sh says, else by `env` before the program."""

    words: tuple  # program and arguments
    network: str = "ucx"
    launcher: str = "mpirun"
    link: str = "plain"
    hosts: int = 2
    each: int = 2
    by_node: bool = False
    launcher_words: tuple = ()  # for its command line
    environment: dict = dataclasses.field(default_factory=dict)
    expect: str = ""  # what its output must match
    cut: str = ""  # what happens to a cable meanwhile
    patience: int = 180

    @property
    def options(self):
        if self.launcher in ("exec", "test", "none"):  # no job: one process, or nothing
            return []
        return ["--launcher", *LAUNCHERS[self.launcher], "-n", str(self.hosts * self.each), "--hosts", str(self.hosts),
                *(["--by-node"] if self.by_node else []), *(word for part in self.launcher_words for word in ("--launcher-option", part))]

    @property
    def title(self):
        program = " ".join([os.path.basename(self.words[0]), *self.words[1:]])
        return (f"{program}, {self.network}, {self.hosts} hosts of {self.each}{' by node' if self.by_node else ''}, {self.launcher}{' over ' + self.launcher_words[2] if self.launcher_words else ''}, "
                f"link {self.link}{', cut ' + self.cut if self.cut else ''}")


class Runner:
    """Runs cases on a set of hosts, prints what became of each, and counts."""

    script = HOSTS_SH

    def __init__(self, preset, end, programs):
        self.set = f"m{os.getpid()}"
        self.preset, self.end, self.programs = preset, end, programs
        self.passed = self.failed = self.skipped = 0
        self.link = "plain"
        self.out_of_time = False
        self.folder = tempfile.TemporaryDirectory(dir="/var/tmp")  # which all hosts see

    def __enter__(self):
        made = self.make_anew(HOSTS)
        if made.returncode != 0:
            sys.exit(f"{made.stdout}{made.stderr}0 passed, 0 failed, 1 skipped")
        return self

    def make_anew(self, *words):
        self.hosts_sh("down")
        self.link = "plain"
        self.made = shlex.join(map(str, words))
        made = self.hosts_sh("up", *words)
        if made.returncode == 0:
            self.slurm = self.hosts_sh("slurm")
        return made

    def __exit__(self, *what):
        self.hosts_sh("down")
        self.folder.cleanup()

    def hosts_sh(self, *words, environment=None, patience=120):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PMIX_", "OMPI_", "ATOLL_JOB", "SLURM_", "PMI_"))}
        job = subprocess.Popen([HOSTS_SH, "--set", self.set, *map(str, words)], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, errors="replace", env={**clean, **(environment or {})}, start_new_session=True)
        try:
            out = job.communicate(timeout=patience)[0]
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            out = job.communicate()[0] + f"\nnot finished after {patience} s\n"
            self.end_ranks()
        return subprocess.CompletedProcess(words, job.returncode, out, "")

    def processes(self, host=None):
        """Of ranks, keepers and launchers' daemons on the hosts; of Slurm and the hosts themselves none."""
        return self.processes_called(r"(?!sleep|munged|slurm(ctl)?d|slurmscriptd|link_forwarder|unshare|nsenter)", host)

    def processes_called(self, name, host=None):
        """On the hosts, by what the name begins with: a regular expression."""
        spaces = {f"atoll-{self.set}-{h}" for h in ([host] if host else ["head", *(f"h{i + 1}" for i in range(HOSTS))])}
        networks = {os.stat(f"/run/netns/{space}").st_ino for space in spaces}
        found = []
        for number in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{number}/comm", encoding="utf-8") as file:
                    called = re.match(name, file.read())
                if called and os.stat(f"/proc/{number}/ns/net").st_ino in networks:
                    found.append(int(number))
            except OSError:
                pass
        return found

    def end_ranks(self):
        for number in self.processes():
            try:
                os.kill(number, signal.SIGKILL)
            except OSError:
                pass

    def set_link(self, name):
        if name != self.link:
            self.link = ""  # none known, should it fail
            made = self.hosts_sh("link", *LINKS[name])
            if made.returncode != 0:
                raise RuntimeError(made.stdout)
            self.link = name

    def environment(self, case):
        return {"ATOLL_TEST_SOCKETS": self.folder.name, "ATOLL_TRANSPORTS": case.network, "UPCXX_SHARED_HEAP_SIZE": "32M",
                **{k: v for k, v in case.environment.items() if self.is_passed_on(k)}}

    @staticmethod
    def is_passed_on(name):
        return name.startswith(("ATOLL_", "UPCXX_", "UCX_", "FI_"))

    def words(self, case):
        if case.launcher == "exec":
            settings = {**case.environment, **self.environment(case)}
            return ["exec", "h1", "env", *(f"{k}={v}" for k, v in settings.items()), *case.words]
        others = [f"{k}={v}" for k, v in {"OMP_NUM_THREADS": "1", **case.environment}.items() if not self.is_passed_on(k)]
        return ["run", *case.options, "env", *others, *case.words]

    def run(self, case):
        begin = time.monotonic()
        try:
            self.set_link(case.link)
        except RuntimeError as wrong:
            self.note("failed", case, begin, str(wrong))
            return
        if case.launcher in ("pmi2", "pmix") and self.slurm.returncode != 0:
            self.note("skipped", case, begin, self.slurm.stdout)
            return
        if case.launcher == "test":  # makes hosts of its own
            got = subprocess.run([sys.executable, *case.words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 timeout=case.patience, env={**os.environ, **case.environment}, check=False)
        else:
            got = self.hosts_sh(*self.words(case), environment=self.environment(case), patience=case.patience)
        if got.returncode == 0 and not re.search(case.expect, got.stdout):
            got.returncode, got.stdout = 1, f"{got.stdout}\nnothing there matches {case.expect}\n"
        self.note("skipped" if got.returncode == 77 else "passed" if got.returncode == 0 else "failed", case, begin, got.stdout)
        if got.returncode not in (0, 77):
            self.end_ranks()

    def note(self, what, case, begin, out):
        setattr(self, what, getattr(self, what) + 1)
        print(f"{what:8}{time.monotonic() - begin:6.1f} s  {case.title}", flush=True)
        if what == "skipped":
            print(f"        {out.strip().splitlines()[-1] if out.strip() else ''}")
        if what == "failed":
            print("\n".join(out.splitlines()[-40:]))
            settings = shlex.join(f"{k}={v}" for k, v in self.environment(case).items())
            print(f"To repeat it:\n    scripts/hosts.sh up {self.made}; {'scripts/hosts.sh slurm; ' if 'srun' in case.options else ''}"
                  f"scripts/hosts.sh link {shlex.join(LINKS[case.link])}; mkdir -p {self.folder.name}\n"
                  f"    env {settings} scripts/hosts.sh {shlex.join(self.words(case))}", flush=True)

    def is_late(self):
        self.out_of_time = self.out_of_time or time.monotonic() > self.end
        return self.out_of_time


def test(runner, name):
    return os.path.join(runner.programs, "tests", name)


def launchers(runner, names):
    """A program under each launcher, on 2, 3 and 4 hosts of 1, 2 and 4 ranks, over both networks."""
    for launcher in names:
        for network in ("ucx", "ofi"):
            for hosts in (2, 3, 4):
                for each in (1, 2, 4):
                    yield Case((test(runner, "multirank.rpc"), "--gtest_filter=-*size_test*:rpc_flood*:*rpc_view*"), network, launcher, "plain", hosts, each,
                               by_node=(hosts + each) % 2 == 0)


# Open MPI sends by UCX.
OVER_UCX = ("--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any")


def mixed(runner, names):
    """MPI and Atoll in one program, with the same ranks: Open MPI, and with PMI MPICH. Open MPI sends by itself (ob1), or by UCX (ucx)."""
    for launcher in names:
        by_pmi = launcher in ("hydra", "pmi2")
        program = test(runner, "coexistence.mpich" if by_pmi else "coexistence.mpi")
        if not os.path.exists(program):
            runner.note("skipped", Case((program,), "ucx and ofi", launcher), time.monotonic(), "it was not built: the headers of its MPI are not installed")
            continue
        # Slurm's PMI-2 serves one client of a task, and MPICH takes it for itself.
        orders = ("mpi-first",) if launcher == "pmi2" else ("mpi-first", "mpi-last")
        for mpi_words in ((), OVER_UCX) if launcher == "mpirun" else ((),):
            for network in ("ucx", "ofi"):
                for hosts, each, by_node in ((2, 1, False), (2, 2, True), (3, 2, False), (4, 2, True)):
                    for order in orders:
                        yield Case((program, order), network, launcher, "plain", hosts, each, by_node, launcher_words=mpi_words,
                                   expect=rf"{hosts * each} ranks, MPI has {hosts * each}: all well")


def of_program(path):
    """What a program of tests/multirank needs between hosts: arguments and environment."""
    name = os.path.basename(path)
    environment = {"ATOLL_SIM_DEVICES": "1"}
    words = []
    if name.startswith("multirank.kinds") or name == "multirank.device":
        environment = {"UPCXX_SHARED_HEAP_SIZE": "64M", "ATOLL_SIM_DEVICES": "2", "ATOLL_SIM_KIND": "all"}
    elif name == "multirank.direct":
        environment["UPCXX_SHARED_HEAP_SIZE"] = "64M"
    elif name == "multirank.rpc_growing":
        environment["UPCXX_OVERSUBSCRIBED"] = "0"
    elif name.startswith("soak_test"):
        words = ["--seed", "7", "--seconds", "5"]
    return (path, *words), environment


def suite(runner, _):
    """All programs of several ranks over both networks, on all links."""
    tests = os.path.join(runner.programs, "tests")
    programs = sorted(os.path.join(tests, name) for name in os.listdir(tests)
                      if re.match(r"multirank\.|flow\.|by_messages\.|soak_test|coexistence\.(openmp|threads)", name) and not ELSEWHERE.search(name))
    examples = os.path.join(runner.programs, "examples")
    if os.path.isdir(examples):
        programs += sorted(os.path.join(examples, name) for name in os.listdir(examples) if os.access(os.path.join(examples, name), os.X_OK)
                           and os.path.isfile(os.path.join(examples, name)))
    for link, hosts, each in (("plain", 2, 2), ("bad", 2, 2), ("slow", 3, 1), ("plain", 4, 1), ("far", 2, 1)):
        for network in ("ucx", "ofi"):
            for number, path in enumerate(programs):
                words, environment = of_program(path)
                if link == "far" and os.path.basename(path) in ONE_BY_ONE:
                    words = (*words, ONE_BY_ONE[os.path.basename(path)])
                if hosts * each > (os.cpu_count() or 1):
                    # Ranks do not know that they share cores with those of other hosts: they would spin, and each message wait for a time slice.
                    environment = {"UPCXX_OVERSUBSCRIBED": "yes", **environment}
                yield Case(words, network, "mpirun", link, hosts, each, by_node=number % 2 == 1, environment=environment)


def applications(runner, _):
    """heat3d and hpgmg, which check their numbers, on all links."""
    for link in ("plain", "bad", "slow", "far"):
        for network in ("ucx", "ofi"):
            # What goes by MPI uses no network of ours. Open MPI's ranks, too, spin unless they are told that others want their core.
            mpi = ("mpi",) if network == "ucx" else ()
            crowded = {"OMPI_MCA_mpi_yield_when_idle": "1"}
            for exchange in ("rma", "put", *mpi):
                yield Case((os.path.join(runner.programs, "bin", "atoll-heat3d"), "-X", "40", "-Y", "40", "-Z", "40", "-N", "100", "--exchange", exchange), network,
                           link=link, environment=crowded, expect="check passed")
            for comm in ("array", "bulk", "+group", *mpi):
                yield Case((os.path.join(runner.programs, "bin", "atoll-hpgmg"), "4", "2", "--seconds", "1", "--solves", "2", "--warmup", "1",
                            "--comm", comm), network, link=link, environment={"UPCXX_SHARED_HEAP_SIZE": "128M", **crowded}, expect="check passed")


def bundles(runner, _):
    """Small messages to all ranks of a host in one bundle."""
    for link, hosts, each, by_node in (("plain", 2, 2, False), ("plain", 3, 2, True), ("plain", 4, 1, False), ("bad", 2, 3, True), ("far", 3, 2, False)):
        for network in ("ucx", "ofi"):
            for name in ("network.by_host", "multirank.atomics", "multirank.completion_rma", "multirank.rpc"):
                environment = {"ATOLL_BUNDLES_BY_HOST": "yes", "UPCXX_OVERSUBSCRIBED": "yes"}
                if name == "network.by_host":
                    environment["ATOLL_MESSAGE_MEMORY"] = "4MB"
                words = (test(runner, name), *([ONE_BY_ONE[name]] if link != "plain" and name in ONE_BY_ONE else []))
                yield Case(words, network, "mpirun", link, hosts, each, by_node, environment=environment)


def cuts(runner, names):
    """A cable that is out for nearly five seconds, one that stays out, a host whose ranks or all die behind it, and one that is shut down."""
    for launcher in names:
        for network in ("ucx", "ofi") if launcher == "mpirun" else ("ucx",):
            for hosts, each in ((2, 2), (4, 1)):
                for cut in ("short", "long", "killed", "dead", "down"):
                    environment = {} if cut == "short" else {"ATOLL_HOST_TIMEOUT": "3"}
                    yield Case((test(runner, "cluster_traffic_program"), os.path.join(runner.folder.name, "stop")), network, launcher, "plain", hosts,
                               each, environment=environment, cut=cut)


def cables(runner, _):
    """One of several cables of a host."""
    words = (os.path.join(ROOT, "tests", "clusters", "clusters_test.py"), HOSTS_SH, os.path.join(runner.programs, "tests"), "Cables")
    yield Case(words, "ucx and ofi", "test", environment={"CLUSTERS_TEST_WHOLE": "yes"})


def conformance(runner, _):
    """The suite of the transports: one process on h1, whose ranks are in the networks of all hosts in turn."""
    spaces = ",".join(f"/run/netns/atoll-{runner.set}-h{1 + i}" for i in range(HOSTS))
    for link in ("plain", "bad", "slow"):
        for network in ("ucx", "ofi"):
            for name in ("test", "random_test"):
                words = (test(runner, f"network_{network}_{name}"),)
                yield Case(words, network, "exec", link, HOSTS, 1,
                           environment={"NETWORK_TEST_SPACES": spaces, "ATOLL_NET_DEVICES": "eth0"})


def rdma(runner, _):
    """Adapters in software, where the kernel has some: the conformance suite, and programs of two hosts."""
    made = runner.make_anew("--rdma", HOSTS)
    if made.returncode == 0:
        with open(f"/run/atoll-hosts/{runner.set}/rdma", encoding="ascii") as file:
            kind = file.read().strip()
        # UCX has nothing for iWARP. TCP is out of its reach, so that nothing else is tested by mistake.
        ways = {"ofi": {"FI_PROVIDER": "verbs"}, **({"ucx": {"UCX_TLS": "rc,ud,self"}} if kind == "rxe" else {})}
        adapters = ",".join(f"{runner.set}-h{1 + i}:1" for i in range(HOSTS))
        spaces = ",".join(f"/run/netns/atoll-{runner.set}-h{1 + i}" for i in range(HOSTS))
        for network, environment in ways.items():
            yield Case((test(runner, f"network_{network}_test"), "--gtest_filter=-ofi.*:ucx.*"), network, "exec", hosts=HOSTS, each=1,
                       environment={"NETWORK_TEST_SPACES": spaces, "ATOLL_NET_DEVICES": adapters, **environment})
            for name in ("multirank.rma", "multirank.rpc"):
                own = f'ATOLL_NET_DEVICES={runner.set}-$(hostname):1 exec "$@"'
                yield Case(("sh", "-c", own, name, test(runner, name)), network, environment={"UPCXX_OVERSUBSCRIBED": "yes", "UPCXX_VERBOSE": "1", **environment},
                           expect=rf"network between hosts: {network} \(.*{runner.set}-h")
    else:
        # 77: this kernel has none.
        runner.note("skipped" if made.returncode == 77 else "failed", Case(("adapters in software",), "ucx and ofi", "none", hosts=HOSTS, each=1), time.monotonic(), made.stdout)
    runner.make_anew(HOSTS)


PARTS = {"launchers": launchers, "mixed": mixed, "cuts": cuts, "cables": cables, "applications": applications, "conformance": conformance, "bundles": bundles, "suite": suite, "rdma": rdma}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    parser.add_argument("--preset", required=True)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--launchers", default="mpirun,hydra,pmi2,pmix")
    parser.add_argument("--match", default="")
    parser.add_argument("parts", nargs="*")
    given = parser.parse_args()
    unknown = [p for p in given.parts if p not in PARTS] + [name for name in given.launchers.split(",") if name not in LAUNCHERS]
    if unknown:
        sys.exit(f"not understood: {', '.join(unknown)}; parts are {', '.join(PARTS)}, launchers {', '.join(LAUNCHERS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with Runner(given.preset, time.monotonic() + 60 * given.minutes, given.programs) as runner:
        for part in given.parts or PARTS:
            for case in PARTS[part](runner, given.launchers.split(",")):
                if runner.is_late():
                    break
                if not re.search(given.match, case.title):
                    continue
                if case.cut:
                    Cuts(runner, case).check()
                else:
                    runner.run(case)
        if runner.out_of_time:
            print(f"the {given.minutes:g} minutes are over")
    print(f"{runner.passed} passed, {runner.failed} failed, {runner.skipped} skipped")
    sys.exit(1 if runner.failed else 0)


if __name__ == "__main__":
    main()
