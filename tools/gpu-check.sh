#!/usr/bin/env bash
# gpu-check.sh - all that Egret does on a CUDA device, tried and timed in under ten minutes.
#
#   tools/gpu-check.sh [--build DIR] [--slow N] [--steps] [OUT]
#
# Builds into build-gpu, or takes the build in DIR if it runs here; runs the sweep over all ops and the other
# tests on the device, compute-sanitizer over a part of them where it works, and the benchmarks beside PyTorch.
# OUT gets report.md, report.json and log.txt; without it, and without the environment variable OUT, that is
# bench/results/DATE-CARD.
#
#   --build DIR   a build made elsewhere: a build folder, or what --pack left
#   --slow N      N times the time for every stage
#   --steps       no tests: whole training steps beside PyTorch, eager and compiled
#   --only REGEX  with --steps: models whose name matches, as all do not fit into the time once PyTorch compiles
#   --emulated FILE   tries the check itself: on the emulated device of this module, a part of the sweep, tiny sizes,
#                 PyTorch on the CPU
#   --pack DIR    no check: puts what a check needs of the build (--build, else build) into DIR, stripped
#
# Needed: bash, python3, coreutils; to build, gcc and g++, nvcc in the PATH or under /usr/local/cuda, meson and
# ninja, as programs or as Python packages. No libraries, no network. PyTorch is looked for in TORCH_PYTHON, else
# python3; without it its columns stay empty. CUDA's libraries (cuBLASLt, ...) are found in Python's nvidia
# packages too.
#
# Exit status: 0 all tests passed, 1 some did not, or a stage failed, 2 no CUDA device, 3 misused. Figures that miss
# their aims do not change it. Each stage has a limit; a stage that fails does not stop those behind it. The limits,
# which add up to 570 s in either case, stand at the end of this file.
set -u
from=$PWD
cd "$(dirname "$0")/.." || exit 3

usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' tools/gpu-check.sh
}

at() { # PATH, as the caller means it
    case $1 in /*) echo "$1" ;; *) echo "$from/$1" ;; esac
}

given='' slow=1 pack='' emulated='' steps='' only='' out=${OUT:-}
while [ $# -gt 0 ]; do
    case $1 in
    --build | --slow | --pack | --emulated | --only)
        [ $# -gt 1 ] || { usage >&2; exit 3; }
        case $1 in
        --build) given=$(at "$2") ;;
        --slow) slow=$2 ;;
        --emulated) emulated=$(at "$2") ;;
        --pack) pack=$(at "$2") ;;
        --only) only=$2 ;;
        esac
        shift ;;
    --steps) steps=1 ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 3 ;;
    *) out=$(at "$1") ;;
    esac
    shift
done
case $slow in '' | *[!0-9]* | 0) usage >&2; exit 3 ;; esac
[ -z "$only" ] || [ -n "$steps" ] || { usage >&2; exit 3; }

# Programs and libraries a check needs, as paths in a build folder; tests of a device's kind of their own.
needed() { # FOLDER
    local file
    for file in libegret.so.0 libegret-models.so.0 libegret-cuda.so.0 bench/egret-bench tests/test_ops; do
        echo "$file"
    done
    for file in "$1"/tests/cuda/test_cuda_*; do
        case $file in
        *.p | *_none | *_memory | *_memory_order) ;;
        *) echo "tests/cuda/${file##*/}" ;;
        esac
    done
}

if [ -n "$pack" ]; then
    needed "${given:-build}" | while read -r file; do
        mkdir -p "$pack/$(dirname "$file")" && cp -L "${given:-build}/$file" "$pack/$file" &&
            strip -g "$pack/$file" || exit 1
    done
    exit
fi

work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
start=$(date +%s) torch=${TORCH_PYTHON:-python3}
site=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
libraries=$(ls -d "$site"/nvidia/*/lib 2>/dev/null | paste -sd:)
export LD_LIBRARY_PATH="$libraries${libraries:+:}${LD_LIBRARY_PATH:-}"
export PATH="$PATH:/usr/local/cuda/bin" PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
unset EGRET_CUDA_MODULE EGRET_DEVICE EG_DEBUG DESTDIR CFLAGS CXXFLAGS CPPFLAGS LDFLAGS
if [ -n "$emulated" ]; then
    export EGRET_CUDA_MODULE=$emulated EG_FAKE_DEVICES=2
fi

say() {
    printf '[%3d s] %s\n' $(($(date +%s) - start)) "$*"
}

report() { # [words]: writes what is known by now; the last time it is shown
    python3 tools/gpu_report.py "$work" "$out" "$@"
}

stage() { # NAME SECONDS COMMAND...
    local name=$1 limit=$(($2 * slow)) before code
    shift 2
    before=$(date +%s)
    timeout -k 3 "$limit" "$@" >"$work/$name.log" 2>&1 </dev/null
    code=$?
    printf '%s\t%s\t%s\t%s\n' "$name" "$limit" $(($(date +%s) - before)) $code >>"$work/stages"
    say "$name: status $code, $(($(date +%s) - before)) of $limit s"
    [ -z "$out" ] || report >/dev/null
    return $code
}

# ---- what the stages do ------------------------------------------------------------------------

environment() {
    date -u +%Y-%m-%d
    git describe --always --dirty 2>/dev/null || echo "no git"
    uname -m && nproc && grep -m1 'model name' /proc/cpuinfo
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit --format=csv
    nvcc --version | tail -n 2
    gcc --version | head -n 1
    ldd --version | head -n 1
    python3 --version
    "$torch" -c 'import torch; print("torch", torch.__version__, "CUDA", torch.version.cuda)' && touch "$work/torch"
    return 0
}

build_here() {
    local ninja targets='libegret(-cuda)?\.so\.[0-9.]+|bench/egret-bench'
    [ -n "$steps" ] || targets+='|tests/test_ops|tests/cuda/test_cuda_[a-z_]*'
    ninja=$(command -v ninja || python3 -c 'import ninja, os; print(os.path.join(ninja.BIN_DIR, "ninja"))') &&
        "$ninja" -C build-gpu -t targets all | sed -n -E "s,^($targets):.*,\\1,p" |
        xargs "$ninja" -C build-gpu -j "$(nproc)"
}

configure_here() {
    local meson=meson
    command -v meson >/dev/null || meson="python3 -m mesonbuild.mesonmain"
    # What depends on packages is off; the kernels are built for this family of cards alone.
    [ -f build-gpu/build.ninja ] || $meson setup build-gpu -Dauto_features=disabled -Dcuda=enabled
}

runs() {
    timeout 10 "$1/bench/egret-bench" run launch/add --ops bench/gpu.txt --smoke 1
}

device() {
    echo about | "$build/bench/egret-bench" serve --ops bench/gpu.txt --device cuda
}

tested() { # NAME PROGRAM...: its output, what it was at, and its status, as files
    local name=$1
    shift
    EGT_DEVICE=cuda EGT_VERBOSE=1 stdbuf -oL "$@" >"$work/$name.out" 2>"$work/$name.err"
    echo $? >"$work/$name.status"
}

# In parts at once: a part that loses the device leaves the others theirs.
sweep() {
    local part parts=12 last=12
    [ -z "$emulated" ] || { parts=40 last=1; }
    for part in $(seq $last); do
        EGT_PART=$part/$parts tested "sweep.$part" "$build/tests/test_ops" &
    done
    wait
}

# One of them is linked with the static library and finds the module as the loader does.
tests() {
    local file
    export LD_LIBRARY_PATH="$build:${LD_LIBRARY_PATH:-}"
    for file in $(needed "$build" | grep ^tests/cuda); do
        tested "tests.$(basename "$file")" "$build/$file"
    done
}

# A bad index is found by the very op under EG_DEBUG=sync, else by the next call that waits; the device lives on.
fault() {
    tested fault.sync "$build/tests/cuda/test_cuda_device" bad_index
}

sanitizer() { # TOOL EGT_PART WORDS...
    local tool=$1
    export EGT_DEVICE=cuda EGT_PART=$2
    shift 2
    command -v compute-sanitizer || return 77
    compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 9 "$build/tests/test_ops" "$@"
}

benchmark() { # SECONDS REGEX FILE
    local smoke=()
    [ -e "$work/torch" ] || torch=none
    [ -z "$emulated" ] || smoke=(--smoke --torch-device cpu)
    python3 bench/compare.py gpu --egret-bench "$build/bench/egret-bench" --torch-python "$torch" \
        --rounds 3 --round-ms 40 --seconds $(($1 * slow)) --only "$2" --json "$work/$3" "${smoke[@]}"
}

benchmark_steps() { # SECONDS
    local smoke=()
    [ -e "$work/torch" ] || torch=none
    [ -z "$emulated" ] || smoke=(--smoke --torch-device cpu --ways eager,captured --precision bf16 --rounds 1 --round-ms 1)
    python3 bench/compare.py steps --device cuda --egret-bench "$build/bench/egret-bench" --torch-python "$torch" \
        --rounds 3 --seconds $(($1 * slow)) --only "${only:-.}" --json "$work/steps.json" "${smoke[@]}"
}

export -f environment build_here configure_here runs device tested needed sweep tests fault sanitizer benchmark benchmark_steps
export work torch slow emulated steps only

# ---- the stages and their limits, in seconds ------------------------------------------------------

stage environment 30 bash -c environment
build=$given
if [ -z "$given" ] || ! runs "$given" >"$work/carried.log" 2>&1; then
    [ -z "$given" ] || say "the build in $given does not run here: $(tail -n 1 "$work/carried.log")"
    build=build-gpu
    stage configure 25 bash -c configure_here && stage build 140 bash -c build_here
fi
build=$(cd "$build" 2>/dev/null && pwd)
export build
if ! stage device 15 bash -c device; then
    if ! runs "$build" >"$work/carried.log" 2>&1; then
        report "there is no build that runs here"
        exit 1
    fi
    report "no CUDA device: $(tail -n 1 "$work/device.log")"
    exit 2
fi
[ -n "$out" ] || out=bench/results/$(date -u +%Y-%m-%d)-$(python3 tools/gpu_report.py --card "$work")
if [ -n "$steps" ]; then
    stage steps 360 bash -c 'benchmark_steps 300'
    report
    exit
fi
stage ceilings 40 bash -c 'benchmark 25 ^ceiling ceilings.json'
stage sweep 100 bash -c sweep
stage tests 25 bash -c tests
stage fault 10 bash -c fault
stage memcheck 40 bash -c 'sanitizer memcheck 5/40'
stage racecheck 25 bash -c 'sanitizer racecheck 2/3 "sum (" "softmax (" "cumsum (" "index_add (" "sort ("'
stage benchmark 120 bash -c 'benchmark 100 "^(?!ceiling)" benchmark.json'
report
