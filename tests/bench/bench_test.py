#!/usr/bin/env python3
"""Tests of `atoll bench`, from outside. No figure is judged: machines that run tests are busy.

usage: bench_test.py ATOLL [TestClass ...]
"""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ATOLL = ""
SUITES = ["put", "get", "atomics", "strided", "rpc", "serialization", "futures", "threads", "barrier", "allreduce",
          "broadcast", "alltoall", "neighbors", "memory"]


def bench(*arguments, command=None, **settings):
    return subprocess.run([command or ATOLL, "bench", *arguments], capture_output=True, text=True, timeout=300,
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

    def test_neighbors_alone_at_any_number_of_ranks(self):
        done = bench("neighbors", "--ranks", "4", "--no-mpi", "--quick", "--only", "neighbors.sync", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([(r["key"], r["ranks"]) for r in json.loads(done.stdout)["rows"]], [("neighbors.sync", 4)])

    def test_list(self):
        done = bench("--list")
        self.assertEqual(done.returncode, 0)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], SUITES + ["gpu", "net"])


class Devices(unittest.TestCase):
    """Simulated ones: that all pairs are measured, with right data, and labelled."""

    WAYS = ["put", "get", "host_to_peer_gpu", "peer_gpu_to_host", "private_to_peer_gpu", "peer_gpu_to_private",
            "host_to_gpu", "gpu_to_host", "gpu_to_peer_host", "peer_host_to_gpu"]

    def measure(self, ranks="2", sizes="8,64K", **settings):
        return bench("gpu", "--quick", "--no-mpi", "--ranks", ranks, "--sizes", sizes, "--csv", "-", **settings)

    def test_every_way_and_notifications(self):
        done = self.measure(ATOLL_SIM_DEVICES="2")
        self.assertEqual(done.returncode, 0, done.stderr)
        if "Pairs of ranks are left out" in done.stderr:
            self.skipTest("one core")
        self.assertIn("simulated", done.stderr)
        rows = list(csv.DictReader(done.stdout.splitlines()))
        expected = {f"gpu.simulated.{way}.{what}" for way in self.WAYS for what in ("time", "injection", "flood")}
        expected |= {f"gpu.simulated.{what}" for what in
                     ("pinned_to_gpu.flood", "gpu_to_pinned.flood", "private_to_gpu.flood", "gpu_to_private.flood", "pin.time",
                      "put.batch", "stream.signal", "stream.broadcast", "stream.gather_all", "stream.all_to_all", "stream.reduce",
                      "kernel.stamped", "kernel.stamped_to", "kernel.signal", "kernel.barrier", "kernel.reduce", "notified.time", "notified.injection",
                      "notified.flood", "notified16.flood")}
        expected |= {f"gpu.simulated.ghosts.{dimension}{how}" for dimension in "xyz" for how in ("", ".stream")}
        self.assertEqual({row["key"] for row in rows}, expected)
        self.assertEqual({row["limit"] + row["goal"] for row in rows}, {""})

    def test_collectives_are_measured_where_every_rank_has_a_device(self):
        done = self.measure("4,5", "64", ATOLL_SIM_DEVICES="4")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = list(csv.DictReader(done.stdout.splitlines()))
        expected = {("gpu.simulated.stream." + what, "4") for what in ("broadcast", "gather_all", "all_to_all", "reduce")}
        self.assertEqual({(row["key"], row["ranks"]) for row in rows}, expected)
        self.assertRegex(done.stderr, r"(?m)^gpu, 5 ranks not measured: collectives need a GPU for each rank, and there are 4$")

    def test_on_one_device_nothing_waits_for_its_turn(self):
        done = self.measure(sizes="8", ATOLL_SIM_DEVICES="1")
        self.assertEqual(done.returncode, 0, done.stderr)
        if "Pairs of ranks are left out" in done.stderr:
            self.skipTest("one core")
        keys = {row["key"].removeprefix("gpu.simulated.") for row in csv.DictReader(done.stdout.splitlines())}
        self.assertTrue({"put.time", "notified.time", "stream.signal"} <= keys)
        self.assertFalse({key for key in keys if key.startswith("kernel.") or key == "stream.reduce"})
        self.assertRegex(done.stderr, r"(?m)^gpu, 2 ranks not measured: .* need a GPU for each rank, and there is 1$")

    def test_without_a_device_it_says_so(self):
        done = self.measure(ATOLL_CUDA_DRIVER="/nonexistent.so")
        self.assertEqual(done.returncode, 0, done.stderr)
        if "Pairs of ranks are left out" in done.stderr:
            self.skipTest("one core")
        self.assertIn("no device", done.stderr)


class Net(unittest.TestCase):
    """Between two simulated hosts, with tools of other libraries that are played."""

    TIMED = ["am.oneway", "put.seen", "put.waited", "get.waited", "fetch_add.waited", "rpc.empty"]
    RATES = ["put.flood", "fetch_add.flood", "rpc_ff.flood"]
    LONG = ["put.bandwidth", "get.bandwidth"]
    INSIDE = ["inside.put", "inside.get", "inside.rpc"]
    JOB = ["job.start", "job.memory"]

    # The half that gets no address listens where it is told to until it is ended.
    SERVER = """#!/usr/bin/env python3
import socket, sys, time
words = sys.argv[1:]
if "127.0.0.1" not in words:
    listener = socket.create_server(("", int(words[words.index({option!r}) + 1])))
    time.sleep(60)
{client}
"""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        info = subprocess.run([ATOLL, "info"], capture_output=True, text=True).stdout
        self.network = "ucx" if "ucx (between hosts)" in info else "sim"

    def play(self, name, option, client):
        file = os.path.join(self.folder, name)
        with open(file, "w", encoding="ascii") as out:
            out.write(self.SERVER.format(option=option, client=client))
        os.chmod(file, 0o755)

    def measure(self, *options):
        done = bench("net", "--quick", "--csv", "-", *options, ATOLL_TRANSPORTS=self.network,
                     PATH=self.folder + ":" + os.environ["PATH"])
        self.assertEqual(done.returncode, 0, done.stderr)
        if "need two cores" in done.stderr:
            self.skipTest("one core")
        rows = {(row["key"].removeprefix(f"net.{self.network}."), int(row["bytes"])): row
                for row in csv.DictReader(done.stdout.splitlines())}
        return rows, done.stderr

    def test_every_row_beside_tcp_one_host_and_the_tools_of_others(self):
        # One line a test of the batch: iterations, median, mean of the last ones, mean of all.
        self.play("ucx_perftest", "-p", "for line, test in enumerate(open(words[words.index('-b') + 1])):\n"
                                        "    print(f'row{line},20,{line + 1}.5,3,{line + 21}.5,1,1,1,1')")
        self.play("fi_pingpong", "-B", "print('bytes #sent #ack total time MB/sec usec/xfer Mxfers/sec')\n"
                                       "print('8 20 =20 320 0.00s 1.2', 3.25 if 'msg' in words else 4.25, '0.3')")
        rows, text = self.measure("--no-mpi")
        self.assertEqual(set(rows), {(key, 8) for key in self.TIMED + self.RATES + self.INSIDE}
                         | {(key, 65536) for key in self.LONG} | {(key, 0) for key in self.JOB})
        for key in self.TIMED:
            self.assertEqual(rows[key, 8]["limit"], "tcp")
            self.assertGreater(float(rows[key, 8]["limit_ns"]), 0)
        for key in self.LONG:
            self.assertEqual(rows[key, 65536]["limit"], "tcp")
        for key in self.INSIDE:
            self.assertEqual(rows[key, 8]["limit"], "one host")
        figures = {("am.oneway", 8): {"ucx_ns": 1500, "ofi_rxm_ns": 4250, "ofi_msg_ns": 3250},  # medians
                   ("put.seen", 8): {"ucx_ns": 2500, "ucx_am_ns": 1500, "ofi_rxm_ns": 4250},
                   ("rpc.empty", 8): {"ucx_am_ns": 3000, "ofi_rxm_ns": 8500, "ofi_msg_ns": 6500},  # two messages
                   ("rpc_ff.flood", 8): {"ucx_ns": 25500},  # means
                   ("put.bandwidth", 65536): {"ucx_ns": 28500, "ucx_am_ns": 30500, "ofi_msg_ns": 3250}}
        for row, columns in figures.items():
            for column, ns in columns.items():
                self.assertEqual(float(rows[row][column]), ns, (row, column))
        if self.network == "ucx":
            self.assertEqual((rows["am.oneway", 8]["goal"], rows["am.oneway", 8]["reached"]), ("<= 1.1 UCX", "no"))
            self.assertEqual(rows["put.waited", 8]["goal"], "<= 1.1 UCX AM")
            self.assertEqual(rows["put.bandwidth", 65536]["goal"], ">= 75 %")
            self.assertEqual(rows["inside.put", 8]["goal"], ">= 99 %")
        self.assertEqual(rows["job.start", 0]["ranks"], "4")
        self.assertGreater(float(rows["job.start", 0]["median_ns"]), 1e6)
        self.assertEqual((rows["job.memory", 0]["unit"], rows["job.memory", 0]["goal"]),
                         ("MiB", "0.5") if self.network == "ucx" else ("MiB", ""))
        for title in ("UCX AM", "fi rxm", "fi msg"):
            self.assertIn(title, text)

    def test_message_passing_stands_beside_what_it_can_do(self):
        if shutil.which("mpirun") is None:
            self.skipTest("no mpirun")
        rows, text = self.measure("--only", "job.start")
        if "not built" in text or "no mpirun of Open MPI" in text:
            self.skipTest("no Open MPI")
        self.assertEqual(set(rows), {("job.start", 0)})
        self.assertGreater(float(rows["job.start", 0]["mpi_ns"]), 1e6)
        rows, text = self.measure("--sizes", "8,64K")
        # Windows of one machine are shared memory, so there are no puts and gets of words.
        for key in [("am.oneway", 8), ("rpc.empty", 8), ("rpc_ff.flood", 8)] + [(key, 65536) for key in self.LONG]:
            self.assertGreater(float(rows[key]["mpi_ns"]), 0, key)
        self.assertRegex(text, "(?m)^mpi +Open MPI")

    def test_absent_tools_leave_their_columns_empty(self):
        for tool in ("ucx_perftest", "fi_pingpong"):
            self.play(tool, "", "raise SystemExit(1)")
        rows, text = self.measure("--no-mpi", "--only", "am.oneway")
        self.assertEqual(set(rows), {("am.oneway", 8)})
        self.assertEqual({row[column] for row in rows.values() for column in ("ucx_ns", "ucx_am_ns", "ofi_rxm_ns")}, {""})
        self.assertNotIn("UCX", "".join(row["goal"] for row in rows.values()))
        for fact in ("ucx_perftest", "fi_rxm", "fi_msg"):
            self.assertRegex(text, rf"(?m)^{fact} +not measured: absent or failed")


class Peers(unittest.TestCase):
    """Columns beside copies of GPU memory, over a driver that is played (FAKE_CUDA_LIBRARY)."""

    ROWS = {"messages": [("mpi", "gpu.put.time", 8, 100_000_000), ("mpi", "gpu.put.time", 4096, 1)],
            "puts": [("mpi_put", "gpu.put.time", 8, 3000)]}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def script(self, name, text):
        file = os.path.join(self.folder, name)
        with open(file, "w") as out:
            out.write("#!/bin/sh\n" + text)
        os.chmod(file, 0o755)

    def play(self, name, rows, without=""):
        """An installation in which libexec/atoll/`name` prints these rows, or fails, and another one is absent; the rest is the
        real one. Its command atoll."""
        real = os.path.dirname(os.path.dirname(os.path.realpath(ATOLL)))
        for folder in ("bin", "libexec/atoll"):
            os.makedirs(os.path.join(self.folder, folder), exist_ok=True)
        for program in ("atoll", "atoll-bench"):  # these look for the others beside themselves
            shutil.copy(os.path.join(real, "bin", program), os.path.join(self.folder, "bin"))
        for program in os.listdir(os.path.join(real, "libexec/atoll")):
            link = os.path.join(self.folder, "libexec/atoll", program)
            if program not in (name, without) and not os.path.exists(link):
                os.symlink(os.path.join(real, "libexec/atoll", program), link)
        if rows is None:
            self.script("libexec/atoll/" + name, "exit 1\n")
            return os.path.join(self.folder, "bin/atoll")
        self.script("libexec/atoll/" + name, 'for word; do case $word in ranks=*) n=$word;; esac; done; printf "' + "".join(
            f"row\\tsuite={suite}\\tkey={key}\\tbytes={size}\\t$n\\tns={ns}\\n" for suite, key, size, ns in rows) + '"\n')
        return os.path.join(self.folder, "bin/atoll")

    def measure(self, only="gpu.put.time", command=None, ranks="2", **settings):
        done = bench("gpu", "--quick", "--ranks", ranks, "--sizes", "8,4K", "--only", only, "--csv", "-", command=command,
                     PATH=self.folder + ":" + os.environ["PATH"],
                     ATOLL_CUDA_DRIVER=os.environ["FAKE_CUDA_LIBRARY"], **settings)
        self.assertEqual(done.returncode, 0, done.stderr)
        if "Pairs of ranks are left out" in done.stderr:
            self.skipTest("one core")
        rows = {int(row["bytes"]): row for row in csv.DictReader(done.stdout.splitlines())}
        self.assertEqual(set(rows), {8, 4096})
        return rows, done.stderr

    def test_figures_of_others_stand_in_their_columns_and_goals_hold_against_them(self):
        lines = ['case "$*" in']
        for how, rows in self.ROWS.items():
            lines.append(f"*gpu={how}*) printf '" + "".join(
                f"row\\tsuite={suite}\\tkey={key}\\tbytes={size}\\tranks=2\\tns={ns}\\n"
                for suite, key, size, ns in rows) + "' ;;")
        self.script("mpirun", "\n".join(lines + ["*) echo Open MPI ;;", "esac"]))
        # A server gets no address; its output is not read.
        self.script("ucx_perftest", "echo gpu.put.time/8,2000,5.5,6,7,1,1,1,1\n"
                                    "echo gpu.put.flood/8,2000,5.5,6,7,1,1,1,1\n")
        rows, text = self.measure()
        self.assertEqual(float(rows[8]["ucx_ns"]), 5500)
        self.assertEqual(rows[8]["nvshmem_ns"] + rows[8]["nvshmem_stream_ns"] + rows[4096]["ucx_ns"], "")
        if "mpi.gpu      not built" in text:
            self.skipTest("no MPI")
        self.assertEqual(float(rows[8]["mpi_ns"]), 100_000_000)
        self.assertEqual(float(rows[8]["mpi_put_ns"]), 3000)
        # Faster than a tenth of a second, not faster than half a nanosecond.
        self.assertIn("<= 0.5 MPI", rows[8]["goal"])
        self.assertEqual((rows[4096]["goal"], rows[4096]["reached"]), ("<= 0.5 MPI", "no"))
        self.assertRegex(text, r"<= 0\.5 MPI +yes\n")
        for title in ("MPI put", "NVSHMEM", "on stream", "NCCL", "UCX"):
            self.assertIn(title, text)

    def test_batches_stand_beside_floods_and_are_to_be_four_times_as_many_as_puts_by_ucx(self):
        self.script("mpirun", "exit 1\n")
        self.script("ucx_perftest", "echo gpu.put.flood/8,2000,5.5,6,7,1,1,1,1\n")
        goals = {}
        for what in ("flood", "batch"):
            row = self.measure(f"gpu.put.{what}")[0][8]
            self.assertEqual(float(row["ucx_ns"]), 7000)
            goals[what] = row["goal"]
        self.assertEqual(goals, {"flood": "", "batch": "<= 0.25 UCX"})

    def test_signals_in_streams_are_not_to_be_behind_those_of_nvshmem(self):
        command = self.play("atoll-bench-nvshmem", [("nvshmem_stream", "gpu.stream.signal", 8, 100_000_000),
                                                    ("nvshmem_stream", "gpu.stream.signal", 4096, 1)])
        rows, _ = self.measure("gpu.stream.signal", command)
        self.assertEqual([float(rows[size]["nvshmem_stream_ns"]) for size in (8, 4096)], [100_000_000, 1])
        for row in rows.values():
            self.assertIn("<= 1.02 on stream", row["goal"])
        self.assertEqual(rows[4096]["reached"], "no")

    def test_collectives_in_streams_stand_beside_those_of_nccl(self):
        for key in ("gpu.stream.broadcast", "gpu.stream.gather_all", "gpu.stream.all_to_all"):
            command = self.play("atoll-bench-nccl", [("nccl", key, 8, 1500), ("nccl", key, 4096, 2500)])
            rows, text = self.measure(key, command)
            self.assertEqual([float(rows[size]["nccl_ns"]) for size in (8, 4096)], [1500, 2500])
            self.assertRegex(text, r"on stream +NCCL +UCX")

    def test_collectives_of_more_ranks_stand_beside_those_of_nccl_with_as_many(self):
        key = "gpu.stream.broadcast"
        command = self.play("atoll-bench-nccl", [("nccl", key, 8, 1500), ("nccl", key, 4096, 2500)])
        rows, text = self.measure(key, command, ranks="3", FAKE_CUDA="devices=3")
        self.assertEqual([(row["ranks"], float(row["nccl_ns"])) for _, row in sorted(rows.items())], [("3", 1500), ("3", 2500)])
        self.assertRegex(text, r"(?m)^nccl, 3 ranks")

    def test_kernels_are_left_out_where_the_run_time_does_not_know_the_memory(self):
        done = bench("gpu", "--quick", "--no-mpi", "--ranks", "2", "--sizes", "8", "--only", "gpu.kernel.barrier",
                     PATH=self.folder + ":" + os.environ["PATH"], ATOLL_CUDA_DRIVER=os.environ["FAKE_CUDA_LIBRARY"],
                     FAKE_CUDA="refuse=ipc")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("nothing was measured", done.stderr)

    def test_absent_ones_give_a_line_each(self):
        self.script("mpirun", "echo Open MPI\nexit 1\n")
        self.script("ucx_perftest", "exit 1\n")
        # True ones would find the machine's GPUs, if it has some.
        rows, text = self.measure(command=self.play("atoll-bench-nccl", None, without="atoll-bench-nvshmem"))
        self.assertEqual(rows[8]["mpi_ns"] + rows[8]["mpi_put_ns"] + rows[8]["ucx_ns"], "")
        self.assertNotIn("MPI", rows[8]["goal"])
        self.assertRegex(text, r"(?m)^mpi.gpu +(not built|failed: this MPI does not take GPU memory)")
        self.assertRegex(text, r"(?m)^ucx +.*failed on GPU memory$")
        for name in ("nvshmem", "nccl"):
            self.assertRegex(text, rf"(?m)^{name} +(not built|failed)")

    def test_message_passing_of_memory_that_mpi_reaches(self):
        rows, text = self.measure(FAKE_CUDA="reachable,memory=536870912")
        if "mpi.gpu      not" in text:
            self.skipTest("no MPI")
        for column in ("mpi_ns", "mpi_put_ns"):
            self.assertGreater(float(rows[4096][column]), 0)

    def test_mpi_that_cannot_is_named_so(self):
        rows, text = self.measure()
        if "mpi.gpu      not" in text:
            self.skipTest("no MPI")
        self.assertEqual(rows[8]["mpi_ns"], "")
        self.assertRegex(text, r"(?m)^mpi.gpu +failed: this MPI does not take GPU memory")


class Report(unittest.TestCase):
    """`atoll report` of copies to and from GPUs."""

    def report(self, file, folder):
        done = subprocess.run([ATOLL, "report", file, "-o", folder], capture_output=True, text=True)
        if "matplotlib" in done.stderr:
            self.skipTest("no matplotlib")
        return done

    def test_a_measurement_beside_the_driver(self):
        data = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../docs/data/gpu.csv")
        with tempfile.TemporaryDirectory() as folder:
            done = self.report(data, folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(folder, "index.html"), encoding="utf-8") as file:
                page = file.read()
            for name in ("shares", "gpu_to_gpu", "host_and_gpu", "own_and_private", "notified"):
                self.assertIn(f"wrote {folder}/{name}.png", done.stdout)
            pictures = re.findall(r'<img alt="([^"]*)" src="data:image/png;base64,', page)
            self.assertEqual(len(pictures), len(re.findall(r"wrote \S+\.png", done.stdout)))
            self.assertTrue(all(len(alternative) > 20 for alternative in pictures), pictures)
        with open(data, encoding="utf-8") as file:
            first = next(csv.DictReader(file))
        line = next(line for line in done.stdout.splitlines() if line.startswith("own GPU to peer's GPU, one copy, waited for"))
        for value in (float(first["median_ns"]) / 1e3, float(first["limit_ns"]) / 1e3):
            self.assertIn(f" {value:.2f} ", line)
        self.assertIn(f" {100 * float(first['share']):.0f} ", line)

    def test_simulated_devices_have_no_driver_beside_them(self):
        row = {"suite": "gpu", "name": "x", "ranks": 2, "p10_ns": 1000, "p90_ns": 1400}
        rows = [{**row, "key": f"gpu.simulated.{way}.{what}", "bytes": size, "median_ns": 1234}
                for way in ("put", "notified") for what in ("time", "flood") for size in (8, 4096)]
        rows[0]["ucx_ns"] = 5670
        rows.append({**row, "key": "gpu.simulated.stream.reduce", "bytes": 8, "median_ns": 4444, "nccl_ns": 7890})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "gpu.json")
            with open(path, "w", encoding="ascii") as file:
                json.dump({"configuration": {"gpu": "one;another"}, "rows": rows}, file)
            done = self.report(path, folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(name for name in os.listdir(folder) if name.endswith(".png")),
                             ["gpu_to_gpu.png", "notified.png", "peers.png"])
            self.assertEqual(done.stdout.count(" 1.23 "), 8, done.stdout)
            for column, figure in (("UCX µs", " 5.67"), ("NCCL µs", " 7.89")):
                self.assertEqual((done.stdout.count(column), done.stdout.count(figure)), (1, 1), done.stdout)

    def test_other_files_are_refused_with_words(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "other")
            for text, words in (("", "holds no rows"), ("a,b\n1,2\n", "neither"), ("{}", "neither"), ("{x", "neither"),
                                ("\x00\xff", "neither"), ('{"configuration": {}, "rows": [{"suite": "put"}]}', "holds no rows")):
                with open(path, "w", encoding="latin-1") as file:
                    file.write(text)
                done = self.report(path, folder)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)
                self.assertNotIn("Traceback", done.stderr)


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

    def test_nothing_measured(self):
        words = ("--no-mpi", "--quick", "--ranks", "3")
        self.refuse(1, "nothing was measured: no row with the key foo in barrier for 3 ranks", "barrier", "--only", "foo", *words)
        self.refuse(1, "nothing was measured: no row in put,rpc for 3 ranks. Most suites are for 2", "put", "rpc", *words)

    def test_net_needs_two_hosts(self):
        for hosts in ("a", "a,b,c"):
            self.refuse(2, "two hosts are needed", "net", "--hosts", hosts)

    def test_a_file_that_cannot_be_written_is_noticed_before_measuring(self):
        self.refuse(1, "cannot write /nonexistent/x.json", "--json", "/nonexistent/x.json")


if __name__ == "__main__":
    ATOLL = sys.argv[1]
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=2)
