#!/bin/sh
# setup.sh - from a fresh checkout to something that runs.
#
#   ./setup.sh demo       train a small network on drawn digits and leave its pictures in egret-out/digits
#                         (more words go to the program: ./setup.sh demo --data DIR takes real MNIST files)
#   ./setup.sh install [--prefix DIR] [--without NAME[,NAME]...] [--with NAME[,NAME]...]
#                         build and install the library, its headers, the programs and the Lua module into DIR
#                         (default /usr/local); prints the lines that ~/.profile needs, if any. --without leaves a
#                         feature and its packages out (cuda, mpi, lua, examples, ... as in meson_options.txt),
#                         --with requires one; a later install keeps both settings
#   ./setup.sh uninstall  remove what install has put anywhere
#   ./setup.sh test       build and run the tests, on two cores about ten minutes; the last line counts them
#   ./setup.sh test all   the same, and in builds of other kinds (an hour): with sanitizers, clang, without
#                         libraries; or some of them by name, which tests/all.py --help tells
#   ./setup.sh build      only build, into build/
#
# Missing packages of Debian or Ubuntu are installed first, through sudo where that is needed; without
# apt-get the list is only shown. Nothing else outside this folder is touched, but by install.
set -eu
from=$PWD
cd "$(dirname "$0")"
PATH=$PATH:/usr/sbin:/sbin # for ldconfig

tools="gcc libc6-dev pkg-config meson ninja-build python3"
# Features of meson_options.txt and the packages each needs.
features="
onednn    libdnnl-dev
mpi       libopenmpi-dev
zlib      zlib1g-dev
jpeg      libjpeg-dev
png       libpng-dev
exif      libexif-dev
expat     libexpat1-dev
sndfile   libsndfile1-dev
mpg123    libmpg123-dev
samplerate libsamplerate0-dev
snappy    libsnappy-dev
archive   libarchive-dev
utf8proc  libutf8proc-dev
pcre2     libpcre2-dev
stb       libstb-dev
protobuf  libprotobuf-c-dev protobuf-c-compiler
cuda
lua       liblua5.4-dev
libedit   libedit-dev
sixel     libsixel-dev
notebook  libzmq3-dev libjansson-dev libssl-dev
examples  libgif-dev libcurl4-openssl-dev libssl-dev ca-certificates
    fonts-dejavu-core fonts-breip fonts-dkg-handwriting fonts-humor-sans fonts-comic-neue"
demo="libdnnl-dev zlib1g-dev libpng-dev libstb-dev
    fonts-dejavu-core fonts-breip fonts-dkg-handwriting fonts-humor-sans fonts-comic-neue"
testing="g++ clang clang-format cmake openssl openmpi-bin iproute2 python3 valgrind libc6-dbg lua5.4 tmux libonnx-testdata
    python3-nbclient python3-jupyter-client"

say() {
    printf '==> %s\n' "$*" >&2
}

fail() {
    say "$@"
    exit 1
}

# Runs what only root may do.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "only root may do this, and there is no sudo: $*"
    fi
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
    [ "$(id -u)" -eq 0 ] || say "sudo may ask for your password, to install packages"
    say "installing:$lacking"
    # Lists may be old or absent; a mirror that cannot be reached is noticed by the install.
    as_root apt-get update -qq || say "apt-get update failed; trying with the lists there are"
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $lacking >&2
}

# ---- building -----------------------------------------------------------------------------------

# Prints the packages of all features but those that are given.
packages() {
    printf '%s\n' "$features" | awk -v names=" $* " '
        /^[a-z]/ { skip = index(names, " " $1 " "); $1 = "" }
        !skip { for (i = 1; i <= NF; i++) if ($i != "" && !seen[$i]++) print $i }'
}

# Prints the packages without which a build must have been configured.
absent() {
    # shellcheck disable=SC2046
    missing $(packages)
}

# Configures build/ unless that was done.
configure() {
    if [ ! -f build/build.ninja ]; then
        say "configuring build/"
        meson setup --libdir lib build >&2 # as it is installed
        absent >build/absent
    fi
}

# Reports each percent of a build's progress, and passes all other output on.
progress() {
    last=0
    while IFS= read -r line; do
        case $line in
        "@failed") return 1 ;;
        @*%@*)
            share=${line%%%*}
            share=${share##*[@ ]}
            [ "$share" -eq "$last" ] || say "$share %"
            last=$share
            ;;
        "ninja: Entering"*) ;;
        *) printf '%s\n' "$line" >&2 ;;
        esac
    done
}

# Builds the targets in a folder, all of it if there are none.
compile() {
    if [ -t 2 ]; then
        ninja -C "$@" >&2
    else
        { NINJA_STATUS='@%p@' ninja -C "$@" 2>&1 || echo "@failed"; } | progress
    fi
}

build() {
    # Meson does not look again for a header that was not there.
    if [ -f build/absent ] && [ "$(absent)" != "$(cat build/absent)" ]; then
        say "other packages are there than when build/ was configured: making it anew"
        meson setup --wipe build >&2
        absent >build/absent
    fi
    configure
    say "building"
    compile build
}

# The program, and modules that the library opens when it needs them; but that of CUDA takes minutes to build.
demo_targets() {
    ninja -C build -t targets all |
        sed -nE '/libegret-cuda/d; s,^(examples/digits/digits|libegret-[a-z0-9]+\.so[.0-9]*): .*,\1,p'
}

demo() {
    say "three stages, which on two cores take about: packages 1 minute, building 2 minutes, training 1 minute"
    say "1 of 3: packages"
    # shellcheck disable=SC2086
    need $tools $demo
    say "2 of 3: building"
    configure
    targets=$(demo_targets)
    case $targets in
    *digits*) ;;
    *) fail "the demo cannot be built without libpng and stb_truetype" ;;
    esac
    # shellcheck disable=SC2086
    compile build $targets
    say "3 of 3: training"
    exec build/examples/digits/digits "$@"
}

# ---- installing ---------------------------------------------------------------------------------

# Whether a file can be written in the folder, which need not exist yet.
writable() {
    at=$1
    while [ ! -e "$at" ]; do
        at=$(dirname "$at")
    done
    [ -d "$at" ] && [ -w "$at" ]
}

# Runs a command as whoever may write into all the folders on standard input: the caller, or root.
as_writer() {
    while IFS= read -r folder; do
        if ! writable "$folder"; then
            [ "$(id -u)" -eq 0 ] || say "sudo may ask for your password, to write into $folder"
            as_root "$@"
            return
        fi
    done
    "$@"
}

# The loader finds libraries by a list; there the folder's are, if it knows of that at all.
tell_loader() {
    if ldconfig -NXv 2>/dev/null | grep -q "^$1:"; then
        (as_root ldconfig) || true
    fi
}

# Tells a shell of a folder, in front of those that a variable has.
export_line() {
    echo "export $1=\"$2\${$1:+:\$$1}\""
}

# What a shell does not find in the prefix by itself.
shell_lines() {
    case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) export_line PATH "$prefix/bin" ;;
    esac
    if [ "$(pkg-config --variable=libdir egret 2>/dev/null)" != "$prefix/lib" ]; then
        export_line PKG_CONFIG_PATH "$prefix/lib/pkgconfig"
    fi
    case :${LD_LIBRARY_PATH:-}: in
    *":$prefix/lib:"*) ;;
    *) ldconfig -p 2>/dev/null | grep -q " $prefix/lib/libegret\.so" || export_line LD_LIBRARY_PATH "$prefix/lib" ;;
    esac
    case $prefix:${LUA_CPATH:-} in
    /usr/local:* | /usr:* | *"$prefix/lib/lua/5.4/?.so"*) ;;
    *) echo "export LUA_CPATH=\"$prefix/lib/lua/5.4/?.so;\${LUA_CPATH:-;}\"" ;;
    esac
}

# Prints the features in a comma-separated list, or fails naming the first that does not exist.
names_of() {
    # shellcheck disable=SC2046
    for name in $(printf '%s' "$1" | tr ',' ' '); do
        case $features in
        *"
$name "* | *"
$name
"*) echo "$name" ;;
        *)
            say "there is no feature '$name'; features:" $(printf '%s\n' "$features" | sed -n 's/^\([a-z0-9]\{1,\}\).*/\1/p')
            return 1
            ;;
        esac
    done
}

# Prints meson's settings that enable or disable the features of a comma-separated list.
settings_of() {
    for name in $(printf '%s' "$2" | tr ',' ' '); do
        printf ' -D%s=%s' "$name" "$1"
    done
}

install() {
    prefix=/usr/local
    without=$(cat build-install/without 2>/dev/null || true)
    settings=
    while [ $# -gt 0 ]; do
        case $1 in
        --*=?*) value=${1#*=} ;;
        *)
            [ $# -gt 1 ] || refuse
            value=$2
            ;;
        esac
        case $1 in
        --prefix | --prefix=*) prefix=$value ;;
        --without | --without=*)
            names=$(names_of "$value") || exit 2
            without="$without $names"
            settings="$settings $(settings_of disabled "$value")"
            ;;
        --with | --with=*)
            names=$(names_of "$value") || exit 2
            for name in $names; do
                # shellcheck disable=SC2086
                without=$(printf '%s\n' $without | grep -vx "$name" || true)
            done
            settings="$settings $(settings_of enabled "$value")"
            ;;
        *) refuse ;;
        esac
        case $1 in
        --*=?*) shift ;;
        *) shift 2 ;;
        esac
    done
    case $prefix in
    *[[:space:]\"\'\`\$\\\;:]*) fail "there are spaces or signs in '$prefix' that would not come through" ;;
    /*) ;;
    *) prefix=$(realpath -m "$from/$prefix" 2>/dev/null || echo "$from/$prefix") ;;
    esac
    prefix=${prefix%/}
    # shellcheck disable=SC2046,SC2086
    need $tools $(packages $without)
    mkdir -p build-install
    echo "$without" >build-install/without
    # Not into lib/x86_64-linux-gnu or lib64: of those not all of the loader, pkg-config and Lua know everywhere.
    # shellcheck disable=SC2086
    set -- --prefix "$prefix" --libdir lib -Dtests=false -Dbench=false $settings
    [ ! -f build-install/build.ninja ] || set -- --reconfigure "$@"
    say "configuring build-install/"
    meson setup "$@" build-install >&2
    say "building"
    compile build-install
    say "installing into $prefix"
    log=build-install/meson-logs/install-log.txt
    rm -f $log # root's, perhaps
    for folder in bin include lib lib/cmake lib/egret lib/lua lib/lua/5.4 lib/pkgconfig share; do
        echo "$prefix/$folder"
    done | as_writer env HOME="$HOME" PATH="$PATH" meson install -C build-install --no-rebuild --quiet >&2
    sed '/^#/d' $log >>build-install/installed
    tell_loader "$prefix/lib"
    [ ! -d "$prefix/lib/egret/examples" ] ||
        say "example programs: $prefix/lib/egret/examples; their sources and Lua: $prefix/share/egret/examples"
    lines=$(shell_lines)
    if [ -n "$lines" ]; then
        say "for a shell to find it there:"
        echo "$lines"
    fi
}

uninstall() {
    list=build-install/installed
    [ -f $list ] || fail "nothing was installed from here"
    say "removing what was installed"
    # Folders come behind what is in them, and stay if there is more.
    # shellcheck disable=SC2016
    sed 's,/[^/]*$,,' $list | sort -u | as_writer sh -c 'sort -ru "$1" | while IFS= read -r at; do
        rm -f "$at" 2>/dev/null || rmdir "$at" 2>/dev/null || true
    done' - $list
    sed -n 's,/libegret\.so$,,p' $list | sort -u | while IFS= read -r folder; do
        tell_loader "$folder"
    done
    rm -f $list
}

usage() {
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p;}' "$0"
}

refuse() {
    usage >&2
    exit 2
}

# What a shell exports for other projects must not leak in here.
unset DESTDIR CFLAGS CXXFLAGS CPPFLAGS LDFLAGS 2>/dev/null || true
verb=${1:-}
[ $# -eq 0 ] || shift
# shellcheck disable=SC2046,SC2086
case $verb in
demo | install)
    "$verb" "$@"
    ;;
uninstall)
    [ $# -eq 0 ] || refuse
    uninstall
    ;;
build)
    need $tools $(packages)
    build
    ;;
test)
    [ $# -gt 0 ] || set -- main
    need $tools $(packages) $testing
    say "testing ($*): on two cores building takes about 3 minutes and the tests 6, with nvcc twice as long; of other" \
        "builds tests/all.py --help says how long each takes"
    build
    say "testing"
    exec python3 tests/all.py build "$@"
    ;;
help | -h | --help)
    usage
    ;;
*)
    refuse
    ;;
esac
