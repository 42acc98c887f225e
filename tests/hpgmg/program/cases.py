"""Runs atoll-hpgmg under the launchers, at small sizes. The numbers are compared by the program itself, with results of the
public reference; here it is seen that it does, and that ways of communicating give the same bits."""

import argparse
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

SKIPPED = 77
PATIENCE = 300  # seconds, which only ends what hangs
BRIEF = ["--seconds", "0", "--solves", "1", "--warmup", "1"]


class Failure(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failure(text)


class Bench:
    """Where programs are and how they are started."""

    def __init__(self, arguments, folder):
        self.launcher, self.hpgmg, self.mpirun = arguments.launcher, arguments.hpgmg, arguments.mpirun
        self.ranks = arguments.ranks
        self.folder = folder
        text = self.run(["--help"]).stdout
        names = re.search(r"How data moves between ranks: (.*)", text)
        self.variants = re.findall(r"[+a-z]+", names.group(1))
        self.has_threads = "no OpenMP" not in text

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, words, ranks=1, status=0, env=None, mpi=False):
        """Runs the program, whose status must be the given one."""
        start = [self.mpirun, "-n", str(ranks)] if mpi else [self.launcher, "run", "-n", str(ranks), "--timeout", str(PATIENCE)]
        allow = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        command = [*start, self.hpgmg, *map(str, words)]
        # The program itself sees to the size of the shared heaps.
        inherited = {name: value for name, value in os.environ.items() if name != "UPCXX_SHARED_HEAP_SIZE"}
        job = subprocess.run(command, env={**inherited, **(allow if mpi else {}), **(env or {})}, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=False)
        require(job.returncode == status,
                f"{' '.join(command)}\nended with {job.returncode} instead of {status}\n{job.stdout}{job.stderr}")
        return job

    def numbers(self, words, ranks=1, mpi=False):
        """What a run computed: everything that does not depend on time."""
        path = self.path("run.json")
        self.run([*words, *BRIEF, "--quiet", "--json", path], ranks, mpi=mpi)
        with open(path, encoding="ascii") as file:
            run = json.load(file)
        require(run["passed"], f"{words}: {run}")
        sizes = [(s["cells"], s["source_norm"], s["residual_norm"], s["bottom_iterations"]) for s in run["sizes"]]
        return sizes, run["richardson_error"], run["largest_eigenvalue"]


def variants(bench):
    """Every way of communicating gives the same bits."""
    boxes = 1 if bench.ranks == 1 else 8 // bench.ranks
    expected = None
    for variant in bench.variants:
        if variant == "mpi":
            continue
        found = bench.numbers(["4", boxes, "--smoother", "cheby", "--order", "lex", "--comm", variant], bench.ranks)
        expected = expected or found
        require(found == expected, f"{variant} computes something else:\n{found}\n{expected}")


def problems(bench):
    """What is printed, and problems with and without known results."""
    text = bench.run(["4", "4", "--cycle", "f", *BRIEF], 2).stdout
    for part in ("32^3 cells in 8 boxes of 16^3", "h = 1/32: 1 solves timed", "2h = 1/16", "4h = 1/8", "DOF/s",
                 "residual 8.41294974", "8 iterations of the bottom", "most of a rank", "bytes per cell", "messages, ",
                 "5120 (2560) doubles, 24 local copies", "error 2.7415245618", "check passed: 12"):
        require(part in text, f"no {part} in\n{text}")
    for words in (["4", "27", "--operator", "7pt"], ["4", "1", "--helmholtz", "--periodic"], ["4", "4", "--cycle", "v"],
                  ["4", "4", "--order", "bisection", "--cycle", "fv", "--operator", "7pt"], ["4", "4", "--order", "primes"]):
        bench.run([*words, "--quiet", *BRIEF], 2 if words[1] == "4" else 1)
    text = bench.run(["4", "1", "--helmholtz", *BRIEF]).stdout
    require("check passed: 6" in text, text)
    text = bench.run(["4", "1", "--helmholtz", "--operator", "7pt", *BRIEF]).stdout
    require("no results of the public reference" in text, text)
    require(bench.run(["4", "1", "--quiet", *BRIEF]).stdout == "check passed\n", "quiet is not")
    require("check off" in bench.run(["4", "1", "--no-check", *BRIEF]).stdout, "check on")


def faults(bench):
    """Ghosts that get lost are noticed."""
    job = bench.run(["4", "4", *BRIEF], 2, status=1, env={"ATOLL_HPGMG_FAULT": "lost"})
    require("WRONG: residual on h" in job.stdout and "check FAILED" in job.stdout, job.stdout)


def results(bench):
    """Many jobs add to one file at the same time, and none of it is lost."""
    database = bench.path("runs.db")
    words = ["4", "1", *BRIEF, "--quiet", "--results", database]
    jobs = 6
    running = [subprocess.Popen([bench.hpgmg, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
               for _ in range(jobs)]
    for job in running:
        text, _ = job.communicate(timeout=PATIENCE)
        require(job.returncode == 0, f"a job failed: {text}")
    bench.run(["4", "4", "--comm", "baseline", "--solves", "3", "--seconds", "0", "--results", database], 2)
    connection = sqlite3.connect(database)
    count = lambda sql: connection.execute(sql).fetchone()[0]
    require(count("SELECT count(*) FROM hpgmg_runs WHERE passed = 1") == jobs + 1, "runs were lost")
    require(count("SELECT count(*) FROM machines WHERE runs = 'hpgmg_runs' AND processor != ''") == jobs + 1, "machines were lost")
    last = jobs + 1
    require(count(f"SELECT count(*) FROM hpgmg_solves WHERE run = {last}") == 9, "solves were lost")
    require(count(f"SELECT comm_lines FROM hpgmg_runs WHERE run = {last}") > 50, "lines were not counted")
    require(count("SELECT min(best_s <= mean_s AND best_s > 0) FROM hpgmg_sizes") == 1, "durations make no sense")
    # The same doubles whatever a message is, in one exchange as in a solve.
    sent = dict(connection.execute(f"SELECT form, doubles FROM hpgmg_transfers WHERE run = {last} AND level = 0 AND operation "
                                   "LIKE 'exchange, op%'"))
    require(set(sent) == {"row", "region", "rank"} and len(set(sent.values())) == 1 and sent["row"] == 5120, f"{sent}")
    forms = dict(connection.execute(f"SELECT form, sum(bytes) FROM hpgmg_messages WHERE run = {last} GROUP BY form"))
    require(len(forms) == 3 and max(forms.values()) - min(forms.values()) < 1e-6 * forms["row"], f"{forms}")
    connection.close()


def errors(bench):
    """What users do wrong gets one line from one rank, and a status that says so."""
    for words, mentioned, env in (
        (["3", "1"], "log2_box", None),
        (["4", "0"], "boxes_per_rank", None),
        (["4"], "boxes_per_rank", None),
        (["4", "1", "--comm", "pigeon"], "this build has baseline", None),
        (["4", "1", "--bogus"], "--bogus", None),
        (["9", "1000"], "memory does not suffice: the grids of 6144^3", None),
        (["4", "8"], "UPCXX_SHARED_HEAP_SIZE", {"UPCXX_SHARED_HEAP_SIZE": "2M"}),
        # The grids fit, and the messages of one rank do not.
        (["4", "64", "--comm", "bulk", "--seconds", "0"], "buffers of messages do not fit", {"UPCXX_SHARED_HEAP_SIZE": "53000K"}),
        (["4", "1", "--results", "/nonexistent/x.db"], "does the folder exist", None),
        (["4", "1", "--json", "/nonexistent/x"], "does the folder exist", None),
        (["4", "1", *BRIEF, "--quiet", "--json", "/dev/full"], "No space left", None),
        (["4", "1", "--results", bench.path("one"), "--json", bench.path("./one")], "--results and --json name one file", None),
    ):
        job = bench.run(words, 2, status=2, env=env)
        ours = [line for line in job.stderr.splitlines() if line.startswith("atoll-hpgmg: ")]
        require(len(ours) == 1 and mentioned in ours[0], f"{words}\nprinted\n{job.stderr}")
    with open("/dev/full", "w", encoding="ascii") as full:
        job = subprocess.run([bench.hpgmg, "4", "1", *BRIEF], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    require(job.returncode == 2 and "standard output" in job.stderr, f"full disk: {job.returncode} {job.stderr}")


def mpi(bench):
    if not bench.mpirun or not shutil.which(bench.mpirun) or "mpi" not in bench.variants:
        sys.exit(SKIPPED)
    words = ["4", "4"]
    expected = bench.numbers(words, 2)
    require(bench.numbers([*words, "--comm", "mpi"], 2, mpi=True) == expected, "messages compute something else")
    require(bench.numbers([*words, "--comm", "+local"], 2, mpi=True) == expected, "under mpirun something else is computed")
    job = bench.run(["4", "1", "--comm", "mpi"], 2, status=2)
    require("use mpirun" in job.stderr, f"no advice: {job.stderr}")


def study(bench):
    """The study at sizes that say nothing: all variants in turn, once; interrupted ones go on; then its pictures."""
    folder = bench.path("study")
    words = [bench.launcher, "hpgmg-study", "-o", folder, "--boxes", "8", "--seconds", "0", "--solves", "1", "--warmup", "1"]

    def run(extra, status=0):
        job = subprocess.run([*words, *extra], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        require(job.returncode == status, f"{extra} ended with {job.returncode}\n{job.stdout}{job.stderr}")
        return job.stdout + job.stderr

    def runs():
        connection = sqlite3.connect(os.path.join(folder, "runs.db"))
        found = connection.execute("SELECT cells, ranks, boxes_per_rank, comm FROM hpgmg_runs").fetchall()
        connection.close()
        return sorted(found)

    run(["--ranks", "1,2", "--no-report"])
    with_mpi = bench.mpirun and shutil.which("mpirun")
    variants_here = [v for v in bench.variants if v != "mpi" or with_mpi]
    expected = sorted((32, ranks, 8 // ranks, v) for ranks in (1, 2) for v in variants_here)
    require(runs() == expected, f"{runs()}\n{expected}")
    text = run(["--ranks", "2", "--no-report"])
    require(text.count("(done before)") == len(variants_here) and runs() == expected, text)
    for extra, mentioned in ((["--variants", "pigeon"], "pigeon is unknown"), (["--ranks", "0"], "positive numbers"),
                             (["--ranks", "1,8,32"], "32³ cells on 1 rank, but 48³ on 32;"),
                             (["--boxes", "1", "--ranks", "2,4,8,16"], "16³ cells on 2 ranks, but 32³ on 8, 32³ on 16;")):
        job = subprocess.run([*words, *extra], capture_output=True, text=True, check=False)
        require(job.returncode != 0 and mentioned in job.stderr and "Traceback" not in job.stderr, f"{extra}: {job.stderr}")

    pictures = bench.path("pictures")
    job = subprocess.run([bench.launcher, "report", os.path.join(folder, "runs.db"), "-o", pictures], capture_output=True, text=True,
                         check=False)
    if "matplotlib" in job.stderr:
        sys.exit(SKIPPED)
    require(job.returncode == 0 and job.stdout.count("passed") == len(expected), f"{job.stdout}{job.stderr}")
    for name in ("variants", "levels", "messages", "sizes"):
        with open(os.path.join(pictures, f"{name}.png"), "rb") as file:
            require(file.read(8) == b"\x89PNG\r\n\x1a\n", f"{name} is no picture")
    with open(os.path.join(pictures, "index.html"), encoding="utf-8") as file:
        page = file.read()
    require(page.count("data:image/png;base64,") == 4 and "http:" not in page and "https:" not in page, "the page is not self-contained")
    # One run of one variant has no line over ranks, but a page all the same; so has one without messages.
    single = bench.path("single.db")
    threads, named = (["--threads", "2"], ", 2 threads each") if bench.has_threads else ([], "")
    bench.run(["4", "1", *BRIEF, "--no-check", "--cycle", "v", "--periodic", *threads, "--results", single])
    job = subprocess.run([bench.launcher, "report", single, "-o", pictures], capture_output=True, text=True, check=False)
    require(job.returncode == 0 and f"V-cycles, periodic{named}" in job.stdout, f"{job.stdout}{job.stderr}")


GROUPS = {f.__name__: f for f in (variants, problems, faults, results, errors, mpi, study)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launcher", required=True)
    parser.add_argument("--hpgmg", required=True)
    parser.add_argument("--mpirun")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("groups", nargs="+", choices=sorted(GROUPS))
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hpgmg-")
    try:
        bench = Bench(arguments, folder)
        for name in arguments.groups:
            GROUPS[name](bench)
    except Failure as failure:
        sys.exit(str(failure))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
