#!/bin/sh
# Installs packages in a clean Debian, uses and removes them: try_out.sh PACKAGE…
set -eu
. xtask/skips.sh
root=$PWD/target/deb/root
rm -rf "$root"
trap 'rm -rf "$root"' EXIT
# Where this system gets its packages, and its release. Those of updates have a hyphen in their name.
targets=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | grep -v '^[^ ]* .*-') ||
    targets=
mirror=${targets%% *} release=$(echo "$targets" | cut -d ' ' -f 2 | head -n 1)
components=$(echo "$targets" | cut -d ' ' -f 3 | sort -u | paste -sd ,)
# What shows a page, and the shells.
if ! debootstrap --variant=minbase --include=man-db,bash-completion,zsh,fish,strace,pkg-config "--components=$components" \
    "$release" "$root" "$mirror" >target/deb/debootstrap.log 2>&1; then
    missing "deb: installation in a clean Debian" "no $release from $mirror, which needs root, debootstrap and a mirror: \
$(tail -n 1 target/deb/debootstrap.log)"
    exit 0
fi

inside() {
    env -i HOME=/tmp/home LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
        chroot "$root" sh -c "$1" 2>&1
}
# Without the folders whose contents dpkg and man change for their own ends.
files() {
    (cd "$root" && find . \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./var/cache \
        -o -path ./var/lib/dpkg -o -path ./var/log \) -prune -o -print | sort)
}
status=0
# A command that succeeds and prints a word.
use() { # WORD COMMAND
    if output=$(inside "$2") && echo "$output" | grep -qF -e "$1"; then
        echo "   ok: $2"
    else
        printf '   WRONG: %s\n      expected "%s" in: %s\n' "$2" "$1" "$output"
        status=1
    fi
}

files >target/deb/before
[ -s target/deb/before ]
cp "$@" "$root/tmp"
inside "dpkg -i /tmp/*.deb"
use vectored "vectored --version"
use null "cd /tmp && vectored measure --target null --segments 2 --sizes 100 --budget 500ms"
use SYNOPSIS "MANPAGER=cat man vectored"
use --queue-depth "MANPAGER=cat man vectored-measure"
use "vectored-advise (1)" "man -k '^vectored-advise'"
use -F "bash -c 'source /usr/share/bash-completion/bash_completion; _completion_loader vectored; complete -p vectored'"
use _vectored "zsh -fc 'autoload -U compinit; compinit -D; print \${_comps[vectored]}'"
use measure "fish -c 'complete --do-complete \"vectored meas\"'"
use libvectored.so.1 "ldconfig -p"
use -lvectored "pkg-config --cflags --libs vectored"
inside "dpkg --purge vectored libvectored1 libvectored-dev"
files >target/deb/after
if comm -13 target/deb/before target/deb/after | grep .; then
    echo "   LEFT after the removal"
    status=1
fi
exit $status
