"""Runs atoll-heat3d under the launchers and compares with reference values.

The values come from an independent serial program with compensated sums; means are compared at 1e-12, cells at
1e-12, and fields of different process grids and back ends bit for bit.
"""

import argparse
import fcntl
import math
import os
import pty
import re
import select
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time

SKIPPED = 77

ASYMMETRIC = ["-X", "30", "-Y", "20", "-Z", "14", "-T0", "0.5", "-q", "0.8", "-sigma", "2", "-P", "3", "-N", "200"]
ASYMMETRIC_MEANS = {0: 500000000.0, 50: 475517391.150578, 100: 452107183.277084, 150: 384040585.685759,
                    200: 351912720.287333}
# Cells after 200 updates.
ASYMMETRIC_CELLS = {
    (0, 0, 0): 0.2669450986616595, (0, 10, 7): 0.38563806548584428, (15, 10, 7): 0.41974306253015176,
    (29, 19, 13): 0.2334876403278747, (0, 0, 7): 0.30487888959967252, (1, 10, 7): 0.4331723920311466,
    (2, 1, 0): 0.29910184028578823, (5, 10, 7): 0.50446880052915932, (29, 10, 7): 0.30396273247740657,
}
EDGE_20_MEANS = {10: 47297717.106216, 20: 77149218.217828, 30: 96708706.949865, 40: 112170422.295452,
                 50: 125291804.620491, 60: 112496655.754801, 70: 107721140.473352, 80: 104965381.982482,
                 90: 103090044.664203, 100: 101705231.273040}
EIGENMODE = ["-X", "12", "-Y", "10", "-Z", "14", "--init", "eigenmode", "--mode", "1,2,3", "-sigma", "0", "-P", "0"]


class Failure(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failure(text)


class Bench:
    """Where programs are and how they are started."""

    def __init__(self, arguments, folder):
        self.launcher = arguments.launcher
        self.heat3d = arguments.heat3d
        self.mpirun = arguments.mpirun
        self.ranks = arguments.ranks
        self.hosts = arguments.hosts
        self.kokkos_needs_device = arguments.kokkos_needs_device
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, words, ranks=1, status=0, env=None, launcher="atoll", wrapper=()):
        """Runs the program and returns what it printed; its status must be the given one."""
        if self.hosts and ranks == self.ranks:
            env = {"ATOLL_SIM_HOSTS": self.hosts, **(env or {})}
        if launcher == "mpirun":
            allow = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                     "OMPI_MCA_rmaps_base_oversubscribe": "1"}
            command = [self.mpirun, "-n", str(ranks)]
            env = {**allow, **(env or {})}
        elif launcher == "none":
            command = []
        else:
            command = [self.launcher, "run", "-n", str(ranks), "--timeout", "100"]
        command += [*wrapper, self.heat3d, *words]
        result = subprocess.run(command, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        what = " ".join(command)
        actual = 0 if result.returncode == 0 else 1 if status in (None, 1) else result.returncode
        if status is not None:
            require(result.returncode == status,
                    f"{what}\nended with {result.returncode} instead of {status}\n{result.stdout}{result.stderr}")
        else:
            require(actual != 0, f"{what}\nended well, but should not\n{result.stdout}")
        return Output(what, result.stdout, result.stderr)

    def field(self, words, ranks=1, launcher="atoll"):
        """The final field as bytes."""
        path = self.path("field.raw")
        self.run([*words, "--quiet", "--dump", path], ranks, launcher=launcher)
        with open(path, "rb") as file:
            return file.read()


class Output:
    def __init__(self, what, text, errors):
        self.what, self.text, self.errors = what, text, errors

    def means(self):
        return {int(step): float(mean) for step, mean in re.findall(r"^(\d+) T=(\S+) ", self.text, re.M)}

    def cells(self):
        found = re.findall(r"^cell (\d+),(\d+),(\d+) (\S+)$", self.text, re.M)
        return {(int(x), int(y), int(z)): float(value) for x, y, z, value in found}

    def expect_means(self, expected):
        means = self.means()
        for step, value in expected.items():
            require(step in means, f"{self.what}\nno mean for step {step}\n{self.text}")
            # Six decimals are printed, of numbers around 1e8.
            require(abs(means[step] - value) <= 1e-12 * abs(value) + 2e-6,
                    f"{self.what}\nmean of step {step} is {means[step]} instead of {value}")

    def expect_cells(self, expected, tolerance=1e-12):
        cells = self.cells()
        for cell, value in expected.items():
            require(cell in cells, f"{self.what}\nno value of cell {cell}\n{self.text}")
            require(abs(cells[cell] - value) <= tolerance * abs(value),
                    f"{self.what}\ncell {cell} is {cells[cell]!r} instead of {value!r}")


def probes(cells):
    return [word for x, y, z in cells for word in ("--probe", f"{x},{y},{z}")]


def asymmetric(bench, ranks, extra, launcher="atoll"):
    bench.run([*ASYMMETRIC, "-I", "50", *extra], ranks, launcher=launcher).expect_means(ASYMMETRIC_MEANS)
    # N = 200 makes 201 updates; the reference cells are those after 200.
    output = bench.run([*ASYMMETRIC, "--stop-after", "200", "--quiet", *probes(ASYMMETRIC_CELLS), *extra], ranks,
                       launcher=launcher)
    output.expect_cells(ASYMMETRIC_CELLS)


def reference(bench):
    ranks = bench.ranks
    for exchange in ("rma", "put"):
        asymmetric(bench, ranks, ["--exchange", exchange])

    cube = ["-X", "20", "-Y", "20", "-Z", "20"]
    bench.run([*cube, "-N", "100", "-I", "10"], ranks).expect_means(EDGE_20_MEANS)
    bench.run([*cube, "-N", "10", "--reduce-interval", "1"], ranks).expect_means({10: 28910001.659627})
    bench.run([*cube, "-N", "1000", "-I", "1000"], ranks).expect_means({1000: 226372573.760934})

    nine = ["-X", "9", "-Y", "9", "-Z", "9", "-N", "10"]
    bench.run(nine, ranks).expect_means({10: 63802184.292150})
    if ranks in (1, 2, 4, 5):
        bench.run(["-X", "3", "-Y", "5", "-Z", "7", "-N", "10", "-I", "5"], ranks).expect_means(
            {5: 165474182.508816, 10: 190111213.273747})
    if ranks != 5:
        bench.run(["-X", "2", "-Y", "2", "-Z", "2", "-N", "10", "-I", "5"], ranks).expect_means(
            {5: 246832749.104348, 10: 274339499.405776})

    # No radiation: the program compares every cell with the exact field by itself, while heated and afterwards.
    bar = ["-X", "16", "-Y", "5", "-Z", "7", "-sigma", "0", "-N", "50", "-I", "50"]
    bench.run(bar, ranks).expect_means({50: 162500000.0})
    output = bench.run([*bar, "--stop-after", "50", "--probe", "0,4,3", "--probe", "15,0,6"], ranks)
    output.expect_cells({(0, 4, 3): 0.75832318711748015}, 1e-13)
    output.expect_cells({(15, 0, 6): 1.5755275277862348e-06}, 1e-9)
    require("exact field      ok" in output.text, f"{output.what}\ndid not compare the field\n{output.text}")

    # Eigenmodes see all six halos, also swapped, mirrored or transposed ones.
    output = bench.run([*EIGENMODE, "-N", "49"], ranks)
    require("exact field      ok" in output.text, f"{output.what}\ndid not compare the field\n{output.text}")
    bench.run([*EIGENMODE, "-N", "30", "-T0", "0.3", "--amplitude", "0.2", "--mode", "3,1,2"], ranks)

    # The heat front moves one cell per update: zero beyond it, a product of few factors on it.
    front = bench.run(["-X", "24", "-Y", "5", "-Z", "5", "-N", "11", "--stop-after", "11", "--quiet",
                       *probes([(x, 1, 3) for x in range(9, 14)])], ranks).cells()
    require(all(front[(x, 1, 3)] == 0 for x in (11, 12, 13)), f"the front is too fast: {front}")
    require(front[(10, 1, 3)] > 0, f"the front is too slow: {front}")
    # With power on throughout: N so large that it is never switched off before the field is looked at.
    on_front = bench.run(["-X", "120", "-Y", "5", "-Z", "2", "-N", "200", "--stop-after", "100", "--quiet",
                          "--probe", "99,1,1", "--probe", "100,0,1"], ranks).cells()
    require(math.isclose(on_front[(99, 1, 1)], 0.1 * 0.1**99, rel_tol=1e-13), f"front: {on_front}")
    require(on_front[(100, 0, 1)] == 0, f"front: {on_front}")

    # No exchange with the outside: a uniform field stays as it is, bit for bit.
    field = bench.field(["-X", "7", "-Y", "9", "-Z", "8", "-sigma", "0", "-P", "0", "-T0", "0.3", "-N", "20"], ranks)
    require(set(struct.unpack(f"{len(field) // 8}d", field)) == {0.3}, "a uniform field has changed")

    if ranks == 1:
        cell = bench.run(["-X", "1", "-Y", "1", "-Z", "1", "-N", "10", "-I", "5"])
        cell.expect_means({5: 479700462.301451, 10: 410878843.194407})
        for edge, mean in ((20, 28910001.659627), (100, 5808348.947956)):
            words = ["-X", str(edge), "-Y", str(edge), "-Z", str(edge), "-N", "10"]
            bench.run(words).expect_means({10: mean})


def grids(bench):
    """Every process grid gives the same field, bit for bit, however often sums are taken."""
    expected = bench.field(ASYMMETRIC)
    for grid in ("8,1,1", "1,8,1", "1,1,8", "2,4,1", "4,2,1", "1,2,4", "2,1,4", "4,1,2", "1,4,2", "2,2,2"):
        interval = str(1 + int(grid[0]) % 3 * 3)
        words = [*ASYMMETRIC, "--grid", grid, "--reduce-interval", interval]
        require(bench.field(words, 8) == expected, f"grid {grid} gives another field")
    # Blocks of one and two cells, and extents that do not divide.
    for domain, grid in (((8, 2, 2), "8,1,1"), ((2, 2, 2), "2,2,2"), ((5, 3, 7), "4,1,2"), ((3, 9, 3), "1,8,1"),
                         ((4, 4, 3), "2,2,2"), ((2, 1, 11), "1,1,8")):
        words = ["-X", str(domain[0]), "-Y", str(domain[1]), "-Z", str(domain[2]), "-N", "30", "-T0", "0.2"]
        require(bench.field([*words, "--grid", grid], 8) == bench.field(words), f"{domain} on {grid} gives another field")


def backends(bench):
    listed = bench.run(["--help"]).text
    expected = bench.field([*ASYMMETRIC, "--backend", "plain"])
    kokkos = re.search(r"What computes:[^\[]*kokkos", listed) and not bench.kokkos_needs_device
    names = ["plain-fused"] + (["kokkos"] if kokkos else [])
    for name in names:
        for ranks in (1, 2, 8):
            require(bench.field([*ASYMMETRIC, "--backend", name], ranks) == expected,
                    f"back end {name} on {ranks} ranks gives another field")
        asymmetric(bench, 2, ["--backend", name])
    require(bench.field([*ASYMMETRIC, "--keep-denormals"]) == expected, "denormals make a difference where none are")


def faults(bench):
    """A run with broken halos must fail, and say by which check."""
    cube = ["-X", "12", "-Y", "12", "-Z", "12", "-N", "20"]
    for fault in ("late", "zero"):
        for reduce in ([], ["--reduce-interval", "1"]):
            output = bench.run([*cube, *reduce], 2, status=1, env={"ATOLL_HEAT3D_FAULT": fault})
            require("energy balance   FAILED" in output.text and "check FAILED" in output.text,
                    f"fault {fault} went unnoticed by the energy balance\n{output.text}")
    for fault in ("late", "zero", "mirror"):
        for ranks in (2, 8):
            output = bench.run([*EIGENMODE, "-N", "20"], ranks, status=1, env={"ATOLL_HEAT3D_FAULT": fault})
            require("exact field      FAILED" in output.text, f"fault {fault} went unnoticed\n{output.text}")
    bench.run([*cube, "--no-check"], 2, env={"ATOLL_HEAT3D_FAULT": "zero"})
    # A step width at which errors grow gives numbers that are none.
    bench.run([*cube, "-dt", "3", "-N", "400"], 1, status=1)


DEVICES = {"ATOLL_SIM_DEVICES": "1"}


def devices(bench):
    """The device back end, with simulated devices whose streams run in random order: the host's field, bit for bit."""
    ranks = bench.ranks
    steps = 50 if ranks <= 2 else 20
    expected = bench.field([*ASYMMETRIC, "--stop-after", str(steps + 1)])
    for exchange in ("rma", "rma-staged"):
        words = [*ASYMMETRIC, "--stop-after", str(steps + 1), "-I", "50", "--backend", "device-sim", "--exchange", exchange]
        path = bench.path("device.raw")
        output = bench.run([*words, "--dump", path], ranks, env=DEVICES)
        output.expect_means({step: mean for step, mean in ASYMMETRIC_MEANS.items() if step <= steps})
        with open(path, "rb") as file:
            require(file.read() == expected, f"{output.what}\ngives another field")
        require(("staged through host" in output.text) == (exchange == "rma-staged"), f"not labelled: {output.text}")
    # Blocks of one cell, sums in every step, and all six neighbours.
    device = ["--backend", "device-sim", "--reduce-interval", "1"]
    if ranks == 2:
        words = ["-X", "3", "-Y", "3", "-Z", "2", "-N", "20", "-T0", "0.2"]
        bench.run([*words, *device], 2, env=DEVICES)
        # Without an exchange the physics is wrong, so nothing is checked, and it says so.
        output = bench.run([*words, "--backend", "device-sim", "--exchange", "off"], 2, env=DEVICES)
        require("wrong physics" in output.text and "check off" in output.text, output.text)
        for fault in ("late", "mirror"):
            output = bench.run([*EIGENMODE, "-N", "10", "--backend", "device-sim", "--exchange", "rma-staged"], 2, status=1,
                               env={**DEVICES, "ATOLL_HEAT3D_FAULT": fault})
            require("exact field      FAILED" in output.text, f"fault {fault} went unnoticed\n{output.text}")
        # Ahead of the front numbers are flushed to zero as on the host.
        front = ["-X", "330", "-Y", "2", "-Z", "2", "-N", "700", "--stop-after", "325", "--quiet", "--dump", path]
        bench.run([*front, "--backend", "device-sim"], 2, env=DEVICES)
        with open(path, "rb") as file:
            require(file.read() == bench.field(front[:-2]), "the heat front differs")
        output = bench.run([*words, "--backend", "device-sim"], 2, status=2, env={"ATOLL_SIM_DEVICES": "0"})
        require("rank 0 has no device" in output.errors, output.errors)
        only_rank_0 = bench.path("only_rank_0")
        with open(only_rank_0, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\n[ "$ATOLL_RANK" = 0 ] || export ATOLL_SIM_DEVICES=0\nexec "$@"\n')
        os.chmod(only_rank_0, 0o755)
        output = bench.run([*words, "--backend", "device-sim"], 2, status=2, env=DEVICES, wrapper=[only_rank_0])
        require("rank 1 has no device" in output.errors, output.errors)
        output = bench.run([*words, "--backend", "device-sim", "--exchange", "none"], 1, status=2, launcher="none")
        require("needs an exchange of the library" in output.errors, output.errors)
        # A device of one rank fails in the midst of the run: it says so, and the others do not wait for it.
        output = bench.run([*EIGENMODE, "-N", "20", "--backend", "device-sim"], 2, status=2,
                           env={"ATOLL_SIM_DEVICES": "2", "ATOLL_HEAT3D_FAULT": "device"})
        require("atoll-heat3d: device: inner cells" in output.errors and "rank 1 of 2" in output.errors, output.errors)
        output = bench.run([*words, "--backend", "device-sim"], 2, status=2, env={**DEVICES, "ATOLL_SIM_MEMORY": "64K"})
        require(output.errors.count("atoll-heat3d: memory does not suffice: the fields") == 1, output.errors)
    if ranks == 4:
        for grid in ("4,1,1", "1,4,1", "2,2,1"):
            words = ["-X", "4", "-Y", "4", "-Z", "3", "-N", "12", "-T0", "0.2"]
            path = bench.path("device.raw")
            bench.run([*words, *device, "--grid", grid, "--quiet", "--dump", path], 4, env=DEVICES)
            with open(path, "rb") as file:
                require(file.read() == bench.field(words), f"grid {grid} gives another field")


def graph(bench):
    """Many steps at once, whose planes travel in streams of simulated devices."""
    many_steps_at_once(bench, "graph")
    if bench.ranks == 2 and not bench.hosts:
        output = bench.run([*EIGENMODE, "-N", "20", "--backend", "device-sim", "--exchange", "graph"], 2, status=2,
                           env={"ATOLL_SIM_DEVICES": "2", "ATOLL_HEAT3D_FAULT": "device"})
        require("atoll-heat3d: device: inner cells" in output.errors and "rank 1 of 2" in output.errors, output.errors)
        output = bench.run([*EIGENMODE, "--exchange", "graph"], 2, status=2)
        require("needs a back end on devices" in output.errors, output.errors)


def kernel(bench):
    """Many steps at once in one kernel that threads play, which stores planes into the halos of other simulated devices."""
    many_steps_at_once(bench, "device")
    if bench.ranks == 2 and not bench.hosts:
        output = bench.run([*EIGENMODE, "--exchange", "device"], 2, status=2)
        require("one kernel runs all steps" in output.errors, output.errors)


def many_steps_at_once(bench, exchange):
    """The fields and sums of single steps."""
    ranks, device = bench.ranks, ["--backend", "device-sim", "--exchange", exchange]
    path, times = bench.path(f"{exchange}.raw"), bench.path("times.csv")
    if bench.hosts:
        output = bench.run([*ASYMMETRIC, "-N", "5", *device], ranks, status=2, env=DEVICES)
        require(output.errors.count("which are neighbours, are on two; use rma") == 1, output.errors)
        return

    def same(words, extra=()):
        """The field of one host; returns what was printed."""
        output = bench.run([*words, *device, *extra, "--dump", path], ranks, env=DEVICES)
        with open(path, "rb") as file:
            require(file.read() == bench.field(words), f"{output.what}\ngives another field")
        return output

    # Power goes off in the midst of a piece of steps, which begin wherever a sum was taken: also at odd steps.
    for last, interval in ((61, 9), (24, 100), (50, 1)):
        words = [*ASYMMETRIC[:-1], str(last), "-I", str(interval)]
        expected = bench.run(words).means()
        require(len(expected) == len({*range(0, last, interval), last}), f"means: {expected}")
        same(words, ["--times", times]).expect_means(expected)
        with open(times, encoding="ascii") as file:
            rows = [line.split(",") for line in file.read().splitlines()[1:]]
        require(len(rows) == last + 1 and all(0 < float(each) < 100 for row in rows for each in row[1:]), f"times: {rows}")
    same([*ASYMMETRIC[:-1], "30", "--warmup", "0"])
    same([*ASYMMETRIC[:-1], "33", "--stop-after", "7", "--warmup", "9"])
    # Swapped, mirrored or transposed planes would be seen.
    output = bench.run([*EIGENMODE, "-N", "25", *device], ranks, env=DEVICES)
    require("exact field      ok" in output.text, f"{output.what}\ndid not compare the field\n{output.text}")
    # A heat front with numbers that are flushed: in blocks without inner cells, in tiles that blocks of threads of simulated devices keep, and
    # with too many cells for that.
    if ranks == 2:
        # Blocks of one cell, without inner ones.
        same(["-X", "3", "-Y", "3", "-Z", "2", "-N", "40", "-T0", "0.2"])
        for grid in ("1,1,2", "2,1,1"):
            same(["-X", "330", "-Y", "2", "-Z", "2", "-N", "700", "--stop-after", "325"], ["--grid", grid])
    if ranks == 1:
        same(["-X", "700", "-Y", "2", "-Z", "2", "-N", "700", "--stop-after", "325"])
    if ranks == 4:
        for grid in ("4,1,1", "1,4,1", "1,1,4", "2,2,1", "2,1,2"):
            same(["-X", "4", "-Y", "5", "-Z", "4", "-N", "29", "-T0", "0.2"], ["--grid", grid])


def crowd_rank_1(bench, words):
    """A run of two ranks bound to a core each, of which rank 0 has its own and rank 1 does not."""
    cores = sorted(os.sched_getaffinity(0))
    others = [subprocess.Popen([sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{core}])\nwhile True: pass"])
              for core in cores[1:] or cores]
    try:
        subprocess.run([bench.launcher, "run", "-n", "2", "--bind", "core", bench.heat3d, *words], capture_output=True, check=True,
                       timeout=100)
    finally:
        for other in others:
            other.kill()
            other.wait()


def results(bench):
    """Many jobs add to one file at the same time, and none of it is lost."""
    database = bench.path("runs.db")
    words = ["-X", "6", "-Y", "6", "-Z", "6", "-N", "40", "--quiet", "--results", database]
    jobs, rounds = 8, 2
    for _ in range(rounds):
        running = [subprocess.Popen([bench.heat3d, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                   for _ in range(jobs)]
        for job in running:
            text, _ = job.communicate(timeout=100)
            require(job.returncode == 0, f"a job failed: {text}")
    bench.run([*words, "--backend", "plain"], 2)
    connection = sqlite3.connect(database)
    count = lambda sql: connection.execute(sql).fetchone()[0]
    runs = jobs * rounds + 1
    require(count("SELECT count(*) FROM runs") == runs, "runs were lost")
    require(count("SELECT count(*) FROM steps") == runs * 41, "steps were lost")
    require(count("SELECT count(*) FROM runs WHERE passed = 1 AND residual < 1e-12") == runs, "checks were lost")
    require(count("SELECT count(*) FROM runs WHERE ranks = 2 AND grid = '1x1x2' AND backend = 'plain'") == 1, "columns")
    require(count("SELECT min(max_s >= rank0_s AND rank0_s > 0) FROM steps") == 1, "durations make no sense")
    require(count("SELECT count(*) FROM machines JOIN runs USING (run) WHERE machines.runs = 'runs' AND processor != '' AND "
                  "compiler LIKE '%.%' AND mpi != '' AND processors > 0 AND load >= 0 AND waited BETWEEN 0 AND 1") == runs, "machines")
    crowd_rank_1(bench, [*words, "-N", "20000", "--no-check"])
    require(count("SELECT waited > 0.1 FROM machines ORDER BY run DESC LIMIT 1") == 1, "rank 1 was kept from its core and nobody saw it")
    beside = lambda: [name for name in os.listdir(os.path.dirname(database)) if name.startswith("runs.db-")]
    require(beside() == [], f"left beside the file: {beside()}")
    connection.execute("PRAGMA journal_mode=WAL")  # as files of earlier versions are
    connection.close()
    bench.run(words, 1)
    subprocess.run([bench.launcher, "report", database, "-o", bench.path("page")], capture_output=True, check=False)
    require(beside() == [], f"left beside an older file: {beside()}")

    times = bench.path("times.csv")
    bench.run(["-X", "6", "-Y", "6", "-Z", "6", "-N", "10", "--times", times], 2)
    with open(times, encoding="ascii") as file:
        lines = file.read().splitlines()
    require(lines[0] == "step,max_s,rank0_s" and len(lines) == 12, f"{times}: {lines[:2]}, {len(lines)} lines")


def progress(bench):
    """At a terminal a line says how far the run is, which fits in one row."""
    def own_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    words = ["-X", "4", "-Y", "4", "-Z", "4", "-I", "5000000", "-N", "5000000"]  # nobody waits for the end
    for ranks in (1, 2):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
        job = subprocess.Popen([bench.launcher, "run", "-n", str(ranks), bench.heat3d, *words], stdin=slave, stdout=slave, stderr=slave,
                               preexec_fn=own_terminal)
        os.close(slave)
        seen = b""
        while not re.search(rb"\x1b\[Kstep \d+ of 5000000[^\r]*\r", seen):
            require(select.select([master], [], [], 60)[0], f"no line says how far the run is: {seen}")
            seen += os.read(master, 4096)
        require(max(map(len, re.findall(rb"step \d+ of [^\r\n]*", seen))) < 30, f"a line is longer than a row: {seen}")
        os.write(master, b"\x03")
        require(job.wait(timeout=60) == 130, f"Ctrl-C: {job.returncode}")
        os.close(master)


def errors(bench):
    """What users do wrong gets one line from one rank, and a status that says so."""
    small = ["-X", "4", "-Y", "4", "-Z", "4", "-N", "3", "--quiet"]
    for words, ranks, mentioned in (
        (["--bogus"], 2, "--bogus"),
        (["-X", "-5"], 2, "-X"),
        (["--exchange", "pigeon"], 2, "this build has rma"),
        (["--backend", "abacus"], 2, "this build has plain"),
        (["-X", "1", "-Y", "1", "-Z", "2"], 4, "cannot be divided"),
        ([*small, "--grid", "3,1,1"], 2, "is for 3 ranks, but the job has 2"),
        ([*small, "--exchange", "none"], 2, "several ranks"),
        ([*small, "--times", "/dev/full"], 2, "No space left"),
        ([*small, "--dump", "/dev/full"], 2, "No space left"),
        ([*small, "--dump", "/nonexistent/x"], 2, "does the folder exist"),
        ([*small, "--results", "/nonexistent/x.db"], 2, "does the folder exist"),
        ([*small, "--results", "/dev/full"], 2, "--results /dev/full"),
        ([*small, "--slice", "/nonexistent/x.png"], 1, "--slice /nonexistent/x.png"),
        (["-X", "400", "-Y", "400", "-Z", "4", "-N", "1"], 2, "UPCXX_SHARED_HEAP_SIZE"),
        (["-X", "20000", "-Y", "20000", "-Z", "20000", "-N", "1"], 2, "memory does not suffice: the fields of 2 ranks"),
    ):
        env = {"UPCXX_SHARED_HEAP_SIZE": "4M"} if "UPCXX_SHARED_HEAP_SIZE" in mentioned else None
        output = bench.run(words, ranks, status=2, env=env)
        ours = [line for line in output.errors.splitlines() if line.startswith("atoll-heat3d: ")]
        require(len(ours) == 1 and mentioned in ours[0], f"{output.what}\nprinted\n{output.errors}")
    # Standard output on a full disk, without the launcher in between.
    with open("/dev/full", "w", encoding="ascii") as full:
        job = subprocess.run([bench.heat3d, *small], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    require(job.returncode == 2 and "standard output" in job.stderr, f"full disk: {job.returncode} {job.stderr}")
    # Without the launcher a job of one rank.
    job = subprocess.run([bench.heat3d, *small], stdout=subprocess.PIPE, text=True, check=False)
    require(job.returncode == 0 and job.stdout == "check passed\n", f"{job.returncode} {job.stdout}")


def mpi(bench):
    if not bench.mpirun or "mpi" not in bench.run(["--help"]).text:
        sys.exit(SKIPPED)
    expected = bench.field(ASYMMETRIC)
    for exchange in ("mpi", "mpi-tuned"):
        for ranks in (1, 2, 4):
            require(bench.field([*ASYMMETRIC, "--exchange", exchange, "--reduce-interval", "7"], ranks, "mpirun") ==
                    expected, f"{exchange} on {ranks} ranks gives another field")
        asymmetric(bench, 4, ["--exchange", exchange], "mpirun")
    # The one-sided variant runs under MPI's launcher as well, with the same ranks.
    for ranks in (1, 4):
        require(bench.field([*ASYMMETRIC, "--exchange", "rma"], ranks, "mpirun") == expected,
                f"rma under mpirun on {ranks} ranks gives another field")
    output = bench.run([*EIGENMODE, "-N", "20", "--exchange", "mpi"], 4, status=1, launcher="mpirun",
                       env={"ATOLL_HEAT3D_FAULT": "late"})
    require("check FAILED" in output.text, "a late halo went unnoticed")
    output = bench.run(["--exchange", "mpi"], 2, status=2)
    require("mpirun" in output.errors, f"no advice: {output.errors}")


def command_lines():
    """Of all processes."""
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/cmdline", encoding="utf-8", errors="replace") as file:
                yield file.read()
        except OSError:  # it has ended
            pass


def wait_for(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        require(time.monotonic() < deadline, f"waited in vain: {what}")
        time.sleep(0.02)


def study(bench):
    """The study at sizes that say nothing: all variants in turn, until the memory is full; interrupted ones go on."""
    def run(words, env=None, status=0):
        job = subprocess.run([bench.launcher, "heat-study", "--no-report", "--steps", "5", "--warmup", "1", *words],
                             env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             check=False)
        require(job.returncode == status, f"{words} ended with {job.returncode}\n{job.stdout}{job.stderr}")
        return job.stdout + job.stderr

    def runs_in(folder):
        connection = sqlite3.connect(os.path.join(folder, "runs.db"))
        rows = connection.execute("SELECT x, ranks, devices, exchange FROM runs WHERE backend = ? AND steps = 5", (backend,))
        found = sorted(rows.fetchall())
        connection.close()
        return found

    folder, backend = bench.path("devices"), "device-sim"
    small = {"ATOLL_SIM_DEVICES": "2", "ATOLL_SIM_MEMORY": "512K"}
    words = ["--backend", backend, "--per-device", "1,2", "--ranks", "1,2", "-o", folder]
    text = run([*words, "--sizes", "6,12,48"], small)
    sent = ("off", "rma", "graph", "device", "rma-staged")
    expected = sorted((edge, ranks, devices, exchange) for edge in (6, 12) for ranks, devices in ((1, 1), (2, 1), (2, 2))
                      for exchange in (sent if ranks > 1 else ("rma", "graph", "device")))
    require(runs_in(folder) == expected, f"{runs_in(folder)}\n{text}")
    require(text.count("memory does not suffice") == 3 and "done." in text, text)
    require("message passing is left out" in text, text)
    # The same again: nothing is run twice, what is new is.
    text = run([*words, "--sizes", "6,12", "--repeat", "2", "--variants", "rma"], small)
    require(text.count("(done before)") == 6 and len(runs_in(folder)) == len(expected) + 6, text)

    folder, backend = bench.path("host"), "plain-fused"
    run(["--backend", backend, "--ranks", "1,2", "--sizes", "8", "-o", folder])
    found = {exchange for _, ranks, _, exchange in runs_in(folder) if ranks == 2}
    mpi_too = bench.mpirun and shutil.which("mpirun") and "mpi" in bench.run(["--help"]).text
    require(found == {"rma", "off"} | ({"mpi", "mpi-tuned"} if mpi_too else set()), f"variants: {found}")

    for words, mentioned in ((["--backend", "abacus"], "this build has"), (["--variants", "pigeon"], "pigeon is unknown"),
                             (["--ranks", "0"], "expected positive numbers"), (["--backend", "device-sim"], "no device here")):
        job = subprocess.run([bench.launcher, "heat-study", "-o", folder, *words], capture_output=True, text=True, check=False,
                             env={**os.environ, "ATOLL_SIM_DEVICES": "0"})
        require(job.returncode != 0 and mentioned in job.stderr and "Traceback" not in job.stderr, f"{words}: {job.stderr}")
    # What is running when the study is asked to end ends with it.
    folder = bench.path("ended")
    job = subprocess.Popen([bench.launcher, "heat-study", "--sizes", "64", "--ranks", "1", "--steps", "1000000", "-o", folder],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: os.path.exists(os.path.join(folder, "runs.db")), "a run begins")
    job.terminate()
    require("goes on from here" in job.communicate(timeout=60)[1], "the study does not say that it was interrupted")
    wait_for(lambda: not any(folder in words for words in command_lines()), "nothing of the study is left")
    # A run that fails is said, and the study with it; the others go on.
    text = run(["--backend", "device-sim", "--ranks", "2", "--sizes", "6", "-o", bench.path("broken")],
               {"ATOLL_SIM_DEVICES": "2", "ATOLL_HEAT3D_FAULT": "device"}, status=1)
    require(text.count("FAILED: device: inner cells") == 4, text)


def report(bench):
    database, folder = bench.path("runs.db"), bench.path("report")
    command = [bench.launcher, "report", database, "-o", folder]
    job = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if "matplotlib" in job.stderr:
        sys.exit(SKIPPED)
    require(job.returncode == 2 and "no such file" in job.stderr, f"missing file: {job.returncode} {job.stderr}")
    for edge in ("8", "12"):
        for exchange in ("rma", "put"):
            for ranks in (1, 2):
                bench.run(["-X", edge, "-Y", edge, "-Z", edge, "-N", "60", "--exchange", exchange, "--quiet",
                           "--results", database], ranks)
    job = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    require(job.returncode == 0, f"{job.returncode} {job.stdout}{job.stderr}")
    require(job.stdout.count("passed") == 8, job.stdout)
    for name in ("histogram.png", "sizes.png", "scaling.png"):
        with open(os.path.join(folder, name), "rb") as file:
            require(file.read(8) == b"\x89PNG\r\n\x1a\n", f"{name} is no picture")
    with open(os.path.join(folder, "index.html"), encoding="utf-8") as file:
        page = file.read()
    require(page.count("data:image/png;base64,") == 3 and "http:" not in page and "https:" not in page, "the page is not self-contained")
    require(page.count('alt="Chart of ') == 3 and all(f"<td>{fact}</td>" in page for fact in ("Processor", "Compiler", "MPI", "Load before")),
            "the page does not say what is drawn, or of which machine")
    for kind in ("svg", "pdf"):
        require(os.path.getsize(os.path.join(folder, f"scaling.{kind}")) > 1000, f"no picture as {kind}")

    # Nobody waits in the steps of one rank with a device, nor without exchange: no times of single steps are shown.
    database, folder = bench.path("devices.db"), bench.path("devices")
    # Devices that do many steps at once tell them themselves.
    for ranks, exchange in ((1, "rma"), (2, "off"), (2, "rma"), (1, "graph"), (2, "graph"), (1, "device"), (2, "device")):
        bench.run(["-X", "6", "-Y", "6", "-Z", "6", "-N", "20", "--backend", "device-sim", "--exchange", exchange, "--quiet",
                   "--results", database], ranks, env={"ATOLL_SIM_DEVICES": "2"})
    printed = subprocess.run([bench.launcher, "report", database, "-o", folder], capture_output=True, text=True, check=True).stdout
    rows = {(words[1], words[5]): words for line in printed.splitlines() if line.startswith("6³") for words in [line.split()]}
    columns = {key: len(words) for key, words in rows.items()}
    # Without percentiles: three fewer; and beyond the kernels only where something was sent, a residual where it was checked, and
    # a share of communication where the host sees it.
    require(columns == {("1", "rma"): 13, ("2", "rma"): 17, ("2", "off"): 12, ("1", "graph"): 15, ("2", "graph"): 16,
                        ("1", "device"): 15, ("2", "device"): 16}, f"{columns}\n{printed}")
    require(os.path.exists(os.path.join(folder, "histogram.png")), printed)
    bare = bench.path("bare.db")
    bench.run(["-X", "6", "-Y", "6", "-Z", "6", "-N", "20", "--backend", "device-sim", "--quiet", "--results", bare], 1, env=DEVICES)
    subprocess.run([bench.launcher, "report", bare, "-o", bench.path("bare")], capture_output=True, check=True)
    require(not os.path.exists(os.path.join(bench.path("bare"), "histogram.png")), "one rank on a device has a histogram")

    picture = bench.path("slice.png")
    bench.run([*EIGENMODE, "-N", "5", "--slice", picture, "--slice-axis", "x", "--quiet"], 4)
    with open(picture, "rb") as file:
        require(file.read(8) == b"\x89PNG\r\n\x1a\n", "the slice is no picture")
    output = bench.run([*EIGENMODE, "-N", "5", "--slice", picture, "--quiet"], 2, status=2,
                       env={"ATOLL_PYTHON": "/nonexistent/python"})
    require("python3-matplotlib" in output.errors, f"no advice: {output.errors}")


GROUPS = {f.__name__: f for f in (reference, grids, backends, devices, graph, kernel, faults, results, progress, errors, mpi, study, report)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launcher", required=True)
    parser.add_argument("--heat3d", required=True)
    parser.add_argument("--mpirun")
    parser.add_argument("--kokkos-needs-device", action="store_true", help="leave that back end out")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--hosts", help="simulated hosts of the runs on that many ranks")
    parser.add_argument("group", choices=GROUPS)
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="heat3d-")
    try:
        GROUPS[arguments.group](Bench(arguments, folder))
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
