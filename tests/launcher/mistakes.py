"""Command lines and environments that make no sense."""

import os
import re
import resource
import subprocess
import tempfile

from support import ATOLL, LauncherTest, PROGRAM


class Mistakes(LauncherTest):
    def assert_refused(self, status, pattern, *arguments, **options):
        got = self.run_job(*arguments, **options)
        self.assertEqual(got.status, status, got)
        self.assertEqual(len(got.err.splitlines()), 1, got)
        self.assertRegex(got.err, pattern)
        self.assertEqual(got.out, "")

    def test_hosts_beside_this_one(self):
        self.assert_refused(2, "--localhost has all ranks on this host", "-n", 2, "-N", 2, PROGRAM)
        self.assert_refused(2, "no others can be named", "-localhost", "--hosts", "a,b", PROGRAM)
        for words in (("-n", 2, "-N", 2, "-localhost"), ("-np2", "--localhost")):
            got = self.run_job(*words, PROGRAM, "exchange", env=self.environment(SLURM_JOB_ID="1", SLURM_JOB_NUM_NODES="2"))
            self.assertEqual((got.status, got.out.count("of 2 by local")), (0, 2), got)

    def test_wrong_options(self):
        self.assert_refused(2, "no program", "-n", 2)
        self.assert_refused(2, "no program")
        self.assert_refused(2, "at least one rank", "-n", 0, PROGRAM)
        self.assert_refused(2, "at least one rank", "-n", "-3", PROGRAM)
        self.assert_refused(2, "not a number", "-n", "two", PROGRAM)
        self.assert_refused(2, "more than the", "-n", 100_000_000, PROGRAM)
        self.assert_refused(2, "not a time", "-n", 2, "--timeout", "soon", PROGRAM)
        self.assert_refused(2, "not one of none, core, socket, numa, auto", "-n", 2, "--bind", "chip", PROGRAM)
        self.assert_refused(2, "not one of 0, all, none", "-n", 2, "--stdin", "1", PROGRAM)
        self.assert_refused(2, "unknown unit", "-n", 2, "--shared-heap", "64X", PROGRAM)
        self.assert_refused(2, "-N 2: which hosts", "-n", 2, "-N", 2, PROGRAM)
        self.assert_refused(2, "-N two: not a number", "-n", 2, "-N", "two", PROGRAM)
        self.assert_refused(2, "no name of a host", "-n", 2, "--hosts", "a;b", PROGRAM)
        self.assert_refused(2, "hosts are named twice", "-n", 2, "--hosts", "a", "-ssh-servers", "b", PROGRAM)
        self.assert_refused(2, "--launcher: ranks of this host need none", "-n", 2, "--launcher", "hydra", PROGRAM)
        self.assert_refused(2, "--launcher ssh: not one of srun", "-n", 2, "--launcher", "ssh", "--hosts", "a", PROGRAM)
        self.assert_refused(2, "run: --frobnicate is no option", "--frobnicate", "-n", 2, PROGRAM)
        self.assert_refused(2, "run: -frob is no option", "-n", 2, "-frob", PROGRAM)
        self.assert_refused(2, "run: -hosst is no option", "-hosst", "a,b", PROGRAM)
        self.assert_refused(2, "-E FOO,BAR=4: `FOO,BAR` is no name of a variable; lists hold names only", "-n", 1, "-E", "FOO,BAR=4", PROGRAM)
        self.assert_refused(2, "-E =4: no name before the =", "-n", 1, "-E", "=4", PROGRAM)
        for names in ("2X", "A-B", "HOME,,PATH", "HOME, PATH"):
            self.assert_refused(2, f"-E {names}: `.*` is no name of a variable$", "-n", 1, "-E", names, PROGRAM)
        for option in ("--hosts", "-hosts", "--hostfile", "--shared-heap", "-n", "-E", "--bind"):
            self.assert_refused(2, f"run: {option}: its value is empty", option, "", PROGRAM)
        self.assert_refused(2, "run: --hosts: its value is empty", "--hosts=", PROGRAM)
        for words in (("-n", 2, "-n", 3), ("-np", 2, "-n3"), ("--ranks=2", "-n", 2)):
            self.assert_refused(2, "run: -n is given twice$", *words, PROGRAM)
        self.assert_refused(2, "run: --hosts is given twice", "--hosts", "a", "--hosts", "b", PROGRAM)
        for nothing in ("0", "0M", "0%"):
            self.assert_refused(2, f"--shared-heap {nothing}: nothing could be allocated", "-n", 1, "--shared-heap", nothing, PROGRAM)
        self.assert_refused(2, "run: -n: its value is missing", "-n")
        self.assert_refused(2, "run: -hosts: its value is missing", "-n", 2, "-hosts")

    def test_without_a_number_there_is_a_rank_for_each_core_and_words(self):
        cores = len(os.sched_getaffinity(0))
        got = self.run_job(PROGRAM, "plain")
        self.assertEqual(got.status, 0, got)
        said = re.search(r"no -n given: (\d+) ranks?, one for each usable core", got.err)
        self.assertLessEqual(int(said[1]), cores)
        self.assertEqual(got.out.count("plain program"), int(said[1]))

    def test_forwarding_a_variable_that_is_not_set_is_said(self):
        got = self.run_job("-n", 1, "-E", "HOME,NO_SUCH_VARIABLE", PROGRAM, "env", "NO_SUCH_VARIABLE")
        self.assertEqual((got.status, got.out), (0, "here=- console=-\n"))
        self.assertRegex(got.err, r"^atoll run: -E NO_SUCH_VARIABLE: not set here.*\n$")

    def test_program_that_cannot_be_run(self):
        self.assert_refused(127, "cannot find no-such-program", "-n", 2, "no-such-program")
        self.assert_refused(127, "cannot find ./no-such-program", "-n", 2, "./no-such-program")
        self.assert_refused(127, "the program's name is empty", "-n", 2, "")
        self.assert_refused(126, "directory", "-n", 2, "/tmp/")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            with open(path, "w") as file:
                file.write("#!/no/such/interpreter\n")
            self.assert_refused(126, "no permission", "-n", 2, path)
            os.chmod(path, 0o755)
            self.assert_refused(127, "interpreter", "-n", 2, path)

    def test_a_library_that_cannot_talk_to_the_launcher(self):
        """As a container's libpmix may not, which is of another version than the launcher's."""
        folder = os.path.join(os.path.dirname(PROGRAM), "unfit_pmix")
        environment = self.environment(PMIX_NAMESPACE="job", PMIX_RANK="3", PMIX_VERSION="5.0.1", LD_LIBRARY_PATH=folder)
        got = subprocess.run([PROGRAM, "exchange"], text=True, capture_output=True, env=environment, check=False)
        self.assertNotEqual(got.returncode, 0, got)
        self.assertRegex(got.stderr, r"PMIX_RANK=3.*PMIx_Init of OpenPMIx 9\.8\.7 failed: UNREACHABLE\. The launcher's library is 5\.0\.1\. .*LD_LIBRARY_PATH")
        # A folder that has a broken one.
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "libpmix.so.2"), "w") as file:
                file.write("no library")
            got = subprocess.run([PROGRAM, "exchange"], text=True, capture_output=True, env={**environment, "LD_LIBRARY_PATH": folder}, check=False)
            self.assertNotEqual(got.returncode, 0, got)
            self.assertRegex(got.stderr, r"PMIX_RANK=3.*cannot open libpmix\.so\.2: .*Debian: libpmix2")

    def test_help(self):
        got = self.run_job("--help")
        self.assertEqual(got.status, 0)
        for word in ("Usage: atoll run [OPTIONS] PROGRAM [ARGUMENTS...]", "--timeout", "--tag", "--stdin", "Exit status", "SIGQUIT", "Examples"):
            self.assertIn(word, got.out)

    def test_options_of_the_program_are_the_programs(self):
        got = self.run_job("-n", 1, "echo", "-n", "--tag", "--timeout", "x")
        self.assertEqual((got.status, got.out), (0, "--tag --timeout x"))
        got = self.run_job("-n", 1, "--", "echo", "-v")
        self.assertEqual((got.status, got.out), (0, "-v\n"))

    def test_long_options_may_have_one_dash(self):
        for words in (("-ranks", 1, "-tag"), ("-n1", "-t"), ("-np=1", "-tag"), ("-n", 1, "-timeout", 30, "-tag"), ("-n", 1, "-bind", "none", "-tv"),
                      ("-n", 1, "-stdin=none", "-tag", "-nodes", 1)):
            got = self.run_job(*words, "echo", "-hosts", "-tag")
            self.assertEqual((got.status, got.out), (0, "[0] -hosts -tag\n"), (words, got))
        got = self.run_job("-ranks", 1, "-env", "WORD=said", "-pty", "sh", "-c", "test -t 1 && printf $WORD")
        self.assertEqual((got.status, got.out), (0, "said"), got)
        for word in ("-help", "-h"):
            self.assertIn("Usage: atoll run", self.run_job(word).out)

    def test_other_subcommands(self):
        run = lambda *words: subprocess.run([ATOLL, *words], text=True, capture_output=True, env=self.environment())
        self.assertIn("run", run("--help").stdout)
        self.assertEqual(run().returncode, 2)
        self.assertEqual(run("frobnicate").returncode, 2)
        self.assertRegex(run("--version").stdout, r"^atoll \d+\.\d+\.\d+\n$")

    def test_a_limit_on_processes_is_named(self):
        def no_other_process():
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))

        try:
            tried = subprocess.run(["sh", "-c", "(exit 0) && echo started"], text=True, capture_output=True, check=False, preexec_fn=no_other_process)
            if "started" in tried.stdout:
                self.skipTest("processes cannot be limited here")
            jobs = [self.run_job("-n", 1, "true", preexec_fn=no_other_process)]
            with tempfile.TemporaryDirectory() as folder:
                os.chmod(folder, 0o755)
                os.symlink("/bin/true", os.path.join(folder, "prterun"))
                environment = self.environment(PATH=f"{folder}:/usr/bin:/bin")
                jobs.append(self.run_job("--hosts", "a", "--launcher", "prterun", "true", preexec_fn=no_other_process, env=environment))
        except (OSError, subprocess.SubprocessError) as problem:
            self.skipTest(f"processes cannot be limited here: {problem}")
        for got in jobs:
            self.assertEqual(got.status, 1, got)
            self.assertRegex(got.err, r"(?m)^atoll run: cannot start .*ulimit -u.*pids\.max")

    def test_info(self):
        environment = self.environment(ATOLL_TRANSIT_MEMORY="12", UPCXX_VERBOSE="2")
        got = subprocess.run([ATOLL, "info"], text=True, capture_output=True, env=environment)
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertRegex(got.stdout, r"cores +\d+ usable")
        self.assertRegex(got.stdout, r"\* solo")
        self.assertRegex(got.stdout, r"UPCXX_VERBOSE +2 +environment")
        self.assertRegex(got.stdout, r"! ATOLL_TRANSIT_MEMORY=12: a unit is missing")
        self.assertRegex(got.stdout, r"ATOLL_BOOTSTRAP +auto +default")

    def test_what_looks_at_a_wrong_setting_goes_on(self):
        for name, value in (("ATOLL_BOOTSTRAP", "mpi"), ("GASNET_PSHM_NODES", "four"), ("ATOLL_TRANSPORTS", "ib")):
            run = lambda command: subprocess.run([ATOLL, command], text=True, capture_output=True, check=False,
                                                 env=self.environment(**{name: value}))
            info, doctor = run("info"), run("doctor")
            words = rf"{name}[=:] ?{value}"
            self.assertEqual(len(re.findall(rf"! {words}", info.stdout)), 2, info)  # where it is used, and among the settings
            self.assertRegex(info.stdout, "(?m)^ +ATOLL_LEAKS +summary +default", info)
            self.assertRegex(doctor.stdout, rf"(?m)^PROBLEM +settings +{words}", doctor)
            self.assertEqual((info.returncode, doctor.returncode), (0, 1), (info, doctor))

    def test_doctor(self):
        run = lambda **more: subprocess.run([ATOLL, "doctor"], text=True, capture_output=True,
                                            env=self.environment(**more))
        got = run()
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        self.assertRegex(got.stdout, r"(?m)^ok +shared memory")
        got = run(UPCXX_OVERSUBSCRIBED="perhaps")
        self.assertEqual(got.returncode, 1)
        self.assertRegex(got.stdout, r"(?m)^PROBLEM +settings +UPCXX_OVERSUBSCRIBED=perhaps")
