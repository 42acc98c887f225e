"""Opens results files, and says what runs were made on."""

import os
import sqlite3
import urllib.parse

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
    raise NothingToDraw(f"{path}: cannot be read")


def has_table(path, name):
    database = connect(path)
    try:
        return database.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0] > 0
    except sqlite3.DatabaseError as error:
        raise NothingToDraw(f"{path}: not a results file ({error})") from None
    finally:
        database.close()


def run_facts(runs):
    """When and where runs were made: pairs of texts."""
    dates = sorted(run["date"] for run in runs)
    found = [("Runs", f"{len(runs)}, from {dates[0]} to {dates[-1]}")]
    for title, column in (("Hosts", "host"), ("Usable cores", "cores"), ("Devices", "device"), ("Version", "version"),
                          ("Commit", "commit_id")):
        values = dict.fromkeys(str(run[column]) for run in runs if column in run.keys() and run[column] != "")
        if values:
            found.append((title, ", ".join(values)))
    return found
