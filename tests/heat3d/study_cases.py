"""The study, and the report of results."""

import os
import shutil
import sqlite3
import subprocess
import sys

from device_cases import DEVICES
from harness import PATIENCE, require, SKIPPED, wait_for
from problems import EIGENMODE


def command_lines():
    """Of all processes."""
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/cmdline", encoding="utf-8", errors="replace") as file:
                yield file.read()
        except OSError:  # it has ended
            pass


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

    # A run that was wrong is made again.
    wrong = ["--backend", backend, "--ranks", "2", "--sizes", "6", "--variants", "rma", "-o", bench.path("wrong")]
    require("the result is wrong" in run(wrong, {"ATOLL_HEAT3D_FAULT": "zero"}, status=1), "it was right")
    text = run(wrong)
    require("done before" not in text and "ms a step" in text, text)
    require("done before" in run(wrong), "it was made again")

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
    require("goes on from here" in job.communicate(timeout=PATIENCE)[1], "the study does not say that it was interrupted")
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
