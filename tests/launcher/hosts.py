"""Jobs on several hosts: what launchers are told, by ones that only write that down. tests/clusters starts real ones."""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support import ATOLL, PATIENCE, PROGRAM, Patient, children_of, own_terminal


class Hosts(Patient, unittest.TestCase):
    SRUN_MPI = "MPI plugin types are...\n\tpmi2\n\tnone\n\tpmix\nspecific pmix plugin versions available: pmix_v4"
    VERSIONS = {"mpirun": "mpirun (Open MPI) 4.1.4", "mpiexec.hydra": "HYDRA build details:", "prterun": "prterun (PRRTE) 3.0", "srun": "slurm"}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.told = os.path.join(self.folder, "told")

    def install(self, *names, before="", act="exit 0", mpi=SRUN_MPI):
        for name in names:
            file = os.path.join(self.folder, name)
            with open(file, "w", encoding="utf-8") as script:
                script.write(f"""#!/bin/sh
case "$*" in --version) echo '{self.VERSIONS[name]}'; exit 0 ;; --mpi=list) echo '{mpi}'; exit 0 ;; esac
{before}
{{ printf '%s|' {name} "$@"; echo; /usr/bin/env; }} > {self.told}.part
/bin/mv {self.told}.part {self.told}
{act}
""")
            os.chmod(file, 0o755)

    def start(self, *words, status=0, **environment):
        # Only what these tests install is on the path; a shell's own words need none.
        done = subprocess.run([ATOLL, "run", *map(str, words)], env={"PATH": f"{self.folder}:/nowhere", "HOME": "/", **environment}, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, status, done)
        return done

    def line(self):
        with open(self.told, encoding="utf-8") as file:
            return file.readline().rstrip("|\n").split("|")

    def test_the_first_that_is_there(self):
        self.assertIn("none is installed", self.start("--hosts", "a,b", PROGRAM, status=2).stderr)
        for name in ("mpiexec.hydra", "prterun", "mpirun"):
            self.install(name, act="/usr/bin/env > /dev/null")
            self.assertIn(f"atoll run: starting by ", self.start("--hosts", "a,b", PROGRAM).stderr)
            self.assertEqual(self.line()[0], name)
        self.start("--hosts", "a,b", "--launcher", "hydra", PROGRAM)
        self.assertEqual(self.line(), ["mpiexec.hydra", "-hosts", "a:1,b:1", "-n", "2", "-prepend-pattern", "<atoll:%r>", PROGRAM])
        # Hydra's own spellings.
        hosts = os.path.join(self.folder, "hosts")
        with open(hosts, "w", encoding="utf-8") as file:
            file.write("a\nb\n")
        for words in (("-hosts", "a,b"), ("-hosts=a,b",), ("-hostfile", hosts), ("-ssh-servers", "a,b")):
            self.start(*words, "-launcher", "hydra", PROGRAM)
            self.assertEqual(self.line()[:5], ["mpiexec.hydra", "-hosts", "a:1,b:1", "-n", "2"])

    def test_folders_with_strange_names(self):
        self.folder = os.path.join(self.folder, "it's $HOME")
        os.mkdir(self.folder)
        for name, launcher in (("mpirun", "mpirun"), ("mpiexec.hydra", "hydra")):
            self.install(name)
            self.start("--hosts", "a,b", "--launcher", launcher, PROGRAM)
            self.assertEqual(self.line()[0], name)

    def test_a_folder_is_no_launcher(self):
        os.mkdir(os.path.join(self.folder, "prterun"))
        self.assertIn("it is not installed", self.start("--hosts", "a", "--launcher", "prterun", PROGRAM, status=2).stderr)

    def test_hosts_as_people_write_them(self):
        self.install("mpirun")
        for written, expected in (("n[1-3]", "n1:1,n2:1,n3:1"), ("n[08-10,12]:2,m", "n08:2,n09:2,n10:2,n12:2,m:1"), ("r[1-2]n[1,3].x", "r1n1.x:1,r1n3.x:1,r2n1.x:1,r2n3.x:1")):
            self.start("--hosts", written, PROGRAM)
            self.assertEqual(self.line()[1:3], ["--host", expected])
        for written, words in (("n[1-", "bracket that is not closed"), ("n[3-1]", "from a larger number to a smaller"), ("n[a-b]", "no range of numbers"),
                               ("n[]", "no range of numbers"), ("n[0-99999999]", "too far"), ("n]", "no name of a host"), ("a,,b", "no name of a host")):
            self.assertIn(words, self.start("--hosts", written, PROGRAM, status=2).stderr)
        hosts = os.path.join(self.folder, "hosts")
        for text, expected in (("\ufeffa slots = 2\r\nb\tslots= 3 max_slots =4\r\n", "a:2,b:3"), ("n[1-2]:4\n# more\nm[1-2] slots=1", "n1:4,n2:4,m1:1,m2:1"), ("a\na\nb\n", "a:2,b:1")):
            with open(hosts, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            self.start("--hostfile", hosts, PROGRAM)
            self.assertEqual(self.line()[1:3], ["--host", expected])

    def test_hosts_of_the_environment(self):
        self.install("mpirun")
        nodes = os.path.join(self.folder, "nodes")
        with open(nodes, "w", encoding="utf-8") as file:
            file.write("# of a batch system\na 4 of it\na\nb\n\nb\nc\n")
        a_and_b = ["--host", "a:2,b:2", "-n", "4"]
        for environment in ({"SSH_SERVERS": "a b"}, {"GASNET_SSH_SERVERS": " a,  b\nc\n", "SSH_SERVERS": "x"}, {"SSH_SERVERS": "a:2,b:3"}, {"PBS_NODEFILE": nodes},
                            {"GASNET_SSH_NODEFILE": nodes, "GASNET_SSH_SERVERS": "x,y"}, {"LSB_DJOB_HOSTFILE": nodes, "SSH_SERVERS": " "}):
            self.start("-n", 4, "-N", 2, PROGRAM, **environment)
            self.assertEqual(self.line()[1:5], a_and_b, environment)
        self.start("-N", 3, PROGRAM, PBS_NODEFILE=nodes)
        self.assertEqual(self.line()[1:5], ["--host", "a:2,b:2,c:1", "-n", "5"])
        self.assertIn("PBS_NODEFILE=/nowhere: it cannot be read", self.start("-N", 2, PROGRAM, status=2, PBS_NODEFILE="/nowhere").stderr)
        self.assertIn("SSH_SERVERS=a;b: `a;b` is no name of a host", self.start("-N", 2, PROGRAM, status=2, SSH_SERVERS="a;b").stderr)
        # Without -N ranks are on this host.
        os.remove(self.told)
        self.start("-n", 1, "/bin/true", PBS_NODEFILE=nodes)
        self.assertFalse(os.path.exists(self.told))

    def test_inside_an_allocation_of_slurm(self):
        self.install("mpirun", "srun")
        self.start("-n", 8, PROGRAM, SLURM_JOB_ID="1", SLURM_JOB_NUM_NODES="2")
        words = self.line()
        self.assertEqual((words[0], words[1], "-w" in words), ("srun", "--mpi=pmix", False))
        # One of its tasks, and who asks for one host, start ranks here.
        for environment, more in (({"SLURM_STEP_ID": "0"}, ()), ({}, ("-N", 1))):
            os.remove(self.told)
            self.start("-n", 1, *more, "/bin/true", SLURM_JOB_ID="1", SLURM_JOB_NUM_NODES="2", **environment)
            self.assertFalse(os.path.exists(self.told))
            self.start("-n", 8, PROGRAM, SLURM_JOB_ID="1", SLURM_JOB_NUM_NODES="2")
        # Of one host: from the shell of a salloc elsewhere, not from there.
        one = {"SLURM_JOB_ID": "1", "SLURM_JOB_NUM_NODES": "1"}
        here = os.uname().nodename.split(".")[0]
        self.start("-n", 8, PROGRAM, **one, SLURM_JOB_NODELIST="gpu7")
        self.assertEqual(self.line()[0], "srun")
        for environment in ({"SLURM_JOB_NODELIST": here}, {"SLURM_JOB_NODELIST": "gpu7", "SLURMD_NODENAME": "gpu7"}):
            os.remove(self.told)
            self.start("-n", 1, "/bin/true", **one, **environment)
            self.assertFalse(os.path.exists(self.told), environment)
            self.start("-n", 8, PROGRAM, SLURM_JOB_ID="1", SLURM_JOB_NUM_NODES="2")

    def test_how_srun_lets_ranks_meet(self):
        job = {"SLURM_JOB_ID": "1", "SLURM_JOB_NUM_NODES": "2"}
        for listed, taken in (("srun: MPI types are...\nsrun: none\nsrun: pmi2", "--mpi=pmi2"), ("none\n\tpmix", "--mpi=pmix")):
            self.install("srun", mpi=listed)
            self.start("-n", 8, PROGRAM, **job)
            self.assertEqual(self.line()[:2], ["srun", taken])
        os.remove(self.told)
        # One that offers neither, and one that cannot answer.
        for listed in ("MPI plugin types are...\n\tnone\n\tcray_shasta", "srun: error: cannot find mpi plugin for mpi/pmix_v9"):
            self.install("srun", mpi=listed)
            errors = self.start("-n", 8, PROGRAM, status=2, **job).stderr
            self.assertRegex(errors, rf"Slurm's srun \({self.folder}/srun\) offers neither pmix nor pmi2, .* prints \"{listed[:10]}")
            self.assertIn("--launcher mpirun or hydra", errors)
            self.assertFalse(os.path.exists(self.told))

    def test_environment_of_ranks(self):
        self.install("mpirun")
        self.start("--hosts", "a", "-E", "MINE=a b", "--shared-heap", "1G", PROGRAM, UPCXX_OTHER="1", PRIVATE="2", PMIX_RANK="0", ATOLL_JOB="1:2:3")
        words = self.line()
        forwarded = {words[i + 1] for i, word in enumerate(words) if word == "-x"}
        self.assertLessEqual({"MINE", "UPCXX_SHARED_HEAP_SIZE", "UPCXX_OTHER", "PATH"}, forwarded)
        self.assertFalse(forwarded & {"PRIVATE", "PMIX_RANK", "ATOLL_JOB", "HOME"})
        text = self.all_told()
        self.assertIn("\nMINE=a b\n", text)
        self.assertNotIn("PMIX_RANK", text)

    def test_status_and_output_of_the_launcher(self):
        self.install("mpirun", act="echo '[1,1]<stdout>:out'; echo '[1,0]<stderr>:err' >&2; exit 7")
        got = self.start("--hosts", "a", "--tag", PROGRAM, status=7)
        self.assertEqual(got.stdout, "[1] out\n")
        self.assertIn("[0] err\n", got.stderr)
        self.assertEqual(self.start("--hosts", "a,b", PROGRAM, status=7).stdout, "out\n")
        # A job of one rank is passed on as it comes.
        self.assertEqual(self.start("--hosts", "a", PROGRAM, status=7).stdout, "[1,1]<stdout>:out\n")

    def test_a_launcher_that_cannot_be_run(self):
        # A word of its command line is longer than systems take.
        self.install("mpirun")
        got = self.start("--hosts", "a-host-with-a-long-name[1-9999]", PROGRAM, status=126)
        self.assertIn(f"atoll run: cannot run {self.folder}/mpirun: Argument list too long\n", got.stderr)

    def test_a_long_list_of_hosts_goes_to_srun_by_a_file(self):
        self.install("srun", act='while [ "$1" != -w ]; do shift; done; exec /bin/cat "$2"')
        got = self.start("--launcher", "srun", "--hosts", "a-host-with-a-long-name:20000,b:1", PROGRAM)
        self.assertEqual(got.stdout, "a-host-with-a-long-name\n" * 20000 + "b\n")
        self.assertRegex(self.start("--launcher", "srun", "--hosts", "a,b", "--show", PROGRAM).stdout, " -w a,b ")

    def test_limit_on_open_files_is_handed_on(self):
        self.install("mpirun", act="ulimit -Sn; exit 0")
        got = subprocess.run(["/bin/sh", "-c", 'ulimit -Sn 200; exec "$@"', "sh", ATOLL, "run", "--hosts", "a", PROGRAM], env={"PATH": self.folder},
                             stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual((got.returncode, got.stdout), (0, "200\n"), got)

    def test_lines_that_launchers_cut(self):
        self.install("mpirun", act="printf '[1,0]<stdout>:one [1,1]<stdout>:three'; printf '[1,0]<stdout>:two\\n[1,1]<stdout>: four'; exit 0")
        self.assertEqual(self.start("--hosts", "a,b", PROGRAM).stdout, "one two\nthree four\n")
        self.assertEqual(self.start("--hosts", "a,b", "--tag", PROGRAM).stdout, "[0] one two\n[1] three four\n")

    def test_lines_stay_whole_where_both_streams_go_to_one_file(self):
        lines = {"x" * (i % 150) + f" {i}" for i in range(2000)}
        writes = """import os
for i in range(2000):
    for stream, tag in ((1, "[1,0]<stdout>:"), (2, "[1,1]<stderr>:")): os.write(stream, (TAGS * tag + "x" * (i % 150) + f" {i}\\n").encode())"""
        for name, tags in (("mpirun", 1), ("srun", 0)):
            with self.subTest(name=name):
                self.install(name, act=f"exec {sys.executable} -c '{writes.replace('TAGS', str(tags))}'")
                job = subprocess.Popen([ATOLL, "run", "--launcher", name, "--hosts", "a,b", PROGRAM], env={"PATH": self.folder}, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.wait_until_told()
                time.sleep(0.5)  # nobody reads yet, and then slowly
                text = b""
                while some := os.read(job.stdout.fileno(), 5000):
                    text += some
                job.stdout.close()
                self.assertEqual(job.wait(PATIENCE), 0)
                got = text.decode().splitlines()[1:]
                self.assertEqual(([line for line in got if line not in lines][:3], len(got)), ([], 2 * len(lines)))
                os.remove(self.told)

    def test_time_limit_where_nobody_reads_the_errors(self):
        self.install("mpirun", **self.hangs("{ /usr/bin/seq 1000000 >&2 & }"))
        job = subprocess.Popen([ATOLL, "run", "--hosts", "a,b", "--timeout", "1", PROGRAM], env={"PATH": self.folder}, stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.kill)
        self.wait_until_told("\nended\n")
        _, errors = job.communicate(timeout=PATIENCE)
        self.assertEqual(job.returncode, 124)
        self.assertIn("the time is up", errors)

    def test_nobody_reads_the_output(self):
        self.install("mpirun", act=f"trap 'echo ended >> {self.told}; exit 5' TERM; while :; do echo '[1,0]<stdout>:words'; /bin/sleep 0.01; done")
        job = subprocess.Popen([ATOLL, "run", "--hosts", "a,b", PROGRAM], env={"PATH": self.folder}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual(job.stdout.readline(), b"words\n")
        job.stdout.close()
        self.assertEqual(job.wait(PATIENCE), 128 + signal.SIGPIPE)
        self.assertTrue(self.all_told().endswith("ended\n"))

    def test_output_that_cannot_be_written(self):
        for act in ("trap 'exit 5' TERM; while :; do echo '[1,0]<stdout>:words'; /bin/sleep 0.01; done", "echo '[1,0]<stdout>:words'; exit 0"):
            self.install("mpirun", act=act)
            with open("/dev/full", "w", encoding="utf-8") as full:
                got = subprocess.run([ATOLL, "run", "--hosts", "a,b", PROGRAM], env={"PATH": self.folder}, stdin=subprocess.DEVNULL, stdout=full,
                                     stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
            self.assertEqual(got.returncode, 1, got)
            self.assertEqual(got.stderr.count("cannot write standard output: No space left on device\n"), 1, got)

    def test_nohup(self):
        # Launchers listen for the end of a terminal all the same, which is told to their group.
        self.install("mpirun", act="/usr/bin/cut -d' ' -f5 /proc/$$/stat /proc/$PPID/stat >&2; kill -HUP $PPID; exit 0")
        for how, groups in ((signal.SIG_IGN, 2), (signal.SIG_DFL, 1)):
            got = subprocess.run([ATOLL, "run", "--hosts", "a,b", PROGRAM], env={"PATH": self.folder}, stdin=subprocess.DEVNULL, capture_output=True,
                                 text=True, timeout=60, check=False, preexec_fn=lambda how=how: signal.signal(signal.SIGHUP, how))
            self.assertEqual(got.returncode, 0 if how == signal.SIG_IGN else 128 + signal.SIGHUP, got)
            self.assertEqual(len(set(re.findall(r"^\d+$", got.stderr, re.M))), groups, got)

    def test_a_launcher_that_hangs(self):
        self.install("mpirun", act="trap 'exit 3' TERM; while :; do /bin/sleep 0.05; done")
        got = self.start("--hosts", "a", "--timeout", "0.3", PROGRAM, status=124)
        self.assertIn("the time is up", got.stderr)
        # It waits for a host that is gone: its ranks have been ended.
        self.install("mpirun", act="echo 'atoll: host a: host b (rank 1) is lost: nothing has been heard of it for 7.0 s' >&2; exec /bin/sleep 600")
        self.start("--hosts", "a,b", PROGRAM, status=1)

    def test_what_stands_in_a_log_is_no_news(self):
        for name, launcher, tag, line in (("mpirun", "mpirun", "[1,0]<stdout>:", "atoll: host a: host b (rank 1) is lost: nothing has been heard of it"),
                                          ("mpiexec.hydra", "hydra", "<atoll:0>", "HYDU_create_process: execvp error on file ./old (No such file)")):
            self.install(name, act=f"echo '{tag}{line}'; /bin/sleep 0.3; exit 0")
            self.assertEqual(self.start("--launcher", launcher, "--hosts", "a,b", PROGRAM).stdout, f"{line}\n")

    def test_status_of_a_launcher_whose_output_is_not_read(self):
        self.install("mpirun", act="i=0; while [ $i -lt 5000 ]; do i=$((i+1)); echo \"[1,0]<stdout>:$i and more words for it\"; done; exit 3")
        for end in (lambda job: job.send_signal(signal.SIGINT), lambda job: job.stdout.close()):
            job = subprocess.Popen([ATOLL, "run", "--hosts", "a,b", PROGRAM], env={"PATH": self.folder}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.addCleanup(job.kill)
            self.wait_until_told()
            self.wait_for(lambda job=job: not children_of(job.pid), "the launcher ends")
            end(job)
            self.assertEqual(job.wait(PATIENCE), 3)
            job.stdout.close()
            os.remove(self.told)

    def test_hydra_waits_for_a_host_without_a_way(self):
        # It does not look at agents that have ended.
        self.install("mpiexec.hydra", act="/bin/sleep 20 & (exit 255) & exec /bin/sleep 60")
        errors = self.start("--hosts", "a,b", PROGRAM, status=1).stderr
        self.assertIn("way to b (ssh, unless it was told another) has ended with status 255 before ranks were started there", errors)

    def test_hydra_waits_for_a_host_whose_ranks_have_ended(self):
        said = "atoll: rank 0 of 2 (a): bootstrap: for 10 s the other ranks have been waited for"
        says_so = f'import sys, time\nfor _ in range(400): print("{said}", file=sys.stderr, flush=True), time.sleep(0.05)'
        self.install("mpiexec.hydra", act=f"/bin/sleep 20 & (exit 0) & exec {sys.executable} -c '{says_so}'")
        self.assertIn("all ranks of b have ended without having come to upcxx::init()", self.start("--hosts", "a,b", PROGRAM, status=1).stderr)

    def test_signals_are_handed_on(self):
        self.install("mpirun", **self.hangs())
        job = subprocess.Popen([ATOLL, "run", "--hosts", "a", PROGRAM], env={"PATH": self.folder}, stderr=subprocess.DEVNULL)
        self.wait_until_told()
        job.terminate()
        self.assertEqual(job.wait(PATIENCE), 128 + signal.SIGTERM)
        self.assertTrue(self.all_told().endswith("ended\n"))

    def hangs(self, first="true"):
        """A launcher that tells when it is asked to end, from when it has told what it was told, not when a terminal kills it."""
        return {"before": f"{first}; trap 'echo ended >> {self.told}; exit 5' TERM", "act": "while :; do /bin/sleep 0.05; done"}

    def wait_until_told(self, words=""):
        self.wait_for(lambda: os.path.exists(self.told) and words in self.all_told(), f"the launcher tells: {words}")

    def all_told(self):
        with open(self.told, encoding="utf-8") as file:
            return file.read()

    def quit_job(self, by_terminal=False):
        """Sends SIGQUIT to a job by mpirun as it runs; what it said."""
        master, slave = pty.openpty()
        job = subprocess.Popen([ATOLL, "run", "--hosts", "a,b", PROGRAM], env={"PATH": self.folder}, stderr=subprocess.PIPE, text=True,
                               **({"stdin": slave, "preexec_fn": own_terminal} if by_terminal else {"stdin": subprocess.DEVNULL}))
        os.close(slave)
        self.wait_until_told()
        if by_terminal:
            os.write(master, b"\x1c")
        else:
            job.send_signal(signal.SIGQUIT)
        _, errors = job.communicate(timeout=PATIENCE)
        os.close(master)
        self.assertEqual(job.returncode, 128 + signal.SIGQUIT, errors)
        self.assertIn("got SIGQUIT", errors)
        return errors

    def test_on_sigquit_ranks_are_asked(self):
        asked = os.path.join(self.folder, "asked")
        for by_terminal in (False, True):
            with self.subTest(by_terminal=by_terminal):
                self.install("mpirun", **self.hangs(f"""case "$*" in *' picture '*) echo "$@" $ATOLL_CLUSTER_JOB > {asked}; exit 0 ;; esac"""))
                self.assertNotIn("has failed", self.quit_job(by_terminal))
                self.assertIn("\nended\n", self.all_told())
                with open(asked, encoding="utf-8") as file:
                    words = file.read().split()
                self.assertEqual((words[:4], words[-4:-2]), (["--host", "a:1", "-n", "1"], [os.path.realpath(ATOLL), "picture"]))
                self.assertRegex(words[-1], "^[0-9a-f]{16}$")
                self.assertEqual(words[-1], words[-2])
                os.remove(asked)
                os.remove(self.told)

    def test_nobody_can_be_asked(self):
        self.install("mpirun", **self.hangs("""case "$*" in *' picture '*) exit 1 ;; esac"""))
        self.assertIn("picture` has failed", self.quit_job())

    def test_picture_counts_jobs(self):
        keeper = os.path.join(self.folder, "atoll-keeper")
        shutil.copy("/bin/sleep", keeper)
        job = f"{time.monotonic_ns():016x}"
        keepers = [subprocess.Popen([keeper, "60"], env={"ATOLL_CLUSTER_JOB": name}) for name in (job, job, job + "0")]
        got = subprocess.run([ATOLL, "picture", job], text=True, capture_output=True, check=False)
        self.assertEqual((got.returncode, got.stderr), (0, ""), got)
        self.assertRegex(got.stdout, "^1 job asked")
        self.assertEqual([each.wait(PATIENCE) for each in keepers[:2]], [-signal.SIGQUIT] * 2)
        self.assertIsNone(keepers[2].poll())
        keepers[2].kill()
        keepers[2].wait(PATIENCE)

    def test_verbose_tells_the_name_for_picture(self):
        self.install("mpirun")
        said = re.search("^atoll run: job ([0-9a-f]{16}), as `atoll picture` knows it$", self.start("-v", "--hosts", "a", PROGRAM).stderr, flags=re.M)
        self.assertIn(f"\nATOLL_CLUSTER_JOB={said[1]}\n", self.all_told())

    def test_picture_without_a_job(self):
        got = subprocess.run([ATOLL, "picture", "0" * 16], text=True, capture_output=True, check=False)
        self.assertEqual((got.returncode, got.stdout), (1, ""))
        self.assertIn(f"no job {'0' * 16} on several hosts has ranks of yours here", got.stderr)
        for words, said in ((("--all",), "--all is no option"), (("a", "b"), "one JOB, or none"), (("",), "JOB is empty")):
            got = subprocess.run([ATOLL, "picture", *words], text=True, capture_output=True, check=False)
            self.assertEqual((got.returncode, got.stdout), (2, ""))
            self.assertRegex(got.stderr, f"^atoll picture: {said}.*\n\nusage: atoll picture")
        self.assertIn("usage: atoll picture", subprocess.run([ATOLL, "picture", "--help"], text=True, capture_output=True, check=True).stdout)

    def test_show(self):
        self.install("mpirun")
        got = self.start("--hosts", "a:2,b", "--show", "-E", "A=1 2", PROGRAM, "x y")
        self.assertRegex(got.stdout, r"^A='1 2' \S*/mpirun --host a:2,b:1 -n 3 .*'x y'\n$")
        self.assertFalse(os.path.exists(self.told))
