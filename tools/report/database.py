"""Opens results files, and says what runs were made on."""

import os
import sqlite3
import urllib.parse
from dataclasses import dataclass

from drawing import NothingToDraw


def connect(path):
    """A connection from which only is read. It may write where that is allowed, to take back what a killed job left half done and
    to leave no files beside this one; the last way is for folders that cannot be written."""
    quoted = urllib.parse.quote(os.path.abspath(path))
    for options in ("mode=rw", "mode=ro", "immutable=1"):
        database = sqlite3.connect(f"file:{quoted}?{options}", uri=True, timeout=60)
        database.row_factory = sqlite3.Row
        try:
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return database
        except sqlite3.OperationalError:
            database.close()
        except sqlite3.DatabaseError as error:
            database.close()
            raise NothingToDraw(f"{path}: damaged, perhaps copied in part ({error})") from None
    raise NothingToDraw(f"{path}: cannot be read")


def has_table(path, name):
    database = connect(path)
    try:
        return database.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0] > 0
    except sqlite3.DatabaseError as error:
        raise NothingToDraw(f"{path}: not a results file ({error})") from None
    finally:
        database.close()


def has_rows(path, table):
    database = connect(path)
    try:
        return database.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None
    except sqlite3.DatabaseError as error:
        raise NothingToDraw(f"{path}: damaged ({error})") from None
    finally:
        database.close()


def machines_of(connection, table):
    """What each run of a table of runs was made on. Files of earlier versions do not say."""
    if not connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'machines'").fetchone()[0]:
        return {}
    return {row["run"]: row for row in connection.execute("SELECT * FROM machines WHERE runs = ?", (table,))}


def with_machine(run, machines):
    """A run's row, with what is known of its machine."""
    machine = machines.get(run["run"])
    return {**(dict(machine) if machine else {}), **dict(run)}


@dataclass(frozen=True, order=True)
class Hosts:
    """What ranks of a run were on."""

    count: int
    network: str  # settings of what was between them, or between simulated ones

    def __str__(self):
        return f"{self.count} ({self.network})" if self.network else str(self.count)

    @property
    def words(self):
        """Nothing where ranks were on one host, as usual."""
        if not self.network and self.count == 1:
            return ""
        return f"{self.count} host{'s' if self.count > 1 else ''}{f' ({self.network})' if self.network else ''}"


def hosts_of(run):
    """Files of earlier versions do not say."""
    return Hosts(run.get("hosts") or 1, run.get("network") or "")


def is_disturbed(run):
    """Whether others took cores that the run needed."""
    return bool(run.get("disturbed"))


def without_disturbed(runs):
    """Numbers of the runs that figures are taken from: those that nobody disturbed; all of them where there are no such."""
    quiet = [i for i, run in enumerate(runs) if not is_disturbed(run)]
    return quiet or list(range(len(runs)))


def run_facts(runs):
    """When, where and on what runs were made: pairs of texts."""
    dates = sorted(run["date"] for run in runs)
    found = [("Runs", f"{len(runs)}, from {dates[0]} to {dates[-1]}")]
    for title, column in (("Hosts", "host"), ("Ranks", "placement"), ("Network", "network"), ("Processor", "processor"), ("Usable cores", "cores"), ("Devices", "device"),
                          ("System", "system"), ("Compiler", "compiler"), ("MPI", "mpi"), ("Version", "version"), ("Commit", "commit_id")):
        values = dict.fromkeys(str(run[column]) for run in runs if run.get(column) not in (None, ""))
        if values:
            found.append((title, ", ".join(values)))
    loads = sorted(run["load"] for run in runs if run.get("load") is not None)
    if loads:
        found.append(("Load before", f"{loads[0]:.1f} to {loads[-1]:.1f} processes in the minute before a run"))
    known = [run for run in runs if None not in (run.get("disturbed"), run.get("waited"))]
    if known:
        waited = max(run["waited"] for run in known)
        found.append(("Disturbed by others", f"{sum(map(is_disturbed, known))} of {len(known)} runs; a rank waited for its core up to "
                                             f"{100 * waited:.1f} % of a run"))
    return found
