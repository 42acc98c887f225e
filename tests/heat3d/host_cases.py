"""What is computed: on hosts, by any grid of ranks, with messages, and with halos that are broken."""

import math
import re
import struct
import sys

from harness import require, SKIPPED
from problems import ASYMMETRIC, asymmetric, EDGE_20_MEANS, EIGENMODE, probes


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
