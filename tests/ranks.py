#!/usr/bin/env python3
"""test_comm, test_parallel and test_run_ranks with processes of MPI as ranks: the same checks with 2, 3 and 4, and ranks that are late,
give up, leave, are frozen or do something else.

    ranks.py MPIRUN TEST_COMM TEST_PARALLEL TEST_RUN_RANKS
"""
import os
import subprocess
import sys

mpirun, comm, parallel, programs = sys.argv[1:]
results = {True: 0, False: 0}


def run(ranks, mode, program, *tests):
    # Open MPI 4 and 5: as root, and more ranks than processors
    env = {**os.environ, "EGT_MPI": mode, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_ALLOW_RUN_AS_ROOT": "1",
           "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    try:
        r = subprocess.run([mpirun, "-n", str(ranks), program, *tests], env=env, text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=120)
        return r.returncode, r.stdout
    except subprocess.TimeoutExpired as e:
        return None, f"{e.stdout}\nno end after {e.timeout} s"


def check(what, holds, words):
    results[bool(holds)] += 1
    if not holds:
        print(f"FAIL {what}\n{words}")


for ranks in (2, 3, 4):
    for program, tests in ((comm, ["sums", "several", "gathered", "messages", "two_go_on"]),
                           (parallel, ["every_rule", "any_number", "other_precisions", "skipped_steps"]),
                           (programs, ["any_number", "the_log", "running_means", "a_batch"])):
        code, said = run(ranks, "whole", program, *tests)
        check(f"{ranks} ranks", code == 0 and said.count(f"{len(tests)} passed, 0 failed") == ranks, said)
# of the one that is late or frozen nothing may be heard: who has noticed ends, and mpirun ends the rest
for test, ranks, least in (("who_does_not_come", 3, 2), ("who_is_frozen", 3, 2), ("what_one_gives_up", 4, 3),
                           ("who_leaves", 3, 2), ("other_sizes", 2, 1)):
    code, said = run(ranks, "lost", comm, test)
    check(test, code is not None and said.count("as expected") >= least and ", line " not in said, said)
print(f"{results[True]} passed, {results[False]} failed, 0 skipped")
sys.exit(results[False] > 0)
