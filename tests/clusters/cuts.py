"""Cases of matrix.py in which a host is lost meanwhile."""

import os
import re
import signal
import subprocess
import tempfile
import time


class Cuts:
    """Cables that are pulled while ranks talk all the time. These are not single jobs, so they run by themselves."""

    def __init__(self, runner, case):
        self.runner, self.case = runner, case
        self.stop = os.path.join(runner.folder.name, "stop")
        self.begin = time.monotonic()
        self.out = ""

    def until(self, what, holds, patience=60):
        end = time.monotonic() + patience
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"{what}: not so after {patience} s")
            time.sleep(0.02)

    def rounds(self):
        """Sum of what rank 0 has said, from the file that takes the job's output."""
        self.log.seek(0)
        self.out = self.log.read()
        return self.out.count("round ")

    def start(self):
        if os.path.exists(self.stop):
            os.remove(self.stop)
        self.log = tempfile.TemporaryFile("w+", errors="replace")  # pylint: disable=consider-using-with
        self.runner.set_link(self.case.link)
        self.job = subprocess.Popen([self.runner.script, "--set", self.runner.set, *self.runner.words(self.case)], stdin=subprocess.DEVNULL,
                                    stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True,
                                    env={**os.environ, **self.runner.environment(self.case)})
        self.until("the job runs", lambda: self.rounds() > 20)

    def go_on(self):
        so_far = self.rounds()
        self.until("the job goes on", lambda: self.rounds() > so_far + 20)

    def check(self):
        try:
            self.start()
            {"short": self.short, "long": self.long, "killed": self.kill_host, "dead": self.kill_all_of_host, "down": self.shut_down}[self.case.cut]()
            result = "passed"
        except AssertionError as wrong:
            result = "failed"
            self.rounds()
            self.out += f"\n{wrong}\n"
        if self.case.cut != "down":
            self.runner.hosts_sh("link", "--mend", "h2")
        try:
            os.killpg(self.job.pid, signal.SIGKILL)
        except OSError:
            pass
        self.job.wait()
        self.runner.end_ranks()
        if self.case.cut == "down":
            self.runner.make_anew(*self.runner.made.split())
        said = [line for line in self.out.splitlines() if not line.startswith("round ")]
        self.runner.note(result, self.case, self.begin, "\n".join(said))

    def short(self):
        for _ in range(2):
            self.runner.hosts_sh("link", "--cut", "h2")
            time.sleep(4.5)  # which is less than 5 s when it is mended: what a job has to outlive
            self.runner.hosts_sh("link", "--mend", "h2")
            self.go_on()
        with open(self.stop, "w", encoding="utf-8"):
            pass
        self.until("the job ends", lambda: self.job.poll() is not None)
        assert self.job.returncode == 0, f"status {self.job.returncode}"

    def ranks(self, host=None):
        return self.runner.processes_called(os.path.basename(self.case.words[0])[:15] + "|atoll-keeper", host)

    def check_words(self):
        self.rounds()
        said = [line for line in self.out.splitlines() if line.startswith("atoll: ")]
        assert len(said) == 1 and re.search(r"host h2 \(ranks? .*\) is lost", said[0]), f"the loss of h2 is told of in {len(said)} lines, not one"

    def long(self):
        self.runner.hosts_sh("link", "--cut", "h2")
        self.until("all ranks have ended", lambda: not self.ranks(), 20)
        self.runner.hosts_sh("link", "--mend", "h2")
        self.until("the launcher ends", lambda: self.job.poll() is not None)
        assert self.job.returncode != 0, "the launcher says that all went well"
        self.check_words()

    def kill_host(self):
        self.runner.hosts_sh("link", "--cut", "h2")
        # Not the launcher's daemon, which the launcher would miss: here that is no connection between hosts.
        for number in self.ranks("h2"):
            os.kill(number, signal.SIGKILL)
        self.until("all ranks have ended", lambda: not self.ranks(), 20)
        self.runner.hosts_sh("link", "--mend", "h2")
        self.check_words()

    def kill_all_of_host(self):
        self.runner.hosts_sh("link", "--cut", "h2")
        # What is nsenter here is ssh elsewhere, and hears nothing.
        for number in self.runner.processes_called("nsenter", "h2"):
            os.kill(number, signal.SIGSTOP)
        for number in self.runner.processes("h2"):
            os.kill(number, signal.SIGKILL)
        self.until("all ranks have ended", lambda: not self.ranks(), 20)
        for number in self.runner.processes_called("nsenter", "h2"):
            os.kill(number, signal.SIGCONT)
        self.check_words()

    def shut_down(self):
        """All connections of the host are closed, and launchers notice that as well as keepers."""
        with open(f"/run/atoll-hosts/{self.runner.set}/h2.pid", encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGKILL)  # all others of its processes end with the first one
        self.until("all ranks have ended", lambda: not self.ranks(), 20)
        if self.case.launcher in ("pmi2", "pmix"):
            self.check_words()
        self.rounds()
        assert self.out.count(" is lost: ") <= 1, "more than one host says that h2 is lost"
