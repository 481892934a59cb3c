#!/usr/bin/env python3
"""check_ptx.py NVCC ROOT ...: what nvcc makes of a kernel of groups reads and writes memory 16 bytes at a time,
and a kernel that spills registers does not build. The last line counts."""
import re
import subprocess
import sys
import tempfile

nvcc, root, *flags = sys.argv[1:]
passed = failed = 0


def check(good, words):
    global passed, failed
    passed += good
    failed += not good
    if not good:
        print("FAIL", words)


def compile_it(kind, *more):
    """The exit status and what was made."""
    with tempfile.NamedTemporaryFile() as made:
        r = subprocess.run([nvcc, *flags, f"-I{root}", f"-I{root}/include", "-arch=sm_90", kind, *more,
                            f"{root}/tests/cuda/grouped.cu", "-o", made.name], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        return r.returncode, made.read().decode(errors="replace")


status, ptx = compile_it("-ptx")
loads = len(re.findall(r"ld\.(?:global\.)?(?:nc\.)?v4\.(?:[fbu]32)", ptx))
stores = len(re.findall(r"st\.(?:global\.)?v4\.(?:[fbu]32)", ptx))
check(loads >= 2 * 3, f"{loads} loads of 16 bytes: two operands of f32 take four, of halves two")
check(stores >= 3, f"{stores} stores of 16 bytes: f32 takes two, halves one")
check(status == 0 and compile_it("-cubin")[0] == 0, "it does not build")
check(compile_it("-cubin", "-maxrregcount=24")[0] != 0, "a kernel that spills builds")
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(failed > 0)
