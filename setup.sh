#!/bin/sh
# setup.sh - from a fresh checkout to something that runs.
#
#   ./setup.sh demo    train a small network on drawn digits and leave its pictures in egret-out/digits
#                      (more words go to the program: ./setup.sh demo --data DIR takes real MNIST files)
#   ./setup.sh test    build and run all tests; the last line counts them
#   ./setup.sh build   only build, into build/
#
# Missing packages of Debian or Ubuntu are installed first, through sudo where that is needed; without
# apt-get the list is only shown. Nothing else outside this folder is touched.
set -eu
cd "$(dirname "$0")"

tools="gcc libc6-dev pkg-config meson ninja-build python3"
libraries="libdnnl-dev zlib1g-dev libjpeg-dev libpng-dev libprotobuf-c-dev protobuf-c-compiler libexif-dev
    libsndfile1-dev libutf8proc-dev libstb-dev libgif-dev libcurl4-openssl-dev libarchive-dev libssl-dev
    liblua5.4-dev libedit-dev libsixel-dev libzmq3-dev libjansson-dev ca-certificates"
fonts="fonts-dejavu-core fonts-breip fonts-dkg-handwriting fonts-humor-sans fonts-comic-neue"
testing="g++ clang openssl python3 valgrind libc6-dbg lua5.4 tmux
    python3-nbclient python3-jupyter-client"

say() {
    printf '==> %s\n' "$*" >&2
}

missing() {
    for package in "$@"; do
        case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
        *" installed") ;;
        *) printf ' %s' "$package" ;;
        esac
    done
}

need() {
    if ! command -v apt-get >/dev/null; then
        say "no apt-get here: what Debian calls $* should be installed"
        return
    fi
    lacking=$(missing "$@")
    [ -n "$lacking" ] || return 0
    root=
    if [ "$(id -u)" -ne 0 ]; then
        root=sudo
        say "sudo may ask for your password, to install packages"
    fi
    say "installing:$lacking"
    # Lists may be old or absent; a mirror that cannot be reached is noticed by the install.
    $root apt-get update -qq || say "apt-get update failed; trying with the lists there are"
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $lacking >&2
}

build() {
    # What a shell exports for other projects must not leak in here.
    unset DESTDIR CFLAGS CXXFLAGS CPPFLAGS LDFLAGS 2>/dev/null || true
    if [ ! -f build/build.ninja ]; then
        say "configuring build/"
        meson setup build >&2
    fi
    say "building"
    ninja -C build >&2
}

usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
}

verb=${1:-}
[ $# -eq 0 ] || shift
case $verb in
build)
    # shellcheck disable=SC2086
    need $tools $libraries $fonts
    build
    ;;
demo)
    # shellcheck disable=SC2086
    need $tools $libraries $fonts
    build
    say "training"
    build/examples/digits/digits "$@"
    ;;
test)
    # shellcheck disable=SC2086
    need $tools $libraries $fonts $testing
    build
    say "testing"
    exec python3 tests/all.py build
    ;;
help | -h | --help)
    usage
    ;;
*)
    usage >&2
    exit 2
    ;;
esac
