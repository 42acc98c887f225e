#!/usr/bin/env python3
"""Tests of `atoll run`, from outside: what a user sees, and what is left behind.

usage: launcher_test.py ATOLL RANK_PROGRAM [TestClass ...]

RANK_PROGRAM is the misbehaving program beside this file. ATOLL_TEST_SANITIZED=1 in the environment skips what a
sanitizer takes over (it reports crashes itself). Exit status 77: everything was skipped.
"""

import sys
import unittest

from basics import Basics  # noqa: F401
from failures import Failures  # noqa: F401
from hosts import Hosts  # noqa: F401
from mistakes import Mistakes  # noqa: F401
from output_and_input import OutputAndInput  # noqa: F401
from pictures import Pictures  # noqa: F401
from pmix import Pmix  # noqa: F401

if __name__ == "__main__":
    result = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False).result
    if result.testsRun and len(result.skipped) == result.testsRun:
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
