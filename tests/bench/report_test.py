#!/usr/bin/env python3
"""What `atoll report` makes of results: which runs count, what is drawn of them, what is said of pictures. Skipped without matplotlib."""

import contextlib
import io
import os
import sqlite3
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "report"))
try:
    import matplotlib  # noqa: F401
except ImportError:  # where Debian's packages are, whatever environment is active
    if sys.executable == "/usr/bin/python3" or not os.path.exists("/usr/bin/python3"):
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
import copies  # noqa: E402
import curves  # noqa: E402
import drawing  # noqa: E402
import heat  # noqa: E402
import heat_pictures  # noqa: E402
import hpgmg  # noqa: E402
import hpgmg_pictures  # noqa: E402
import page  # noqa: E402
import report  # noqa: E402

RUNS = ("run INTEGER PRIMARY KEY, date, host, cores, version, commit_id, x, y, z, ranks, devices, device, exchange, backend, grid, "
        "seconds, steps, median_s, p10_s, p90_s, comm_share, passed, residual")
HPGMG = {
    "hpgmg_runs": {"run": 1, "date": "2026-01-31T12:00:00Z", "host": "here", "cores": 4, "version": "1", "commit_id": "c0ffee", "ranks": 2, "threads": 1,
                   "log2_box": 4, "boxes_per_rank": 4, "cells": 32, "boxes": 2, "operator": "7pt", "smoother": "cheby", "cycle": "f", "box_order": "lex",
                   "periodic": 0, "helmholtz": 0, "comm": "bulk", "comm_lines": 99, "triad_bytes_per_s": 1e10, "bytes_per_cell": 64, "sweep_s": 1e-4,
                   "error": 1e-3, "passed": 1},
    "hpgmg_sizes": {"run": 1, "level": 0, "cells": 32, "best_s": 1e-2, "mean_s": 2e-2},
    "hpgmg_solves": {"run": 1, "level": 0, "seconds": 2e-2},
    "hpgmg_phases": {"run": 1, "start": 0, "level": 0, "cells": 32, "phase": "smooth", "seconds": 1e-2},
    "hpgmg_messages": {"run": 1, "form": "rank", "least_bytes": 1024, "messages": 8},
}
MACHINES = "runs, run, processor, processors, memory_bytes, system, compiler, mpi, load, waited, disturbed, hosts, placement, network"


class Results:
    """A file of results, run by run."""

    def __init__(self, path):
        self.path = path
        self.database = sqlite3.connect(path)
        self.database.executescript(f"CREATE TABLE runs ({RUNS}); CREATE TABLE machines ({MACHINES}); "
                                    "CREATE TABLE steps (run, step, max_s, rank0_s)")

    def add_hpgmg(self, with_run=True):
        """What the other application adds; without a run, what one leaves that could not be done."""
        with self.database:
            for name, row in HPGMG.items():
                self.database.execute(f"CREATE TABLE {name} ({', '.join(row)})")
                if with_run:
                    self.database.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", list(row.values()))

    def add(self, edge, ranks, exchange, steps, disturbed=0, hosts=1, network=""):
        with self.database:
            row = ("2026-01-31T12:00:00Z", "here", 4, "1", "c0ffee", edge, edge, edge, ranks, 0, "", exchange, "plain", "1x1x1",
                   sum(steps), len(steps), sorted(steps)[len(steps) // 2], min(steps), max(steps), 0.1, 1, 1e-15)
            run = self.database.execute(f"INSERT INTO runs VALUES (null{',?' * len(row)})", row).lastrowid
            self.database.executemany("INSERT INTO steps VALUES (?,?,?,?)", [(run, i, s, s) for i, s in enumerate(steps)])
            self.database.execute(f"INSERT INTO machines VALUES (?{',?' * 13})",
                                  ("runs", run, "Abacus 9", 4, 1e9, "Linux", "GCC 12", "Open MPI", 0.5, 0.3 * disturbed, disturbed,
                                   hosts, "; ".join(f"h{h}: rank {h}" for h in range(hosts)), network))


class Heat(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.results = Results(str(self.folder / "runs.db"))
        self.addCleanup(self.results.database.close)

    def test_disturbed_runs_are_left_out_or_marked(self):
        self.results.add(8, 2, "rma", [1e-3] * 10)
        self.results.add(8, 2, "rma", [9e-3] * 10, disturbed=1)
        self.results.add(8, 2, "put", [2e-3] * 10, disturbed=1)
        groups = heat.read(self.results.path)
        heading, rows = heat.table(groups)
        columns = {row[heading.index("exchange")]: dict(zip(heading, row)) for row in rows}
        self.assertEqual((columns["rma"]["runs"], columns["rma"]["ms/step"]), ("1/2", "1"))
        self.assertEqual((columns["put"]["runs"], columns["put"]["ms/step"]), ("1", "~2"))
        facts = dict(heat.facts(groups))
        self.assertEqual((facts["Processor"], facts["Compiler"], facts["MPI"]), ("Abacus 9", "GCC 12", "Open MPI"))
        self.assertIn("2 of 3 runs; a rank waited for its core up to 30.0 %", facts["Disturbed by others"])

    def test_steps_of_the_table_are_those_of_the_pictures(self):
        self.results.add(8, 2, "rma", [n * 1e-3 for n in range(1, 9)])
        self.results.add(8, 2, "rma", [n * 1e-3 for n in range(9, 13)])
        groups = heat.read(self.results.path)
        heading, rows = heat.table(groups)
        drawn = heat_pictures.statistic_of(groups)[0](groups[0])
        for name, expected, picture in zip(("median ms", "p10 ms", "p90 ms"), (6.5, 2, 11), drawn):
            self.assertEqual(float(rows[0][heading.index(name)]), expected, name)
            self.assertAlmostEqual(picture, expected, msg=name)

    def test_hosts_are_told_apart(self):
        self.results.add(8, 2, "rma", [1e-3] * 10)
        self.results.add(8, 2, "rma", [3e-3] * 10, hosts=2)
        groups = heat.read(self.results.path)
        heading, rows = heat.table(groups)
        self.assertEqual([(row[heading.index("hosts")], row[heading.index("ms/step")]) for row in rows], [("1", "1"), ("2", "3")])
        self.assertEqual([group.setup_name for group in groups], ["2 ranks", "2 ranks on 2 hosts"])
        self.assertIn("h0: rank 0; h1: rank 1", dict(heat.facts(groups))["Ranks"])

    def test_networks_are_told_apart(self):
        for network in ("", "ATOLL_SIM_HOSTS=2x1", "ATOLL_SIM_HOSTS=2x1 ATOLL_SIM_NETWORK=latency=20us"):
            self.results.add(8, 2, "rma", [1e-3] * 10, network=network)
        groups = heat.read(self.results.path)
        self.assertEqual([group.setup_name for group in groups], ["2 ranks", "2 ranks on 1 host (ATOLL_SIM_HOSTS=2x1)",
                                                                  "2 ranks on 1 host (ATOLL_SIM_HOSTS=2x1 ATOLL_SIM_NETWORK=latency=20us)"])
        self.results.database.execute("ALTER TABLE machines DROP COLUMN network")  # an earlier version
        self.assertEqual([len(group.every) for group in heat.read(self.results.path)], [3])

    def test_values_that_no_run_writes_are_told_in_words(self):
        self.results.add(8, 2, "rma", [1e-3] * 10)
        with self.results.database:
            self.results.database.execute("UPDATE runs SET steps = 0")
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as ended, \
                mock.patch.object(sys, "argv", ["report.py", self.results.path, "-o", str(self.folder / "page")]):
            report.main()
        self.assertEqual(ended.exception.code, 2)
        self.assertRegex(said.getvalue(), r"^atoll report: .*runs\.db: holds values that no run writes; was it changed by hand\? \(.*heat.*py:\d+\)\n$")

    def test_numbers_have_no_exponents(self):
        self.assertEqual([drawing.plain(value, 3) for value in (0.01234, 12.34, 1050.4, 123456)], ["0.0123", "12.3", "1050", "123456"])

    def test_files_without_machines_are_read(self):
        self.results.add(8, 2, "rma", [1e-3] * 10)
        self.results.database.execute("DROP TABLE machines")
        self.assertNotIn("Processor", dict(heat.facts(heat.read(self.results.path))))

    def test_files_that_were_cut_off_are_named(self):
        self.results.add(100, 4, "rma", [0.01, 0.01])
        whole = (self.folder / "runs.db").read_bytes()
        part = self.folder / "part.db"
        for length in (100, 1000, 4096, len(whole) - 4096):
            part.write_bytes(whole[:length])
            with self.assertRaisesRegex(drawing.NothingToDraw, "part.db: .*(malformed|not a database)"):
                report.contents_of(str(part))

    def test_runs_of_both_applications_in_one_file_are_shown(self):
        self.results.add(8, 2, "rma", [1e-3] * 10)
        self.results.add_hpgmg()
        output = self.folder / "page"
        with contextlib.ExitStack() as changed:
            for module in (heat, hpgmg):  # drawn is what both have
                changed.enter_context(mock.patch.object(module, "pictures", lambda plt, data: [("sizes", plt.figure(), "caption")]))
            changed.enter_context(mock.patch.object(sys, "argv", ["report.py", self.results.path, "-o", str(output)]))
            printed = changed.enter_context(contextlib.redirect_stdout(io.StringIO()))
            report.main()
        text = (output / "index.html").read_text(encoding="utf-8")
        for each in (printed.getvalue(), text.split("<body>")[1]):
            self.assertTrue(each.index("heat3d results") < each.index("8³") < each.index("hpgmg results") < each.index("32³"), each)
        for name in ("heat-sizes", "hpgmg-sizes"):
            self.assertTrue((output / f"{name}.png").exists(), name)
            self.assertIn(f'href="{name}.svg"', text)

    def test_tables_without_runs_are_left_out(self):
        self.results.add_hpgmg(with_run=False)
        with self.assertRaisesRegex(drawing.NothingToDraw, "holds no runs"):
            report.contents_of(self.results.path)
        self.results.add(8, 2, "rma", [1e-3] * 10)
        self.assertEqual([module for module, _ in report.contents_of(self.results.path)], [heat])
        other = sqlite3.connect(self.folder / "other.db")
        other.execute("CREATE TABLE addresses (name)")
        other.close()
        with self.assertRaisesRegex(drawing.NothingToDraw, "no results file of heat3d or hpgmg"):
            report.contents_of(str(self.folder / "other.db"))

    def test_pictures_have_labels_words_and_points_inside_their_bars(self):
        slow = [1e-3] * 99 + [1.0]  # the mean is far above the ninetieth percentile
        for edge in (8, 12):
            for ranks in (1, 2, 4):
                for exchange in ("rma", "put", "off"):
                    for times in (1, 2):
                        self.results.add(edge, ranks, exchange, [times * s * edge / ranks for s in slow])
        plt = drawing.load()
        bars = 0
        for name, figure, caption in heat.pictures(plt, heat.read(self.results.path)):
            words = drawing.describe(figure)
            for axes in (a for a in figure.axes if a.get_visible()):
                self.assertTrue(axes.get_xlabel() and axes.get_ylabel(), name)
                self.assertIn(axes.get_xlabel(), words)
                points = [point for line in axes.lines for point in line.get_xydata()]
                for container in axes.containers:
                    for (x, low), (_, high) in [s for c in getattr(container, "lines", [0, 0, []])[2] for s in c.get_segments()]:
                        bars += 1
                        self.assertTrue(any(p[0] == x and low <= p[1] <= high for p in points), name)
            if name == "scaling":
                path = drawing.save_all(figure, str(self.folder / name))
                page.write(str(self.folder / "index.html"), [page.Section("t", [], [(path, caption, words)], ["cells"], [], "")])
                self.assertIn(f'alt="{words.split(".")[0]}', (self.folder / "index.html").read_text(encoding="utf-8"))
                begins = [(self.folder / f"{name}.{kind}").read_bytes()[:4] for kind in ("png", "svg", "pdf")]
                self.assertEqual(begins, [b"\x89PNG", b"<?xm", b"%PDF"])
            plt.close(figure)
        self.assertGreater(bars, 10)
        middle, low, high = heat_pictures.statistic_of(heat.read(self.results.path)[:1])[0](heat.read(self.results.path)[0])
        self.assertTrue(low <= middle <= high < 100, (low, middle, high))


class Others(unittest.TestCase):
    def test_unlike_sizes_are_not_joined(self):
        # 8 boxes on 4 ranks are 2 for each; 27 on 8 are more: no line connects them.
        groups = [SimpleNamespace(problem=("fv4",), problem_name="p", log2_box=4, boxes_per_rank=4, cells=cells, ranks=ranks, comm="bulk",
                                  best=lambda: 1.0) for cells, ranks in ((32, 4), (48, 8), (64, 32))]
        titles = {title: [g.ranks for g in members] for title, members in hpgmg_pictures.series(groups)}
        self.assertIn([4, 32], titles.values())
        self.assertNotIn([4, 8, 32], titles.values())
        rows = [{"key": "allreduce", "bytes": size, "ranks": ranks, "median_ns": 1.0} for ranks in (4, 2) for size in (8, 64)]
        self.assertEqual([(r["bytes"], r["ranks"]) for r in curves.series(rows, "allreduce")], [(8, 2), (64, 2)])

    def test_ratios_stand_below_the_times_of_the_same_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            results = Results(os.path.join(folder, "runs.db"))
            self.addCleanup(results.database.close)
            results.add_hpgmg()
            with results.database:
                for run, ranks, comm in ((2, 8, "array"), (3, 2, "array")):  # bulk was run on 2 ranks only
                    for name, row in HPGMG.items():
                        changed = {**row, "run": run, **({"ranks": ranks, "comm": comm} if name == "hpgmg_runs" else {})}
                        results.database.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", list(changed.values()))
            plt = drawing.load()
            groups = hpgmg.read(results.path)
            times, ratios, _ = hpgmg_pictures.draw_variants(plt, groups).axes
            self.assertEqual(times.get_xlim(), ratios.get_xlim())
            without = hpgmg_pictures.draw_variants(plt, [g for g in groups if g.comm == "array"]).axes[1]
            self.assertEqual([text.get_text() for text in without.texts], ["bulk was not run here"])
            plt.close("all")

    def test_foreign_files_are_told_in_one_line(self):
        row = '{"suite": "gpu", "key": "gpu.put.time", "median_ns": 1, "bytes": 8}'
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "foreign")
            for text, words in (("a" * 200_000, "field larger than field limit"), ("a,b\n\"" + "x" * 200_000, "field larger than"),
                                (f'{{"configuration": [], "rows": [{row}]}}', "its configuration is no object"),
                                (f'{{"configuration": {{}}, "rows": {"[" * 100_000}{"]" * 100_000}}}', "recursion"),
                                ('{"configuration": {}, "rows": ["x"]}', "indices"), ('{"configuration": {}, "rows": [[]]}', "indices"),
                                ('{"configuration": {}, "rows": [{"suite": "gpu", "key": 1, "median_ns": 1}]}', "no attribute"),
                                ("{}", "'configuration'"), ("\x00\xff" * 9, "")):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as ended, \
                        mock.patch.object(sys, "argv", ["report.py", path, "-o", os.path.join(folder, "page")]):
                    report.main()
                self.assertEqual(ended.exception.code, 2, text[:80])
                self.assertRegex(said.getvalue(), rf"^atoll report: [^\n]*foreign: [^\n]*{words}[^\n]*\n$", text[:80])

    def test_bench_curves_show_their_spread_and_what_was_disturbed(self):
        row = {"suite": "gpu", "key": "gpu.put.time", "median_ns": 10.0, "p10_ns": 9.0, "p90_ns": 30.0, "ranks": 2}
        plt = drawing.load()
        figure = copies.draw_panels(plt, copies.Rows([{**row, "bytes": 8, "disturbed": 0}, {**row, "bytes": 64, "disturbed": 3}], {}), ["put"])
        axes = figure.axes[0]
        shaded = axes.collections[0].get_paths()[0].get_extents()
        self.assertAlmostEqual(shaded.ymin, 0.009)
        self.assertAlmostEqual(shaded.ymax, 0.030)
        hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
        self.assertEqual([list(line.get_xdata()) for line in hollow], [[64]])
        plt.close(figure)


if __name__ == "__main__":
    unittest.main()
