#!/usr/bin/env python3
"""Runs the heat simulation as the study did that compared one-sided communication with message passing.

Cubes whose edge doubles from 100 until the memory is full, 3 steps that are thrown away and 500 that are timed, on 1, 2 and
4 ranks. The variants take turns at each size, so that they meet the same machine. All runs land in FOLDER/runs.db, which
`atoll report` draws; a study that was interrupted is continued by the same command.
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "share", "atoll"))
from studies import NO_MPI, CannotStudy, Study, argument_parser, numbers, output_of, parse, run_study  # noqa: E402

MEMORY_FULL = "memory does not suffice"
NO_CUDA_IN_MPI = ("does not take device memory", "does not move device memory")
NAMES = {
    "rma": "one-sided (rma)",
    "put": "signalling put (put)",
    "mpi": "message passing (mpi)",
    "mpi-tuned": "pre-posted receives (mpi-tuned)",
    "mpi-cuda": "message passing of device memory (mpi-cuda)",
    "rma-staged": "one-sided, staged (rma-staged)",
    "graph": "many steps at once (graph)",
    "device": "one kernel for many steps (device)",
    "off": "kernels alone (off)",
}
ON_HOST = ["rma", "mpi", "mpi-tuned", "off"]
ON_DEVICES = ["rma", "graph", "device", "mpi-cuda", "mpi", "rma-staged", "off"]


def choices(help_text, what):
    """The names after "What computes:", "on devices:" or "How halos travel:" in the help of the simulation."""
    found = re.search(what + r":([^;\n]*(?:\n {8,}[^;\n]*)*)", help_text)
    return re.findall(r"[a-z0-9-]+", found.group(1)) if found else []


def devices_here(launcher):
    """How many devices a process sees, by `atoll info`."""
    _, text, _ = output_of([launcher, "info"])
    return len(re.findall(r"^\s+(?:cuda|hip|ze) device \d+: ", text, re.M))


class Setup:
    """Ranks, and the devices that they share; 0 devices: they compute on the host."""

    def __init__(self, ranks, devices):
        self.ranks, self.devices = ranks, devices
        self.is_full = False  # a field of this size or smaller did not fit
        self.broken = set()   # variants that failed

    def __str__(self):
        ranks = f"{self.ranks} rank{'s' if self.ranks > 1 else ''}"
        if not self.devices:
            return ranks
        return f"{ranks} on {self.devices} device{'s' if self.devices > 1 else ''}"


class HeatStudy(Study):
    def __init__(self, options):
        super().__init__(HERE, "atoll-heat3d", options)
        _, help_text, _ = output_of([self.application, "--help"])
        backends = choices(help_text, "What computes")
        self.visible = devices_here(self.launcher)
        self.backend = options.backend or ("cuda" if "cuda" in backends and self.visible else "plain-fused")
        if self.backend not in backends:
            raise CannotStudy(f"--backend {self.backend}: this build has {', '.join(backends)}")
        self.on_devices = self.backend in choices(help_text, "on devices")
        if self.on_devices and not self.visible:
            raise CannotStudy(f"--backend {self.backend}: no device here; `atoll info` says what was looked for")
        exchanges = choices(help_text, "How halos travel")
        self.variants = self.chosen_variants(exchanges)
        self.setups = self.chosen_setups()

    def chosen_variants(self, exchanges):
        wanted = self.options.variants.split(",") if self.options.variants else None
        for name in wanted or []:
            if name not in NAMES:
                raise CannotStudy(f"--variants: {name} is unknown; there are {', '.join(NAMES)}")
        has_mpi = self.mpirun and self.backend != "device-sim"  # simulated devices are the library's
        found = [v for v in wanted or (ON_DEVICES if self.on_devices else ON_HOST)
                 if v in exchanges and (not v.startswith("mpi") or has_mpi) and (v != "mpi-cuda" or self.backend == "cuda")
                 and (v != "device" or self.backend in ("cuda", "device-sim"))]
        missing = [v for v in wanted or [] if v not in found]
        if missing:
            raise CannotStudy(f"--variants: {', '.join(missing)}: no MPI in this build or no mpirun in PATH, or not with --backend "
                              f"{self.backend}")
        return found

    def chosen_setups(self):
        o = self.options
        if not self.on_devices:
            cores = len(os.sched_getaffinity(0))
            return [Setup(r, 0) for r in o.ranks or [r for r in (1, 2, 4) if r <= cores]]
        if not o.ranks:
            o.ranks = [r * k for k in o.per_device for r in (1, 2, 4)]
        pairs = dict.fromkeys((r, r // k) for k in o.per_device for r in o.ranks
                              if r % k == 0 and r // k <= self.visible)
        if not pairs:
            raise CannotStudy(f"no number of --ranks fits {self.visible} devices with {o.per_device} ranks on each")
        return [Setup(r, d) for r, d in sorted(pairs)]

    def environment(self, setup, edge):
        settings = {}
        if "UPCXX_SHARED_HEAP_SIZE" not in os.environ:  # halo buffers: 32 bytes for each cell at a border
            settings["UPCXX_SHARED_HEAP_SIZE"] = f"{max(128, 64 + 96 * edge * edge // 2**20)}MB"
        if self.backend == "device-sim":
            settings["ATOLL_SIM_DEVICES"] = str(setup.devices)
        elif setup.devices:
            visible = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(self.visible)))).split(",")
            settings["CUDA_VISIBLE_DEVICES"] = ",".join(visible[:setup.devices])
        return settings

    def step_seconds(self, setup, edge, variant):
        """Of the runs of this kind that are in the database."""
        found = self.rows("SELECT seconds / steps FROM runs WHERE x = ? AND y = x AND z = x AND ranks = ? AND devices = ? AND "
                          "exchange = ? AND backend = ? AND steps = ? AND warmup = ? AND passed IS NOT 0 ORDER BY run",
                          (edge, setup.ranks, setup.devices, variant, self.backend, self.options.steps, self.options.warmup))
        return [row[0] for row in found]

    def run(self, setup, edge, variant):
        """One run. Returns what to print of it if it did not end well."""
        o = self.options
        words = ["-X", edge, "-Y", edge, "-Z", edge, "-N", o.steps - 1, "-I", 100, "--warmup", o.warmup, "--exchange", variant,
                 "--backend", self.backend]
        status, text = self.start(setup.ranks, words, variant.startswith("mpi"), self.environment(setup, edge))
        ours = [line[len("atoll-heat3d: "):] for line in text.splitlines() if line.startswith("atoll-heat3d: ")]
        if status != 0 and any(MEMORY_FULL in line for line in ours):
            setup.is_full = True
            return next(line for line in ours if MEMORY_FULL in line)
        if status != 0 and any(words in line for line in ours for words in NO_CUDA_IN_MPI):
            self.variants.remove(variant)
            return "left out: this MPI does not take device memory"
        if status != 0:
            setup.broken.add(variant)
            return self.failed(ours[0] if ours else "the result is wrong" if status == 1 else
                               f"it ran for more than {o.timeout} s" if status == 124 else f"status {status}")
        return None

    def result(self, edge, setup, variant, turn):
        """What to print of a run, which is made unless it was before."""
        done = self.step_seconds(setup, edge, variant)
        if len(done) > turn:
            return f"{1e3 * done[turn]:10.4f} ms a step  (done before)"
        self.show_running(f"{edge}³  {setup}  {NAMES[variant]}")
        problem = self.run(setup, edge, variant)
        if problem:
            return problem
        step = self.step_seconds(setup, edge, variant)[-1]
        alone = self.step_seconds(setup, edge, "off")
        beyond = f"  {1e6 * (step - alone[-1]):+9.1f} µs beyond the kernels" if alone and variant != "off" else ""
        return f"{1e3 * step:10.4f} ms a step{beyond}"

    def run_size(self, edge):
        for setup in self.setups:
            for turn in range(self.options.repeat):
                # One rank has nobody to send to: one variant tells all, and how it is without the host. The kernels first, to compare with.
                variants = sorted(self.variants, key=lambda v: v != "off") if setup.ranks > 1 else [
                    "rma", *(v for v in ("graph", "device") if v in self.variants)]
                for variant in variants:
                    if not setup.is_full and variant not in setup.broken and variant in [*self.variants, "rma"]:
                        self.say(f"{edge:>5}³  {str(setup):<20}  {NAMES[variant]:<43}  {self.result(edge, setup, variant, turn)}")
        self.setups = [s for s in self.setups if not s.is_full and not s.broken.issuperset(self.variants)]

    def run_all(self):
        o = self.options
        print(f"heat-study: {o.warmup} + {o.steps} steps, back end {self.backend}, {o.repeat} time{'s' if o.repeat > 1 else ''} "
              f"each, on {', '.join(map(str, self.setups))}\nvariants: {', '.join(NAMES[v] for v in self.variants)}")
        if not any(v.startswith("mpi") for v in self.variants):
            print(NO_MPI)
        sizes = iter(o.sizes) if o.sizes else (100 * 2**i for i in range(15))
        for edge in sizes:
            if (o.to and edge > o.to) or not self.setups:
                break
            self.run_size(edge)
        if not self.setups:
            print("Nothing larger fits: done.")


def main():
    parser = argument_parser("atoll heat-study", __doc__, "heat-study")
    parser.add_argument("--backend", help="what computes: plain, plain-fused, kokkos, cuda, device-sim (cuda where there is a "
                                          "device, else plain-fused)")
    parser.add_argument("--ranks", type=numbers, help="numbers of ranks (1,2,4, as far as there are cores or devices)")
    parser.add_argument("--per-device", type=numbers, default=[1], metavar="K",
                        help="ranks that share a device; 1,2 runs both (1)")
    parser.add_argument("--sizes", type=numbers, help="edges of the cubes (100, 200, 400 ... until the memory is full)")
    parser.add_argument("--to", type=int, metavar="EDGE", help="largest edge")
    parser.add_argument("--steps", type=int, default=500, help="timed steps (%(default)s)")
    parser.add_argument("--warmup", type=int, default=3, help="steps before them (%(default)s)")
    parser.add_argument("--variants", help=f"which of {','.join(NAMES)} (all that make sense)")
    options = parse(parser)
    run_study("atoll heat-study", HeatStudy, options)


if __name__ == "__main__":
    main()
