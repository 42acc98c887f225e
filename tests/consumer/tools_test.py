#!/usr/bin/env python3
"""Tests of upcxx, upcxx-meta, upcxx-info and upcxx-run, as a user of an installation meets them.

usage: tools_test.py BIN [TestClass ...]

BIN is the folder of the installed programs. CXX and FLAGS (of sanitizers) come from the environment.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN = ""
CXX = os.environ.get("CXX", "c++")
PATIENCE = 300  # seconds

MACROS = """
#include <upcxx/detail/config.hpp>
#ifdef UPCXX_THREADMODE
#define THREAD "par"
#else
#define THREAD "seq"
#endif
#ifdef UPCXX_CODEMODE
#define CODE "opt"
#else
#define CODE "debug"
#endif
#ifdef __OPTIMIZE__
#define LEVEL "optimised"
#else
#define LEVEL "plain"
#endif
#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
#if UPCXX_NETWORK_SMP
#define NET "smp"
#elif UPCXX_NETWORK_UDP
#define NET "udp"
#elif UPCXX_NETWORK_IBV
#define NET "ibv"
#elif UPCXX_NETWORK_ARIES
#define NET "aries"
#elif UPCXX_NETWORK_MPI
#define NET "mpi"
#elif UPCXX_NETWORK_OFI
#define NET "ofi"
#elif UPCXX_NETWORK_UCX
#define NET "ucx"
#endif
facts: THREAD CODE LEVEL NET TEXT(__cplusplus) TEXT(__STRICT_ANSI__)
"""

HELLO = """
#include <upcxx/upcxx.hpp>
#ifdef assert
#error "the header includes <cassert>"
#endif
#include <cstdio>
#include <cstdlib>
extern "C" int twice(int);
int main(int count, char** words) {
  std::printf("started\\n");
  upcxx::init();
  int const sum = upcxx::reduce_all(twice(upcxx::rank_me() + 1), upcxx::op_fast_add).wait();
  std::printf("rank %d of %d: sum %d\\n", upcxx::rank_me(), upcxx::rank_n(), sum);
  if (upcxx::rank_me() == 0) std::printf("heap %lld\\n", static_cast<long long>(upcxx::shared_segment_size()));
  if (count > 1 && upcxx::rank_me() == upcxx::rank_n() - 1) {
    switch (words[1][0]) {
      case 'x': std::exit(7);
      case 'k': std::abort();
      case 'f': upcxx::finalize(); std::exit(9);
    }
  }
  upcxx::finalize();
}
"""


def clean_environment(**more):
    ours = ("UPCXX_", "GASNET_", "ATOLL_", "PMIX_", "OMPI_")
    return {**{k: v for k, v in os.environ.items() if not k.startswith(ours)}, "ATOLL_CXX": CXX, **more}


class ToolsTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def call(self, *words, env=None, status=0, **options):
        words = [os.path.join(BIN, words[0]) if words[0].startswith("upcxx") else words[0], *map(str, words[1:])]
        got = subprocess.run(words, text=True, capture_output=True, cwd=self.folder, env=clean_environment(**(env or {})),
                             timeout=PATIENCE, stdin=subprocess.DEVNULL, **options)
        if status is not None:
            self.assertEqual(got.returncode, status, f"{words}\n{got.stdout}\n{got.stderr}")
        return got


class Wrapper(ToolsTest):
    def facts(self, *options, **env):
        self.write("macros.cpp", MACROS)
        got = self.call("upcxx", *options, "-E", "macros.cpp", env=env).stdout
        line = [text for text in got.splitlines() if text.startswith("facts:")][-1]
        return re.findall(r'"([^"]*)"', line)

    def test_modes(self):
        for options, env, expected in (
            ((), {}, "seq opt optimised"),
            (("-O",), {}, "seq opt optimised"),
            (("-O0",), {}, "seq opt plain"),
            (("-g",), {}, "seq debug plain"),
            (("-ggdb3",), {}, "seq debug plain"),
            (("-g0",), {}, "seq opt optimised"),
            (("-g", "-O2"), {}, "seq opt optimised"),
            (("-g", "-O0"), {}, "seq debug plain"),
            (("-g", "-Og"), {}, "seq debug optimised"),
            (("-g", "-codemode=opt"), {}, "seq opt optimised"),
            (("-O2", "-codemode=debug"), {}, "seq debug optimised"),
            (("-threadmode=par",), {}, "par opt optimised"),
            ((), {"UPCXX_THREADMODE": "par", "UPCXX_CODEMODE": "debug"}, "par debug plain"),
            ((), {"UPCXX_CODEMODE": "O3"}, "seq opt optimised"),
            ((), {"UPCXX_CODEMODE": "", "UPCXX_NETWORK": ""}, "seq opt optimised"),
            (("-O",), {"UPCXX_CODEMODE": "debug"}, "seq opt optimised"),
            (("-threadmode=seq",), {"UPCXX_THREADMODE": "par"}, "seq opt optimised"),
            (("-I", "-g", "-o", "-"), {}, "seq opt optimised"),
        ):
            with self.subTest(options=options, env=env):
                self.assertEqual(" ".join(self.facts(*options, **env)[:3]), expected)

    def test_networks(self):
        for name in ("smp", "udp", "ibv", "aries", "mpi", "ofi", "ucx"):
            self.assertEqual(self.facts(f"-network={name}")[3], name)
        self.assertEqual(self.facts(UPCXX_NETWORK="ibv")[3], "ibv")
        self.assertEqual(self.facts(UPCXX_GASNET_CONDUIT="udp")[3], "udp")
        self.assertEqual(self.facts("-network=smp", UPCXX_NETWORK="ibv")[3], "smp")

    def test_wrong_values_are_refused(self):
        for option in ("-network=token-ring", "-codemode=fast", "-threadmode=many"):
            got = self.call("upcxx", option, "-E", "none.cpp", status=2)
            self.assertIn(option.split("=")[1], got.stderr)
            self.assertTrue(got.stderr.startswith("upcxx: "), got.stderr)
        self.assertTrue(self.call("upcxx-meta", "-codemode=fast", "CXX", status=2).stderr.startswith("upcxx-meta: "))

    def test_language_level(self):
        for option, level, strict in (("-std=c++11", "202002L", "1"), ("-std=c++17", "202002L", "1"),
                                      ("-std=gnu++14", "202002L", "__STRICT_ANSI__"), (None, "202002L", "__STRICT_ANSI__")):
            got = self.facts(*([option] if option else []))[4:]
            self.assertEqual(got, [level, strict], option)
        self.assertGreater(self.facts("-std=c++23")[4], "202002L")
        # Untouched, so that the header refuses, with words.
        got = self.call("upcxx", "-Wc,-std=c++14", "-E", "macros.cpp", status=None)
        self.assertNotEqual(got.returncode, 0)
        self.assertIn("needs C++20", got.stderr)

    def test_stages_and_c(self):
        self.write("a.c", "int twice(int class) { return 2 * class; }\n")
        self.write("b.c", "int other(int new) { return new; }\n")
        self.write("main.cpp", 'extern "C" int twice(int); extern "C" int other(int);\n'
                               "int main() { return twice(0) + other(0); }\n")
        files = lambda: sorted(os.listdir(self.folder))
        before = files()
        self.call("upcxx", "-O2", "main.cpp", "a.c", "b.c", "-o", "all")
        self.call("./all")
        self.assertEqual(files(), sorted(before + ["all"]))  # no objects are left
        self.call("upcxx", "-O", "-std=c++17", "-c", "a.c", "main.cpp", "b.c")
        self.call("upcxx", "-g", "main.o", "a.o", "b.c", "-lm", "-o", "mixed")
        self.call("./mixed")
        self.call("upcxx", "-c", "a.c", "-o", "named.o")
        self.call("upcxx", "-S", "a.c", "-std=c99")
        self.call("upcxx", "-shared", "-fPIC", "a.c", "b.c", "-o", "liba.so")
        self.call("upcxx", "main.cpp", "-L.", "-la", "-Wl,-rpath," + self.folder, "-o", "shared")
        self.call("./shared")
        self.assertTrue({"a.o", "named.o", "a.s", "liba.so"} <= set(files()))
        self.assertIn("main.o:", self.call("upcxx", "-MM", "main.cpp").stdout)
        self.call("upcxx", "-fsyntax-only", "main.cpp")
        self.assertNotEqual(self.call("upcxx", "-c", "missing.c", status=None).returncode, 0)

    def test_headers_compile_in_silence(self):
        self.write("main.cpp", "#include <upcxx/upcxx.hpp>\nint main() {}\n")
        for compiler in (CXX, shutil.which("clang++-16") or CXX):
            got = self.call("upcxx", "-g", "-Wall", "-Wextra", "-Wshadow", "-fsyntax-only", "main.cpp", env={"ATOLL_CXX": compiler})
            self.assertEqual(got.stderr, "", compiler)

    def test_help_and_questions(self):
        self.assertIn("-threadmode", self.call("upcxx", "--help").stdout)
        self.assertIn("-codemode", self.call("upcxx", "-help").stdout)
        self.assertEqual(self.call("upcxx", "--version").stdout, self.call(CXX, "--version").stdout)
        for words in (("upcxx", "-info"), ("upcxx-info",)):
            self.assertRegex(self.call(*words).stdout, r"Default network: +smp")

    def test_meta(self):
        meta = lambda what, **env: self.call("upcxx-meta", what, env=env).stdout.strip()
        self.assertIn("-DUPCXX_CODEMODE=1", meta("CPPFLAGS"))
        self.assertNotIn("-DUPCXX_CODEMODE", meta("CPPFLAGS", UPCXX_CODEMODE="debug"))
        self.assertIn("-DUPCXX_THREADMODE=1", meta("CPPFLAGS", UPCXX_THREADMODE="par"))
        self.assertIn("-DGASNET_PAR=1", meta("CPPFLAGS", UPCXX_THREADMODE="par"))
        self.assertIn("-DGASNET_SEQ=1", meta("CPPFLAGS"))
        self.assertEqual(meta("PPFLAGS"), meta("CPPFLAGS"))
        self.assertEqual(meta("LIBFLAGS"), meta("LDFLAGS") + " " + meta("LIBS"))
        self.assertIn("-DUPCXX_NETWORK_IBV=1", meta("CPPFLAGS", UPCXX_NETWORK="ibv"))
        self.assertEqual(meta("GASNET_CONDUIT", UPCXX_NETWORK="ibv"), "ibv")
        self.assertEqual(meta("CXX"), CXX)
        self.assertTrue(os.path.isdir(meta("PREFIX")))
        self.assertEqual(self.call("upcxx-meta", "COFFEE", status=2).stdout, "")
        self.call("upcxx-meta", status=2)


    def make_toolkit(self, home):
        """A folder that looks like a CUDA toolkit, with libraries of one function each."""
        stubs = os.path.join(home, "lib64", "stubs")
        os.makedirs(stubs)
        os.makedirs(os.path.join(home, "include"))
        for name, function, folder in (("cudart", "cudaRuntimeGetVersion", os.path.dirname(stubs)), ("cuda", "cuInit", stubs)):
            self.write(name + ".c", f"int {function}(void) {{ return 7; }}\n")
            self.call("cc", "-shared", "-fPIC", name + ".c", "-o", os.path.join(folder, f"lib{name}.so"))
        with open(os.path.join(home, "include", "cuda_runtime.h"), "w") as file:
            file.write('extern "C" int cudaRuntimeGetVersion(void); extern "C" int cuInit(void);\n')

    def test_cuda_on_request(self):
        home = os.path.join(self.folder, "the toolkit")
        self.make_toolkit(home)
        self.write("main.cpp", "#include <cuda_runtime.h>\nint main() { return cudaRuntimeGetVersion() - cuInit(); }\n")
        env = {"CUDA_HOME": home}
        self.call("upcxx", "-with-cuda", "-O0", "main.cpp", "-o", "by-option", env=env)
        self.call("upcxx", "-O0", "main.cpp", "-o", "by-variable", env={**env, "UPCXX_LINK_CUDA": "yes"})
        # The driver of the machine is not in the run path, nor its stand-in; the run-time library is.
        for program in ("./by-option", "./by-variable"):
            self.call(program, env={"LD_LIBRARY_PATH": os.path.join(home, "lib64", "stubs")})
        self.assertNotIn("cuda", self.call("upcxx-meta", "LIBS", env=env).stdout)
        got = self.call("upcxx", "-with-cuda", "main.cpp", env={"PATH": "/usr/bin:/bin"}, status=None)
        if not os.path.exists("/usr/local/cuda/include/cuda_runtime.h"):
            self.assertEqual(got.returncode, 2)
            self.assertIn("no toolkit was found", got.stderr)
        self.assertEqual(self.call("upcxx-meta", "LIBS", env={**env, "UPCXX_LINK_CUDA": "maybe"}, status=2).stdout, "")

    def test_paths_with_spaces_and_quotes(self):
        home = os.path.join(self.folder, "the user's software (new)")
        shutil.copytree(os.path.dirname(BIN), home, symlinks=True)
        run = lambda program, *words: self.call(os.path.join(home, "bin", program), *words)
        self.write("main.cpp", "#include <upcxx/upcxx.hpp>\nextern \"C\" int twice(int);\n"
                               "int main() { upcxx::init(); int n = twice(upcxx::rank_n()); upcxx::finalize(); return n; }\n")
        self.write("twice.c", "int twice(int x) { return 2 * x; }\n")
        run("upcxx", "-O0", "-c", "main.cpp")
        run("upcxx", "-O0", "main.o", "twice.c", "-o", "a program")
        self.assertIn(f"{home}/lib", self.call("ldd", "./a program").stdout)
        self.call("./a program", status=2)
        self.assertIn(home, run("upcxx", "-info").stdout)
        # As in the makefiles of the documentation.
        self.write("Makefile", f"META = '{home}/bin/upcxx-meta'\n".replace("'s", "'\\''s") +
                   "program: main.cpp twice.c\n"
                   "\t$(shell $(META) CC) -c twice.c\n"
                   "\t$(shell $(META) CXX) $(shell $(META) CPPFLAGS) -std=gnu++20 -c main.cpp\n"
                   "\t$(shell $(META) CXX) $(shell $(META) LDFLAGS) main.o twice.o $(shell $(META) LIBS) -o $@\n")
        if shutil.which("make") and not os.environ.get("FLAGS"):
            self.call("make")
            self.call("./program", status=2)
        if shutil.which("pkg-config") and not os.environ.get("FLAGS"):
            # pkg-config writes backslashes before spaces only.
            spaced = os.path.join(self.folder, "the user")
            os.symlink(home, spaced)
            file = subprocess.check_output(["find", spaced + "/", "-name", "upcxx.pc"], text=True).strip()
            command = f"{CXX} $(pkg-config --cflags upcxx) main.cpp twice.o $(pkg-config --libs upcxx) -o by-pkg-config"
            self.call("sh", "-c", f'eval "{command}"', env={"PKG_CONFIG_PATH": os.path.dirname(file)})
            self.call("./by-pkg-config", status=2)


class Modes(ToolsTest):
    """Files of different modes must not become one program."""

    def compilers(self):
        found = [CXX, shutil.which("clang++-16") or CXX, shutil.which("g++") or CXX]
        return [found[0]] if os.environ.get("FLAGS") else sorted(set(found))

    def test_linker_says_so(self):
        self.write("main.cpp", "#include <upcxx/detail/identity.hpp>\nint f(); int main() { return f(); }\n")
        self.write("f.cpp", "#include <upcxx/detail/identity.hpp>\nint f() { return 0; }\n")
        for compiler in self.compilers():
            env = {"ATOLL_CXX": compiler}
            self.call("upcxx", "-O", "-c", "main.cpp", env=env)
            for name, options in (("same.o", ["-O"]), ("debug.o", ["-g"]), ("par.o", ["-O", "-threadmode=par"])):
                self.call("upcxx", *options, "-c", "f.cpp", "-o", name, env=env)
            self.call("upcxx", "-O", "main.o", "same.o", "-o", "good", env=env)
            self.call("./good")
            for other in ("debug.o", "par.o"):
                got = self.call("upcxx", "-O", "main.o", other, "-o", "bad", env=env, status=None)
                self.assertNotEqual(got.returncode, 0, (compiler, other))
                self.assertIn("files_of_one_program_differ_in_codemode_or_threadmode", got.stderr)

    def test_shared_library_of_another_mode(self):
        self.write("main.cpp", "#include <upcxx/init.hpp>\n#include <upcxx/detail/identity.hpp>\n"
                               "int f(); int main() { upcxx::init(); upcxx::finalize(); return f(); }\n")
        self.write("f.cpp", "#include <upcxx/detail/identity.hpp>\nint f() { return 0; }\n")
        link = ["-L.", "-lf", "-Wl,-rpath," + self.folder]
        self.call("upcxx", "-g", "-c", "main.cpp")
        self.call("upcxx", "-g", "-shared", "-fPIC", "f.cpp", "-o", "libf.so")
        self.call("upcxx", "-g", "main.o", *link, "-o", "program")
        self.call("./program")
        self.call("upcxx", "-O", "-shared", "-fPIC", "f.cpp", "-o", "libf.so")
        got = self.call("./program", status=None)
        self.assertNotEqual(got.returncode, 0)
        self.assertRegex(got.stderr, r"codemode debug.*libf\.so with threadmode seq, codemode opt")


class Programs(ToolsTest):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.shared)
        with open(os.path.join(cls.shared, "hello.cpp"), "w") as file:
            file.write(HELLO)
        with open(os.path.join(cls.shared, "twice.c"), "w") as file:
            file.write("int twice(int x) { return 2 * x; }\n")
        subprocess.run([os.path.join(BIN, "upcxx"), "-g", "hello.cpp", "twice.c", "-o", "hello"], cwd=cls.shared, check=True,
                       env=clean_environment(), timeout=PATIENCE)

    def setUp(self):
        self.folder = self.shared
        self.hello = os.path.join(self.shared, "hello")

    def assert_ranks(self, got, ranks, starts):
        lines = got.stdout.splitlines()
        expected = [f"rank {r} of {ranks}: sum {ranks * (ranks + 1)}" for r in range(ranks)]
        self.assertEqual(sorted(line for line in lines if line.startswith("rank")), expected)
        self.assertEqual(lines.count("started"), starts)

    def heap(self, *options, **env):
        got = self.call("upcxx-run", "-n", 1, *options, "hello", env=env)
        return int(re.search(r"heap (\d+)", got.stdout).group(1))

    def test_launch(self):
        self.assert_ranks(self.call("upcxx-run", "-n", 4, "./hello"), 4, 4)
        self.assert_ranks(self.call("upcxx-run", "-np", 2, "-N", 1, "-localhost", "-backtrace", "hello"), 2, 2)

    def test_heaps(self):
        mega = 1 << 20
        for options, env, expected in (
            (["-shared-heap=64m"], {}, 64 * mega),
            (["-shared-heap", "1Gb"], {}, 1024 * mega),
            (["-shared-heap", "20"], {}, 20 * mega),
            (["-shared-heap", "512K"], {}, mega // 2),
            ([], {"UPCXX_SHARED_HEAP_SIZE": "16 MB"}, 16 * mega),
            ([], {"UPCXX_SHARED_HEAP_SIZE": "24"}, 24 * mega),
            ([], {"UPCXX_SEGMENT_MB": "32"}, 32 * mega),
            ([], {"GASNET_MAX_SEGSIZE": "32MB/P"}, 32 * mega),
            ([], {"GASNET_MAX_SEGSIZE": "4GB/H"}, 128 * mega),
            (["-shared-heap=64M"], {"GASNET_MAX_SEGSIZE": "32MB/P"}, 64 * mega),
        ):
            with self.subTest(options=options, env=env):
                self.assertAlmostEqual(self.heap(*options, **env), expected, delta=65536)

    def test_show(self):
        got = self.call("upcxx-run", "-v", "-show", "-n", 3, "-shared-heap", "1G", "./hello", "a b").stdout
        lines = got.splitlines()
        for line in ("GASNET_PSHM_NODES=3", "UPCXX_SHARED_HEAP_SIZE=1G", f"GASNET_MAX_SEGSIZE={1 << 30}B/P"):
            self.assertIn(line, lines[:-1])
        self.assertTrue(lines[-1].endswith("run -n 3 ./hello 'a b'"), got)
        got = self.call("upcxx-run", "-v", "-show", "-n", 3, "./hello").stdout
        self.assertIn("UPCXX_SHARED_HEAP_SIZE=128MB", got)

    def test_info(self):
        for option in ("-info", "-i", "--info"):
            got = self.call("upcxx-run", option, "hello").stdout
            self.assertIn("UPCXXCodeMode: debug\n", got)
            self.assertIn("UPCXXThreadMode: seq\n", got)
            self.assertRegex(got, r"UPCXXCUDAEnabled: [01]\n")
        self.assertIn("not compiled", self.call("upcxx-run", "-info", "/bin/sh", status=1).stderr)

    def test_verbose(self):
        got = self.call("upcxx-run", "-vv", "-n", 2, "hello").stderr
        self.assertRegex(got, r"local team 0 of 1: ranks 0-1")
        got = self.call("./hello", env={"UPCXX_VERBOSE": "2", "UPCXX_OVERSUBSCRIBED": "yes"}).stderr
        self.assertRegex(got, r"128 MiB for each rank")
        self.assertRegex(got, r"oversubscribed.*\(UPCXX_OVERSUBSCRIBED\)")
        self.assertRegex(got, r"rank 0: pid \d+")

    def test_without_a_launcher(self):
        self.assert_ranks(self.call("./hello"), 1, 1)
        self.assert_ranks(self.call("./hello", env={"GASNET_PSHM_NODES": "1"}), 1, 1)
        self.assert_ranks(self.call("./hello", env={"GASNET_PSHM_NODES": "4"}), 4, 1)

    def test_failures_without_a_launcher(self):
        env = {"GASNET_PSHM_NODES": "3"}
        self.assertIn("without calling upcxx::finalize", self.call("./hello", "x", env=env, status=7).stderr)
        self.assertIn("rank 2 was killed by signal 6", self.call("./hello", "k", env=env, status=134).stderr)
        self.call("./hello", "f", env=env, status=9)

    def test_programs_of_ranks_are_no_ranks(self):
        got = self.call("upcxx-run", "-n", 1, "sh", "-c", "./hello; ./hello")
        self.assertEqual(got.stdout.count("rank 0 of 1"), 2)

    def test_backtrace(self):
        got = self.call("./hello", "k", env={"GASNET_BACKTRACE": "1"}, status=None)
        self.assertEqual(got.returncode, -signal.SIGABRT)
        self.assertRegex(got.stderr, r"rank 0 of 1 on .* \(pid \d+\) called abort\(\)\n(.*\n)*.*main")

    def test_freeze(self):
        for variables, words, status in (({"GASNET_FREEZE": "1"}, [], 0),
                                         ({"GASNET_FREEZE_ON_ERROR": "1"}, ["k"], -signal.SIGABRT)):
            process = subprocess.Popen([self.hello, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                       env=clean_environment(**variables))
            line = process.stderr.readline()
            self.assertIn(f"pid {process.pid} waits for a debugger", line)
            # Without the type gdb refuses a variable that has no debugging information.
            self.assertIn("`set var *(int*)&'atl::bootstrap::frozen' = 0`", line)
            deadline = time.monotonic() + PATIENCE
            while process.poll() is None and time.monotonic() < deadline:
                process.send_signal(signal.SIGCONT)
                time.sleep(0.05)
            process.stderr.close()
            self.assertEqual(process.wait(), status)

    def test_makefile(self):
        self.write("Makefile", f"""
META = {os.path.join(BIN, "upcxx-meta")}
CXX = $(shell $(META) CXX)
CC = $(shell $(META) CC)
CPPFLAGS = $(shell $(META) CPPFLAGS)
CXXFLAGS = $(shell $(META) CXXFLAGS) $(EXTRA_CXXFLAGS)
LDFLAGS = $(shell $(META) LDFLAGS)
LIBS = $(shell $(META) LIBS)
made: made.o twice.o
\t$(CXX) $(LDFLAGS) $^ -lm $(LIBS) -o $@
made.o: hello.cpp
\t$(CXX) $(CPPFLAGS) $(CXXFLAGS) -c $< -o $@
""")
        self.call("make", "made", env={"UPCXX_CODEMODE": "debug", "UPCXX_THREADMODE": "par"})
        self.assert_ranks(self.call("upcxx-run", "-n", 2, "made"), 2, 2)
        self.assertIn("UPCXXThreadMode: par", self.call("upcxx-run", "-i", "made").stdout)


if __name__ == "__main__":
    BIN = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
