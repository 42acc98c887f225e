#!/usr/bin/env python3
"""Mistakes that checked builds must report: misuse_test.py ATOLL PROGRAM SOURCE [case...]

Each case runs as a job of its own, which must fail with one message, which has the given words and names a line
of the case in SOURCE.
"""

import concurrent.futures
import os
import re
import subprocess
import sys

ATOLL, PROGRAM, SOURCE = sys.argv[1:4]

# Name, ranks, words, settings if any. A star before the words: the message comes from a rank that only received what was wrong; a
# minus: none of the program's functions runs at that time.
CASES = [
    ("rput_null", 2, r"rput: the destination is a null global pointer"),
    ("rput_beyond", 1, r"rput: the destination, \d+ elements of 4 bytes at global_ptr\(rank 0, .*ends beyond"),
    ("rput_moved_too_far", 2, r"rput: the destination, 1 element .*does not lie in the shared heap of rank"),
    ("rput_null_source", 1, r"rput: the source is a null pointer"),
    ("rget_null_destination", 1, r"rget: the destination is a null pointer"),
    ("rget_garbage", 2, r"rget: the source, .*names a rank that the job of 2 ranks does not have"),
    ("copy_misaligned", 1, r"copy: the destination, .*is not aligned to 8 bytes"),
    ("put_to_freed", 2, r"rput: the destination, .*not within one live allocation of this rank's shared heap: it was freed"),
    ("get_more_than_allocated", 1, r"rget: the source, 1200 elements .*not within one live allocation"),
    ("put_onto_itself", 1, r"rput: source and destination, 28 bytes each, overlap"),
    ("put_from_other_thread", 2, r"rput: in the seq thread mode .*UPCXX_THREADMODE=par"),
    ("rank_after_finalize", 2, r"rank_me: called before upcxx::init or after upcxx::finalize"),
    ("arithmetic_on_null", 1, r"global_ptr: arithmetic on null"),
    ("to_global_ptr_of_stack", 1, r"to_global_ptr: the address is in no shared heap .*try_global_ptr"),
    ("delete_twice", 1, r"delete_: no allocation starts at offset .*freed already"),
    ("owner_address_from_other_thread", 2, r"atl::owner_address: in the seq thread mode .*UPCXX_THREADMODE=par",
     {"ATOLL_SIM_HOSTS": "2x1"}),
    ("allocate_on_other_thread", 1, r"new_: in the seq thread mode .*UPCXX_THREADMODE=par"),
    ("allocate_alignment", 1, r"allocate: the alignment of 48 bytes is no power of two"),
    ("delete_foreign", 2, r"delete_: the memory .*belongs to rank \d; only the rank that allocated it may free it"),
    ("delete_inside", 1, r"delete_array: no allocation starts at offset"),
    ("delete_as_larger", 1, r"delete_: the allocation .*the type needs 128: allocated as another type"),
    ("delete_array_of_new", 1, r"delete_array: the memory at .* was allocated by new_, which delete_ gives back"),
    ("delete_of_new_array", 1, r"delete_: the memory at .* was allocated by new_array, which delete_array gives back"),
    ("delete_of_counted_array", 1, r"delete_: .* allocated by new_array"),
    ("delete_of_allocate", 1, r"delete_: .* allocated by allocate<T>\(n\), which deallocate\(global_ptr<T>\) gives back"),
    ("deallocate_of_new_array", 1, r"deallocate\(global_ptr<T>\): .* allocated by new_array"),
    ("deallocate_of_other_form", 1, r"deallocate\(void\*\): .* allocated by allocate<T>\(n\)"),
    ("allocate_after_finalize", 2, r"allocate: called before upcxx::init or after upcxx::finalize"),
    ("deallocate_malloc", 1, r"deallocate: 0x[0-9a-f]+ is in no shared heap; .*go(es)? back by delete or free"),
    ("result_too_early", 1, r"future: the results are read before it is ready"),
    ("wait_for_ever", 1, r"wait: the future was default-constructed or moved from"),
    ("wait_for_dead_promise", 1, r"wait: the future will never be ready: its promise ended unfulfilled"),
    ("wait_in_callback", 2, r"wait: .*inside a callback would never end.*then\(\) instead"),
    ("wait_on_other_thread", 1, r"wait: the future belongs to a persona that is not active on this thread"),
    ("fulfill_twice", 1, r"promise::fulfill_result: the results can be supplied only once"),
    ("fulfill_too_much", 1, r"promise::fulfill_anonymous: 3 dependencies are fulfilled, but .*fewer dependencies: 2"),
    ("require_after_finalize", 1, r"promise: a fulfilled promise cannot be changed any more"),
    ("exception_in_then", 1, r"an exception left a callback of then, which must not throw.*std::runtime_error: from then"),
    ("exception_in_then_now", 1, r"an exception left a callback of then, .*from then"),
    ("rpc_to_no_rank", 2, r"rpc: the target is rank 5, but the job has the ranks 0 to 1"),
    ("rpc_names_team_elsewhere", 2, r"an argument of a call is a team of which the target, rank 0, is no member"),
    ("rpc_names_object_elsewhere", 2, r"an argument of a call is a dist_object of a team of which the target, rank 0, is no member"),
    ("builds_nothing", 1, r"deserialize: the object was not built in the given storage"),
    ("throws_while_serializing_result", 1, r"an exception left a callback .*, or what serializes its arguments or result, .*from serialize"),
    ("rpc_to_no_member", 2, r"team: rank -1 is outside the team of 2 ranks"),
    ("reads_too_much", 1, r"*serialization: a message of \d+ bytes cannot hold .*in the same order"),
    ("view_of_wrong_size", 1, r"make_view: there are 3 elements, but the size is given as 4"),
    ("exception_in_rpc", 2, r"*an exception left a callback .*must not throw.*std::runtime_error: from the callback"),
    ("barrier_in_callback", 2, r"barrier: collectives must not be called inside a callback"),
    ("reduce_in_callback", 1, r"reduce_all: collectives must not be called inside a callback"),
    ("root_of_no_member", 2, r"broadcast: the root is rank 2, but the team has the ranks 0 to 1"),
    ("exception_in_reduction", 2, r"an exception left the operation of a reduction, .*std::runtime_error: from the operation"),
    ("reduce_overlapping", 1, r"reduce_all: source and destination, 20 bytes each, overlap"),
    ("rank_of_no_job", 2, r"team::from_world: rank -3 is outside the job of 2 ranks"),
    ("discharge_in_callback", 1, r"discharge: called inside a callback"),
    ("collective_without_master", 2, r"barrier_async: a collective needs the master persona"),
    ("dist_object_not_here", 1, r"dist_id::here: no such object on this rank"),
    ("dist_object_destroyed", 2, r"*dist_object: .*names an object that this rank has destroyed"),
    ("dist_object_moved_from", 1, r"dist_object: an inactive object \(moved from, never activated, or kept over finalize\) has no team"),
    ("dist_object_of_ended_team", 2, r"dist_object: its team was destroyed, and nobody can fetch it any more"),
    ("dist_object_of_ended_period", 1, r"dist_object: an inactive object \(.* kept over finalize\) cannot be sent and has no id"),
    ("persona_held_elsewhere", 1, r"persona_scope: the persona is active on another thread"),
    ("scopes_out_of_order", 1, r"persona_scope: scopes must end .*in the reverse order"),
    ("persona_with_work", 1, r"persona: it ends with work in its queue"),
    ("persona_with_operation", 1, r"persona: it ends .*2 operations under way that would notify it"),
    ("thread_with_work", 1, r"-persona: a thread ends, and its default persona with it, with work in its queue"),
    ("thread_with_operation", 1, r"-persona: a thread ends, .* with 1 operation under way"),
    ("thread_with_master", 1, r"-init: the thread that called it ends .*liberate_master_persona\(\)"),
    ("liberate_twice", 1, r"liberate_master_persona: call it on the thread that called init, once"),
    ("team_after_finalize", 2, r"team::destroy: called before upcxx::init or after upcxx::finalize"),
    ("domain_after_finalize", 2, r"atomic_domain::destroy: called before upcxx::init or after upcxx::finalize"),
    ("domain_in_callback", 2, r"atomic_domain: collectives must not be called inside a callback"),
    ("finalize_without_master", 2, r"finalize: the calling thread does not hold the master persona"),
    ("finalize_twice", 2, r"finalize: called more often than init"),
    ("os_env", 1, r"os_env: MISUSE_NUMBER=twelve: not a value of the type"),
]


def lines_of_cases():
    """First and last line of each case's entry in the source."""
    found = []
    with open(SOURCE, encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
            if (match := re.match(r' {4}\{"(\w+)",', line)):
                found.append((match[1], number))
            elif line.startswith("};") and found:
                found.append(("", number))
    return {name: (first, found[i + 1][1] - 1) for i, (name, first) in enumerate(found[:-1])}


PLACES = lines_of_cases()


def run(name, ranks, **settings):
    return subprocess.run([ATOLL, "run", "-n", str(ranks), "--timeout", "300", PROGRAM, name], text=True,
                          capture_output=True, timeout=330, env={**os.environ, **settings}, check=False)


def complaints(name, ranks, words, settings=None):
    got = run(name, ranks, **(settings or {}))
    remote, unplaced = words[0] == "*", words[0] == "-"
    wrong = []
    if got.returncode != 134:
        wrong.append(f"status {got.returncode}, not that of an abort")
    if not re.search(words.lstrip("*-"), got.stderr):
        wrong.append(f"no words like {words}")
    if got.stderr.count("\natoll: ") + got.stderr.startswith("atoll: ") != 1:
        wrong.append("not one message")
    if len(re.findall("stopped over the mistake above", got.stderr)) != 1:
        wrong.append("the launcher does not say which rank stopped")
    if "#0" in got.stderr:
        wrong.append("the launcher's backtrace is noise here")
    place = re.search(r"called from .*misuse\.cpp:(\d+)", got.stderr)
    first, last = PLACES[name]
    if not place and not unplaced:
        wrong.append("no line of the program")
    elif place and not remote and not first <= int(place[1]) <= last:
        wrong.append(f"line {place[1]}, but the mistake is in {first} to {last}")
    return [f"{name}: {'; '.join(wrong)}\n{got.stdout}{got.stderr}"] if wrong else []


def leak_complaints():
    wrong = []
    summary = run("leak", 2)
    if summary.returncode != 0 or not re.search(
            r"finalize: shared memory was not freed: .* in 3 allocations on 2 of 2 ranks \(most on rank 1: ",
            summary.stderr):
        wrong.append(f"leak: no summary\n{summary.stderr}")
    sites = run("leak", 2, ATOLL_LEAKS="sites").stderr
    first, last = PLACES["leak"]
    named = {int(n) for n in re.findall(r"allocated in .*misuse\.cpp:(\d+)", sites)}
    if not named or not all(first <= n <= last for n in named):
        wrong.append(f"leak: the lines {named} are not those of the allocations\n{sites}")
    if (quiet := run("leak", 2, ATOLL_LEAKS="no")).stderr:
        wrong.append(f"leak: said although it was told not to\n{quiet.stderr}")
    awaited = run("never_constructed", 2)
    if awaited.returncode != 0 or not re.search(r"finalize: 1 calls or futures still wait .*first on rank 1",
                                                awaited.stderr):
        wrong.append(f"never_constructed: not said\n{awaited.stderr}")
    return wrong


def main():
    only = set(sys.argv[4:])
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(complaints, *case) for case in CASES if not only or case[0] in only]
        if not only or "leak" in only:
            jobs.append(pool.submit(leak_complaints))
        wrong = [text for job in jobs for text in job.result()]
    print("\n".join(wrong) if wrong else f"{len(jobs)} cases")
    return 1 if wrong else 0


sys.exit(main())
