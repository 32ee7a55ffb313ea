#!/bin/sh
# `cargo xtask dist`: makes one folder with all that is handed out: build.sh FOLDER [try-out]
set -eu
. xtask/skips.sh
. xtask/dist/reproducible.sh
umask 022
box=$1 try_out=${2-} work=$PWD/target/dist
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
if [ -e "$box" ] && ! grep -qs vectored "$box/SHA256SUMS"; then
    echo "error: '$box' is there and is not the folder of an earlier run: name another one" >&2
    exit 1
fi
rm -rf "$box" "$work"
mkdir -p "$box" "$work"
echo "of vectored, unfinished" >"$box/SHA256SUMS"

# Checks a program that is handed out: it needs no loader, and the kernel chooses its address.
check_tool() { # PROGRAM
    headers=$(LC_ALL=C readelf --program-headers "$1")
    case $headers in
    *INTERP*)
        echo "error: '$1' needs a loader" >&2
        exit 1
        ;;
    *"file type is DYN"*) ;;
    *)
        echo "error: '$1' has a fixed address: its linker has to take -static-pie" >&2
        exit 1
        ;;
    esac
}

# Installs a tool that is handed out: one small file, which needs no other.
install_tool() { # PROGRAM PROCESSOR
    check_tool "$1"
    bytes=$(stat -c %s "$1")
    if [ "$bytes" -gt 5242880 ]; then
        echo "error: '$1' has $bytes bytes, more than 5 MiB" >&2
        exit 1
    fi
    install "$1" "$box/vectored-$version-$2-linux"
}

# The tool for the other processor. A try-out links an empty program instead, which takes two minutes less.
other=aarch64-unknown-linux-gnu
[ "$host" != $other ] || other=x86_64-unknown-linux-gnu
processor=${other%%-*}
if ! rustup target add "$other" 2>/dev/null || ! is_there "$processor-linux-gnu-gcc"; then
    missing "dist: the tool for $processor" "rustup has no $other, or there is no $processor-linux-gnu-gcc: cargo xtask setup"
else
    # For some processors rustc links static programs at a fixed address.
    linker=$work/linker
    cat >"$linker" <<END
#!/bin/sh
for word; do
    shift
    case \$word in -static | -no-pie | -static-pie) ;; *) set -- "\$@" "\$word" ;; esac
done
exec $processor-linux-gnu-gcc -static-pie "\$@"
END
    chmod +x "$linker"
    if [ -n "$try_out" ]; then
        tool=$work/empty
        # shellcheck disable=SC2086 # several options
        echo 'fn main() {}' | COMPILER_PATH=$linkers rustc --target "$other" -Clinker="$linker" $tool_options -o "$tool" -
        check_tool "$tool"
    else
        export "CARGO_TARGET_$(echo $other | tr a-z- A-Z_)_LINKER=$linker"
        build_tool "$PWD" $other
        install_tool "$tool" "$processor"
    fi
fi
build_tool "$PWD"
# A copy, since another build may replace cargo's file.
install "$tool" "$work/vectored"
tool=$work/vectored
install_tool "$tool" "${host%%-*}"
"$tool" man --dir "$box/man/man1"
mkdir "$box/completions"
for shell in bash zsh fish; do
    "$tool" completions $shell >"$box/completions/vectored.$shell"
done

python3 xtask/dist/licenses.py "$host" vectored-cli vectored-capi vectored-py >"$box/third-party-licenses.txt"

xtask/deb/build.sh "$box"
xtask/c_library/install.sh /usr/local lib "$work/c" >/dev/null
strip --strip-debug --enable-deterministic-archives "$work/c/usr/local/lib/libvectored.a"
documents=$work/c/usr/local/share/doc/vectored
mkdir -p "$documents"
cp LICENSE-MIT LICENSE-APACHE "$box/third-party-licenses.txt" "$documents"
tar --create --gzip --file "$box/libvectored-$version-${host%%-*}-linux-gnu.tar.gz" --directory "$work/c/usr/local" \
    --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner include lib share
# All published packages.
cargo package --quiet --workspace --exclude xtask --exclude vectored-capi --exclude vectored-conformance --exclude vectored-py \
    --no-verify --allow-dirty --locked --target-dir "$work/package"
cp "$work"/package/package/*.crate "$box"

if ! provide_maturin python3; then
    missing "dist: the wheel" "maturin or ziglang cannot be installed"
else
    build_wheel_with_tool "$PWD" python3 "$box" "$tool" "$box/third-party-licenses.txt"
fi
(cd "$box" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >SHA256SUMS)
echo "   made '$box': $(du -sh "$box" | cut -f 1)"
[ -z "$try_out" ] || xtask/dist/try_out.sh "$box" "$tool"
