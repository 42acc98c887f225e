"""What the studies share: programs of the installation, runs that land in a database, and what is said of them."""

import argparse
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

NO_MPI = "message passing is left out: no MPI in this build, no mpirun in PATH, or not asked for"
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


class Study:
    """Runs of an application, one after the other. What they find is added to a database, so that an interrupted study goes on
    where it was. Those that derive from this one say what is run: run_all()."""

    def __init__(self, folder, application, options):
        self.options = options
        self.launcher, self.application = program(folder, "atoll"), program(folder, application)
        self.mpirun = shutil.which("mpirun")
        os.makedirs(options.output, exist_ok=True)
        self.database = os.path.join(options.output, "runs.db")
        self.log = os.path.join(options.output, "study.log")
        self.failures = 0
        self.began = time.monotonic()

    def rows(self, query, values):
        """What the database says. Nothing before the first run has added tables and columns to it."""
        if not os.path.exists(self.database):
            return []
        connection = sqlite3.connect(self.database, timeout=60)
        try:
            return connection.execute(query, values).fetchall()
        except sqlite3.OperationalError as error:
            if "no such" in str(error):
                return []
            raise
        finally:
            connection.close()

    def start(self, ranks, words, with_mpi, settings=None):
        """One run of the application. Returns its status and output."""
        timeout = self.options.timeout
        launch = [self.mpirun, "-n", ranks] if with_mpi else [self.launcher, "run", "--localhost", "-n", ranks, "--timeout", timeout]
        command = [str(word) for word in (*launch, self.application, *words, "--results", self.database)]
        return run_logged(command, {**(MPI_SETTINGS if with_mpi else {}), **(settings or {})}, timeout, self.log)

    def failed(self, why):
        """What to print of a run that failed."""
        self.failures += 1
        return f"FAILED: {why}; see {self.log}"

    def show_running(self, what):
        """On a terminal, until say() prints what came of it."""
        if sys.stdout.isatty():
            minutes = (time.monotonic() - self.began) / 60
            # What goes on in the next row of a narrow terminal cannot be overwritten.
            columns = shutil.get_terminal_size().columns - 1
            sys.stdout.write(f"\r\033[K{f'{what} ...  ({minutes:.1f} min so far)'[:columns]}")
            sys.stdout.flush()

    def say(self, line):
        if sys.stdout.isatty():
            sys.stdout.write("\r\033[K")
        print(line, flush=True)


def argument_parser(name, description, folder):
    """To which each study adds what only it can be told."""
    parser = argparse.ArgumentParser(prog=name, description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default=folder, metavar="FOLDER", help="folder of the results (%(default)s)")
    return parser


def parse(parser):
    """Reads the command line, which may have what all studies can be told."""
    parser.add_argument("--repeat", type=int, default=1, help="runs of each variant, in turn (%(default)s)")
    parser.add_argument("--timeout", type=int, default=3600, help="seconds that a run may take (%(default)s)")
    parser.add_argument("--no-report", action="store_true", help="draw nothing at the end")
    return parser.parse_args()


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
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # else the run that goes on would outlive the study
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
