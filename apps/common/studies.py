"""What the studies share: programs of the installation, and runs whose output is kept in a log."""

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys

# Of Open MPI: more ranks than cores, as root in a container.
MPI_SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


class CannotStudy(Exception):
    """The study cannot be made; the text says why."""


def program(folder, name):
    """A program of this installation: in the folder of the study, or in PATH."""
    beside = os.path.join(folder, name)
    found = beside if os.access(beside, os.X_OK) else shutil.which(name)
    if not found:
        raise CannotStudy(f"no {name} in {folder} or PATH")
    return found


def numbers(text):
    """Of an option such as 1,2,4."""
    try:
        values = [int(word) for word in text.split(",")]
    except ValueError:
        values = [0]
    if min(values) < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected positive numbers, as in 1,2,4")
    return values


def output_of(command, **settings):
    """Status, output and errors."""
    done = subprocess.run(command, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def run_logged(command, settings, timeout, log):
    """Status and all output of a run, which are added to the log; status 124 if it took longer than it may."""
    try:
        done = subprocess.run(command, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=timeout + 30)
        status, text = done.returncode, done.stdout
    except subprocess.TimeoutExpired as expired:
        status, text = 124, (expired.stdout or b"").decode(errors="replace")
    with open(log, "a", encoding="utf-8") as file:
        shown = [f"{name}={value}" for name, value in settings.items() if name not in MPI_SETTINGS]
        file.write(f"$ {' '.join([*shown, *command])}\n{text}[status {status}]\n\n")
    return status, text


def draw(launcher, database, folder):
    """`atoll report`, or how to do it later."""
    if not os.path.exists(database):
        return
    command = [launcher, "report", database, "-o", folder]
    status, text, errors = output_of(command)
    print(text if status == 0 else f"no pictures: {errors.strip()}")
    if status != 0:
        print(f"later: {' '.join(command)}")


def run_study(name, make, options):
    """Runs a study to its end, draws what it found, and exits: 1 if a run failed."""
    try:
        study = make(options)
        study.run_all()
        if not options.no_report:
            draw(study.launcher, study.database, options.output)
    except (CannotStudy, OSError, sqlite3.Error) as problem:
        sys.exit(f"{name}: {problem}")
    except KeyboardInterrupt:
        sys.exit(f"\n{name}: interrupted; the same command goes on from here")
    sys.exit(1 if study.failures else 0)
