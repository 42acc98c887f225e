"""What is written and said: files of results, progress, and words about mistakes."""

import contextlib
import fcntl
import os
import pty
import re
import resource
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import termios

from harness import PATIENCE, require


def crowd_rank_1(bench, words):
    """A run of two ranks bound to a core each, of which rank 0 has its own and rank 1 does not."""
    cores = sorted(os.sched_getaffinity(0))
    others = [subprocess.Popen([sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{core}]); print(flush=True)\nwhile True: pass"],
                               stdout=subprocess.PIPE)
              for core in cores[1:] or cores]
    try:
        for other in others:
            other.stdout.readline()  # it is there
        subprocess.run([bench.launcher, "run", "-n", "2", "--bind", "core", bench.heat3d, *words], capture_output=True, check=True,
                       timeout=PATIENCE)
    finally:
        for other in others:
            other.kill()
            other.communicate()


def results(bench):
    """Many jobs add to one file at the same time, and none of it is lost."""
    database = bench.path("runs.db")
    words = ["-X", "6", "-Y", "6", "-Z", "6", "-N", "40", "--quiet", "--results", database]
    jobs, rounds = 8, 2
    for _ in range(rounds):
        running = [subprocess.Popen([bench.heat3d, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                   for _ in range(jobs)]
        for job in running:
            text, _ = job.communicate(timeout=PATIENCE)
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
            require(select.select([master], [], [], PATIENCE)[0], f"no line says how far the run is: {seen}")
            seen += os.read(master, 4096)
        require(max(map(len, re.findall(rb"step \d+ of [^\r\n]*", seen))) < 30, f"a line is longer than a row: {seen}")
        os.write(master, b"\x03")
        require(job.wait(timeout=PATIENCE) == 130, f"Ctrl-C: {job.returncode}")
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
        (["-X", "170", "-Y", "170", "-Z", "12", "-N", "3", "--grid", "1,1,3", "--dump", bench.path("d")], 3, "UPCXX_SHARED_HEAP_SIZE to more, for"),
        ([*small, "--times", bench.path("one"), "--dump", bench.path("one")], 2, "--times and --dump name one file"),
        ([*small, "--results", bench.path("one"), "--slice", bench.path("./one")], 2, "--results and --slice name one file"),
        (["-X", "20000", "-Y", "20000", "-Z", "20000", "-N", "1"], 2, "memory does not suffice: the fields of 2 ranks"),
    ):
        heap = "2M" if ranks == 3 else "4M"  # the middle one of three has room for its halos, and for no more
        env = {"UPCXX_SHARED_HEAP_SIZE": heap} if "UPCXX_SHARED_HEAP_SIZE" in mentioned else None
        output = bench.run(words, ranks, status=2, env=env)
        ours = [line for line in output.errors.splitlines() if line.startswith("atoll-heat3d: ")]
        require(len(ours) == 1 and mentioned in ours[0], f"{output.what}\nprinted\n{output.errors}")
    # Results are safe before the field is gathered and written, whatever ends that.
    database, limit = bench.path("kept.db"), 400_000  # bytes of a file
    words = ["-X", "50", "-Y", "50", "-Z", "50", "-N", "3", "--exchange", "none", "--results", database, "--dump", bench.path("dump.raw")]
    job = subprocess.run([bench.heat3d, *words], capture_output=True, text=True, check=False,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    require(job.returncode == -signal.SIGXFSZ, f"{job.returncode} {job.stderr}")
    def kept():
        with contextlib.closing(sqlite3.connect(database)) as connection:
            return connection.execute("SELECT count(*) FROM runs WHERE passed = 1").fetchone()[0]

    require(kept() == 1, "the results are lost")
    # One file that cannot be written loses no other, and one name for two is no file that is emptied.
    bench.run([*small, "--times", "/dev/full", "--results", database], 2, status=2)
    require(kept() == 2, "the results are lost with the times")
    bench.run([*small, "--times", database, "--results", database], 2, status=2)
    require(kept() == 2, "one file destroyed the other")
    # However the name is spelt, and although there is no such file yet.
    job = subprocess.run([bench.heat3d, *small, "--results", "fresh.db", "--times", "./fresh.db"], stderr=subprocess.PIPE, text=True,
                         cwd=bench.folder, check=False)
    require(job.returncode == 2 and "name one file" in job.stderr, f"{job.returncode} {job.stderr}")
    # Standard output on a full disk, without the launcher in between.
    with open("/dev/full", "w", encoding="ascii") as full:
        job = subprocess.run([bench.heat3d, *small], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    require(job.returncode == 2 and "standard output" in job.stderr, f"full disk: {job.returncode} {job.stderr}")
    # Without the launcher a job of one rank.
    job = subprocess.run([bench.heat3d, *small], stdout=subprocess.PIPE, text=True, check=False)
    require(job.returncode == 0 and job.stdout == "check passed\n", f"{job.returncode} {job.stdout}")
