"""What ranks have and send at their start must not grow with ranks of other hosts, but for the map of ranks to hosts.

Usage: start_test.py LAUNCHER PROGRAM
"""

import os
import re
import subprocess
import sys

RANKS_OF_HOST = 4
FEW, MANY = 4, 16  # hosts
FURTHER = (MANY - FEW) * RANKS_OF_HOST
# Private bytes, see docs/design/scale.md.
MAP_BYTES = {"": 4, "cyclic:": 8}  # for each rank of the job
HOST_BYTES = 12  # for each host: where the world's members are
SIMULATED_BYTES = 16  # for each rank: the simulated network's table, and descriptors by which its ranks wake each other
NAME_BYTES = 64  # host names and the like, some longer than others
REMAINDER_BYTES = 64  # the allocator leaves those that are too small for a block of their own with the block before
CONNECTION_BYTES = 4096


def start(launcher, program, placement, hosts):
    """For "init" and "barrier" the counts of each rank after it, in a list."""
    environment = {
        **os.environ,
        "ATOLL_SIM_HOSTS": f"{placement}{hosts}x{RANKS_OF_HOST}",
        "UPCXX_SHARED_HEAP_SIZE": "1M",
        # The allocator counts what a thread has freed and it keeps as used: that depends on what came when.
        "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0",
    }
    ranks = hosts * RANKS_OF_HOST
    job = subprocess.run([launcher, "run", "-n", str(ranks), "--timeout", "300", program], env=environment,
                         stdout=subprocess.PIPE, text=True, check=True)
    counts = {"init": [None] * ranks, "barrier": [None] * ranks}
    for rank, when, rest in re.findall(r"rank (\d+) after (\w+): (.*)", job.stdout):
        words = rest.split()
        counts[when][int(rank)] = {name: int(value) for name, value in zip(words[::2], words[1::2])}
    return counts


def is_leader(placement, hosts, rank):
    return rank < hosts if placement else rank % RANKS_OF_HOST == 0


def of_job(placement, hosts, counts):
    """What is wrong with the counts of one job."""
    rounds = (hosts - 1).bit_length()
    for rank in range(hosts * RANKS_OF_HOST):
        init, barrier = counts["init"][rank], counts["barrier"][rank]
        leads = is_leader(placement, hosts, rank)
        who = f"{placement}{hosts} hosts: {'leader' if leads else 'rank'} {rank}"
        if init["messages"] or init["connections"]:
            yield f"{who} has sent {init['messages']} messages and has {init['connections']} connections after init; none is needed"
        if barrier["messages"] != (rounds if leads else 0):
            yield f"{who} has sent {barrier['messages']} messages in a barrier; {rounds if leads else 0} are needed"
        # Leaders have sent to one rank in each round, and heard from another.
        if barrier["connections"] > (2 * rounds - 1 if leads else 0):
            yield f"{who} has {barrier['connections']} connections after a barrier"
        if leads and barrier["heap"] - init["heap"] > CONNECTION_BYTES * barrier["connections"]:
            yield f"{who}: a barrier takes {barrier['heap'] - init['heap']} bytes for {barrier['connections']} connections"


def of_growth(placement, small, large):
    """What is wrong with the difference between few hosts and many."""
    most = (MAP_BYTES[placement] + SIMULATED_BYTES) * FURTHER + HOST_BYTES * (MANY - FEW) + NAME_BYTES + REMAINDER_BYTES
    # The smallest of all ranks of a sort: some have longer names.
    for leads in (True, False):
        def least(hosts, counts, when, leads=leads):
            return min(c["heap"] for rank, c in enumerate(counts[when]) if is_leader(placement, hosts, rank) == leads)
        grown = least(MANY, large, "init") - least(FEW, small, "init")
        who = "leaders" if leads else "other ranks"
        print(f"{placement or 'consecutive'}: {who} have {grown} bytes more with {FURTHER} ranks more, of at most {most}")
        if grown > most:
            yield f"{placement}{MANY} hosts: {who} have {grown} bytes more than on {FEW} after init, not {most}"
        further = least(MANY, large, "barrier") - least(FEW, small, "barrier") - grown
        if not leads and further > 0:
            yield f"{placement}{MANY} hosts: a barrier takes {further} bytes more than on {FEW}"
    shared = [{c["shared"] for c in counts["barrier"]} for counts in (small, large)]
    if shared[0] != shared[1] or len(shared[0]) != 1 or min(shared[0]) <= 0:
        yield f"{placement}: the shared memory of a host takes {shared[0]} bytes on {FEW} hosts, {shared[1]} on {MANY}"


def main():
    launcher, program = sys.argv[1:]
    problems = []
    for placement in MAP_BYTES:
        small, large = (start(launcher, program, placement, hosts) for hosts in (FEW, MANY))
        problems += [*of_job(placement, FEW, small), *of_job(placement, MANY, large), *of_growth(placement, small, large)]
    for problem in problems:
        print("FAILED:", problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
