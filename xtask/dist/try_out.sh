#!/bin/sh
# Installs the packages of `cargo xtask dist` in clean systems, uses them there, and builds them a second time: try_out.sh
# FOLDER TOOL
set -eu
. xtask/skips.sh
. xtask/dist/reproducible.sh
box=$1 tool=$2 work=$PWD/target/dist
root=$work/root status=0
trap 'rm -rf "$root" "$work/again"' EXIT
# Programs that write 20,000 short pieces.
cat >"$work/x.py" <<'END'
import os
log = os.open("log", os.O_WRONLY | os.O_CREAT)
for number in range(20000):
    os.write(log, b"%d\n" % number)
END
echo 'n=0; while [ $n -lt 20000 ]; do echo $n; n=$((n + 1)); done >log' >"$work/x.sh"

wrong() {
    echo "   WRONG: $1"
    status=1
}
# A command in the root, which has /proc and /dev as long as it runs.
inside() {
    unshare --mount sh -c 'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec env -i HOME=/tmp LC_ALL=C.UTF-8 \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$0" sh -c "cd /tmp && $1"' "$root" "$1" 2>&1
}
# A command that prints words, by `inside` or another function.
use() { # [in=FUNCTION] WORDS COMMAND
    case $1 in
    in=*)
        by=${1#in=}
        shift
        ;;
    *) by=inside ;;
    esac
    output=$($by "$2") || true
    if echo "$output" | grep -qF -e "$1"; then
        echo "   ok: $2"
    else
        wrong "$2"
        printf '      expected "%s" in: %s\n' "$1" "$output"
    fi
}

echo "   A root with BusyBox and the tool alone:"
busybox=$(command -v busybox || true)
if [ -z "$busybox" ] || readelf --program-headers "$busybox" | grep -q INTERP; then
    missing "dist: a BusyBox root" "there is no static busybox: apt-get install busybox-static"
else
    mkdir -p "$root/bin" "$root/proc" "$root/tmp" "$root/dev"
    cp "$busybox" "$root/bin/busybox"
    cp "$tool" "$root/bin/vectored"
    cp "$work/x.sh" "$root/tmp"
    chroot "$root" /bin/busybox --install -s /bin
    use "vectored $(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)" "vectored --version"
    use Linux "vectored host"
    use "null  " "vectored measure --target null --segments 2 --sizes 100 --budget 500ms --no-save"
    use "3 x" "printf '3 x' | vectored copy | cat"
    # There are no tables to unwind: nothing may ask for a backtrace.
    use "cannot open 'none'" "RUST_BACKTRACE=1 vectored copy none x"
    use "apt install strace" "vectored advise -- sh x.sh"
    # BusyBox has no strace: this machine's strace is copied, with its libraries.
    for file in $(ldd "$(command -v strace)" | grep -o '/[^ ]*') "$(command -v strace)"; do
        install -D "$file" "$root$file"
    done
    use " instead of 20,000" "vectored advise -- sh x.sh"
fi
rm -rf "$root"

echo "   A new environment of Python with the wheel alone:"
python=$work/venv
in_python() {
    (cd "$python" && env -i HOME="$work" PATH="$python/bin:/usr/bin:/bin" sh -c "$1" 2>&1)
}
if ! python3 -m venv --clear "$python" || ! install_wheel "$python" "$box"/*.whl; then
    missing "dist: the wheel" "no environment could be made"
else
    cp "$work/x.py" "$python"
    use in=in_python "calls instead of 20,000" "vectored advise -- python3 x.py"
    use in=in_python "done: 4" "python3 -c 'import vectored; print(\"done:\", vectored.Gather().write_all(2, [b\"ab\", b\"cd\"]))'"
    cmp "$tool" "$python/bin/vectored" || wrong "the wheel's tool is another one"
fi

echo "   A clean Debian with the packages:"
# Where this system gets its packages, and its release. Releases of updates have a hyphen in their names.
targets=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | grep -v '^[^ ]* .*-') ||
    targets=
mirror=${targets%% *} release=$(echo "$targets" | cut -d ' ' -f 2 | head -n 1)
components=$(echo "$targets" | cut -d ' ' -f 3 | sort -u | paste -sd ,)
# Lists the files, without the folders that dpkg and man change by themselves.
files() {
    (cd "$root" && find . \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./var/cache \
        -o -path ./var/lib/dpkg -o -path ./var/log \) -prune -o -print | sort)
}
# What shows a page, the shells, and a program to advise on.
if ! debootstrap --variant=minbase "--components=$components" \
    --include=man-db,bash-completion,zsh,fish,strace,pkg-config,python3-minimal \
    "$release" "$root" "$mirror" >"$work/debootstrap.log" 2>&1; then
    missing "dist: installation in a clean Debian" "no $release from $mirror, which needs root, debootstrap and a mirror: \
$(tail -n 1 "$work/debootstrap.log")"
else
    echo "127.0.0.1 box" >>"$root/etc/hosts"
    files >"$work/before"
    [ -s "$work/before" ]
    cp "$box"/*.deb "$work/x.py" "$root/tmp"
    inside "dpkg -i /tmp/*.deb"
    use "calls instead of 20,000" "vectored advise -- python3 x.py"
    use "null  " "vectored measure --target null --segments 2 --sizes 100 --budget 500ms"
    # The static tool has no name service of its own.
    use "no program listens there" "vectored measure --target tcp://box:9 --segments 2 --sizes 100 --budget 500ms"
    use SYNOPSIS "MANPAGER=cat man vectored"
    use --queue-depth "MANPAGER=cat man vectored-measure"
    use "vectored-advise (1)" "man -k '^vectored-advise'"
    use -F "bash -c 'source /usr/share/bash-completion/bash_completion; _completion_loader vectored; complete -p vectored'"
    use _vectored "zsh -fc 'autoload -U compinit; compinit -D; print \${_comps[vectored]}'"
    use measure "fish -c 'complete --do-complete \"vectored meas\"'"
    use libvectored.so.1 "ldconfig -p"
    use -lvectored "pkg-config --cflags --libs vectored"
    inside "dpkg --purge vectored libvectored1 libvectored-dev"
    files >"$work/after"
    if comm -13 "$work/before" "$work/after" | grep .; then
        wrong "that is left after the removal"
    fi
    # The archive of the C library: a program of this machine, linked with it.
    mkdir "$work/unpacked"
    tar --extract --file "$box"/libvectored-*.tar.gz --directory "$work/unpacked"
    cc -I "$work/unpacked/include" crates/vectored-capi/examples/write_list.c -L "$work/unpacked/lib" -lvectored -o "$root/tmp/write_list"
    cp -a "$work/unpacked/." "$root/usr/local"
    inside ldconfig
    use hello "./write_list"
fi

echo "   The tool and the wheel, built a second time, of a copy in another folder:"
again=$work/again/source
mkdir -p "$again" "$work/again/wheel"
tar --create --exclude=target --exclude=.git . | tar --extract --directory "$again"
first=$tool
CARGO_TARGET_DIR=$work/again/target build_tool "$again"
cmp "$first" "$tool" || wrong "the tool has other bytes"
# The first build has already said what is missing.
if provide_maturin python3; then
    CARGO_TARGET_DIR=$work/again/target build_wheel_with_tool "$again" python3 "$work/again/wheel" "$first" "$box/third-party-licenses.txt"
    cmp "$box"/*.whl "$work/again/wheel"/*.whl || wrong "the wheel has other bytes"
fi
exit $status
