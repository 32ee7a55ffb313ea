#!/bin/sh
# The step `bpf` of `cargo xtask test`: compiles vectored-live's programs for the kernel, and compares the object with the
# committed object. `bpf.sh --update` writes the committed object anew. One version of clang makes the same bytes everywhere; no
# header of the system is read.
set -eu
. xtask/skips.sh
cd crates/vectored-live/bpf
compile() { # OBJECT [OPTION…]
    object=$1
    shift
    clang-14 -O2 -g -target bpf -mcpu=v3 -ffile-prefix-map="$PWD=." -Wall -Werror "$@" -c live.bpf.c -o "$object"
    llvm-strip-14 -g "$object"
}
if ! is_there clang-14 || ! is_there llvm-strip-14; then
    missing bpf "there is no clang-14 or no llvm-strip-14: cargo xtask setup"
    exit 0
fi
case $(clang-14 --version) in
*"clang version 14.0.6"*) ;;
*) echo "error: clang-14 is not 14.0.6, which made the object" >&2 && exit 1 ;;
esac
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
compile "$work/live.x86.o"
# The object for arm64 is compiled, but not shipped until somebody has run it.
compile "$work/live.arm64.o" -D__TARGET_ARCH_arm64
[ "${1-}" != --update ] || install -m 644 "$work/live.x86.o" live.x86.o
if ! cmp "$work/live.x86.o" live.x86.o; then
    echo "error: live.x86.o is not what live.bpf.c gives: xtask/bpf.sh --update" >&2
    exit 1
fi
