"""How the program is started, and what is looked for in what it prints."""

import os
import re
import subprocess
import time

SKIPPED = 77
PATIENCE = 300  # seconds, which only ends what hangs


class Failure(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failure(text)


def wait_for(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        require(time.monotonic() < deadline, f"waited in vain: {what}")
        time.sleep(0.02)


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
            command = [self.launcher, "run", "-n", str(ranks), "--timeout", str(PATIENCE)]
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
