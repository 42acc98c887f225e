"""What ranks have after their start must not grow with ranks of other hosts, but for 8 bytes a rank.

Usage: start_test.py LAUNCHER PROGRAM
"""

import math
import os
import re
import subprocess
import sys

RANKS_OF_HOST = 4
OWN_BYTES = 8  # for each rank of the job: docs/design/scale.md
SIMULATED_BYTES = 12  # the simulated network's own: a table, and the descriptors by which its ranks wake each other


def start(launcher, program, hosts):
    """Bytes after init and after a barrier, and connections, of each rank."""
    environment = {**os.environ, "ATOLL_SIM_HOSTS": f"{hosts}x{RANKS_OF_HOST}", "UPCXX_SHARED_HEAP_SIZE": "1M"}
    job = subprocess.run([launcher, "run", "-n", str(hosts * RANKS_OF_HOST), "--timeout", "60", program], env=environment,
                         stdout=subprocess.PIPE, text=True, check=True)
    found = re.findall(r"rank (\d+) init (\d+) barrier (\d+) connections (\d+)", job.stdout)
    return {int(rank): tuple(map(int, rest)) for rank, *rest in found}


def main():
    launcher, program = sys.argv[1:]
    few, many = 4, 16
    small, large = (start(launcher, program, hosts) for hosts in (few, many))
    assert len(small) == few * RANKS_OF_HOST and len(large) == many * RANKS_OF_HOST
    further = (many - few) * RANKS_OF_HOST
    problems = []
    for hosts, ranks in ((few, small), (many, large)):
        for rank, (_, _, connections) in ranks.items():
            # Leaders have sent to one rank in each round, and heard from another.
            most = 2 * int(math.log2(hosts)) - 1 if rank % RANKS_OF_HOST == 0 else 0
            if connections > most or (most and not connections):
                problems.append(f"{hosts} hosts: rank {rank} has {connections} connections; at most {most}")
    # Rank by rank of a host, the smallest of all hosts: allocators differ by what came when.
    for local in range(RANKS_OF_HOST):
        def least(ranks, which, local=local):
            return min(values[which] for rank, values in ranks.items() if rank % RANKS_OF_HOST == local)
        growth = least(large, 0) - least(small, 0)
        if growth > (OWN_BYTES + SIMULATED_BYTES) * further:
            problems.append(f"local rank {local}: {further} ranks more take {growth} bytes after init")
        growth = least(large, 1) - least(large, 0) - (least(small, 1) - least(small, 0))
        if local != 0 and growth > 0:
            problems.append(f"local rank {local}: a barrier takes {growth} bytes more with {further} ranks more")
    for problem in problems:
        print("FAILED:", problem)
    print(f"after init {small[0][0]} bytes with {len(small)} ranks, {large[0][0]} with {len(large)}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
