#!/usr/bin/env python3
"""Tests of `atoll bench`, from outside. No figure is judged: machines that run tests are busy.

usage: bench_test.py ATOLL [TestClass ...]
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest

ATOLL = ""
SUITES = ["put", "get", "atomics", "strided", "rpc", "serialization", "futures", "threads", "barrier", "allreduce",
          "broadcast", "alltoall", "memory"]


def bench(*arguments, **settings):
    return subprocess.run([ATOLL, "bench", *arguments], capture_output=True, text=True, timeout=150,
                          env=os.environ | settings)


class Measuring(unittest.TestCase):
    def test_every_suite_gives_rows_in_table_json_and_csv(self):
        with tempfile.TemporaryDirectory() as folder:
            json_file = os.path.join(folder, "bench.json")
            csv_file = os.path.join(folder, "bench.csv")
            done = bench("--quick", "--json", json_file, "--csv", csv_file)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(json_file) as file:
                report = json.load(file)
            with open(csv_file) as file:
                lines = list(csv.DictReader(file))
        if "Pairs of ranks are left out" in done.stdout:
            self.skipTest("one core")
        rows = report["rows"]
        self.assertEqual([s for s in SUITES if any(r["suite"] == s for r in rows)], SUITES)
        self.assertEqual(len(rows), len(lines))
        for name in ("atoll", "compiler", "processor", "cores", "binding", "transport"):
            self.assertIn(name, report["configuration"])
            self.assertIn(name, done.stdout)
        for row in rows:
            if "value" in row:
                continue
            self.assertGreater(row["median_ns"], 0, row)
            self.assertLessEqual(row["p10_ns"], row["median_ns"])
            self.assertLessEqual(row["median_ns"], row["p90_ns"])
            self.assertEqual(len(row["samples_ns"]), row["blocks"])
            if row["ranks"] == 2:
                self.assertGreater(row["line_ns"], 0, row)
        self.assertEqual({r["ranks"] for r in rows if r["key"] == "barrier"}, {2, 4})
        values = {r["key"]: r["value"] for r in rows if "value" in r}
        self.assertEqual(values["flood.lost"], 0)
        for key in ("allocations.put", "allocations.get"):
            self.assertEqual(values.get(key, 0), 0)  # absent under a sanitizer

    def test_chosen_suites_sizes_and_rows_only(self):
        done = bench("put", "--sizes", "100,4K", "--no-mpi", "--quick", "--only", "put.array", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        if "Pairs of ranks are left out" in done.stderr:
            self.skipTest("one core")
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual([(r["key"], r["bytes"]) for r in rows], [("put.array", 100), ("put.array", 4096)])

    def test_list(self):
        done = bench("--list")
        self.assertEqual(done.returncode, 0)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], SUITES + ["gpu"])


class Devices(unittest.TestCase):
    """Simulated ones: that all pairs are measured, with right data, and labelled."""

    WAYS = ["put", "get", "host_to_peer_gpu", "peer_gpu_to_host", "private_to_peer_gpu", "peer_gpu_to_private",
            "host_to_gpu", "gpu_to_host", "gpu_to_peer_host", "peer_host_to_gpu"]

    def measure(self, **settings):
        return bench("gpu", "--quick", "--no-mpi", "--ranks", "2", "--sizes", "8,64K", "--csv", "-", **settings)

    def test_every_way_and_notifications(self):
        done = self.measure(ATOLL_SIM_DEVICES="2")
        self.assertEqual(done.returncode, 0, done.stderr)
        if "Pairs of ranks are left out" in done.stderr:
            self.skipTest("one core")
        self.assertIn("simulated", done.stderr)
        rows = list(csv.DictReader(done.stdout.splitlines()))
        expected = {f"gpu.simulated.{way}.{what}" for way in self.WAYS for what in ("time", "injection", "flood")}
        expected |= {f"gpu.simulated.{what}" for what in
                     ("notified.time", "notified.injection", "notified.flood", "notified16.flood")}
        self.assertEqual({row["key"] for row in rows}, expected)
        self.assertEqual({row["limit"] + row["goal"] for row in rows}, {""})

    def test_without_a_device_it_says_so(self):
        done = self.measure(ATOLL_CUDA_DRIVER="/nonexistent.so")
        self.assertEqual(done.returncode, 0, done.stderr)
        if "Pairs of ranks are left out" in done.stderr:
            self.skipTest("one core")
        self.assertIn("no device", done.stderr)


class Mistakes(unittest.TestCase):
    def refuse(self, status, text, *arguments):
        done = bench(*arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(text, done.stderr)

    def test_unknown_suite(self):
        self.refuse(2, "no suite nonsense", "nonsense")

    def test_bad_size(self):
        for size in ("x", "0", "1Q", "1T", "-1"):
            self.refuse(2, "--sizes", "--sizes=" + size)

    def test_bad_ranks(self):
        for ranks in ("1", "two", "2x"):
            self.refuse(2, "--ranks", "--ranks=" + ranks)

    def test_a_file_that_cannot_be_written_is_noticed_before_measuring(self):
        self.refuse(1, "cannot write /nonexistent/x.json", "--json", "/nonexistent/x.json")


if __name__ == "__main__":
    ATOLL = sys.argv[1]
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=2)
