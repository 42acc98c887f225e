"""What simulated devices compute: the host's fields, bit for bit."""

import os
import subprocess

from harness import require
from problems import ASYMMETRIC, ASYMMETRIC_MEANS, EIGENMODE

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


def gpu(bench):
    """The devices of this machine: the host's fields, bit for bit, in single steps and in many at once."""
    expected = bench.field([*ASYMMETRIC, "--stop-after", "51"])
    for backend in ("cuda", "kokkos") if bench.kokkos_needs_device else ("cuda",):
        for exchange in ("rma", "rma-staged"):
            path = bench.path("gpu.raw")
            words = [*ASYMMETRIC, "--stop-after", "51", "-I", "50", "--backend", backend, "--exchange", exchange]
            output = bench.run([*words, "--dump", path], bench.ranks)
            output.expect_means({step: mean for step, mean in ASYMMETRIC_MEANS.items() if step <= 50})
            with open(path, "rb") as file:
                require(file.read() == expected, f"{output.what}\ngives another field")
    output = bench.run([*ASYMMETRIC, "--backend", "cuda"], bench.ranks, status=2, env=DEVICES)
    require(output.errors.count("(ATOLL_SIM_DEVICES): unset that") == 1, output.errors)
    many_steps_at_once(bench, "graph", "cuda")
    # Kernels that wait for each other share a device only as far as it lets them take turns.
    devices_here = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True, check=False).stdout.count("GPU ")
    if bench.ranks <= devices_here:
        many_steps_at_once(bench, "device", "cuda")


def many_steps_at_once(bench, exchange, backend="device-sim"):
    """The fields and sums of single steps."""
    ranks, device = bench.ranks, ["--backend", backend, "--exchange", exchange]
    env = DEVICES if backend == "device-sim" else {}
    path, times = bench.path(f"{exchange}.raw"), bench.path("times.csv")
    if bench.hosts:
        output = bench.run([*ASYMMETRIC, "-N", "5", *device], ranks, status=2, env=env)
        require(output.errors.count("which are neighbours, are on two; use rma") == 1, output.errors)
        return

    def same(words, extra=()):
        """The field of one host; returns what was printed."""
        output = bench.run([*words, *device, *extra, "--dump", path], ranks, env=env)
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
    output = bench.run([*EIGENMODE, "-N", "25", *device], ranks, env=env)
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
