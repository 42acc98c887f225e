#!/usr/bin/env python3
"""Jobs on several hosts, which scripts/hosts.sh makes out of namespaces, under real launchers.

usage: clusters_test.py HOSTS_SH PROGRAMS [TestClass ...]

PROGRAMS is the folder of the test programs. Exit status 77: hosts cannot be made here, or no launcher of the classes is installed.
CLUSTERS_TEST_WHOLE=yes runs what continuous integration has no time for, too.
"""

import sys
import unittest

from atoll_run import AtollRun  # noqa: F401
from bad_link import BadLink  # noqa: F401
from cables import Cables, Rails  # noqa: F401
from launchers import Hydra, Pmix, SlurmPmi2, SlurmPmix  # noqa: F401
from losses import Losses  # noqa: F401
from networks import Agreement, ManyRanks, Mixed, Ofi, Ucx  # noqa: F401
from support import hosts_sh, make_hosts


if __name__ == "__main__":
    try:
        make_hosts()
        result = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False).result
    except unittest.SkipTest:  # said already
        sys.exit(77)
    finally:
        hosts_sh("down")
    skipped = len(result.skipped)
    if result.wasSuccessful() and (result.testsRun == 0 or skipped >= result.testsRun):
        print(f"skipped: {'; '.join({words for _, words in result.skipped})}")
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
