#!/bin/sh
# `cargo xtask install-c`: builds the C library, and installs it with its header and what pkg-config and CMake need.
# install.sh PREFIX LIBDIR [DESTDIR]: LIBDIR lies within PREFIX. The files of a package go to DESTDIR/PREFIX.
set -eu
prefix=$1 libdir=$2 root=${3-}$1
crate=crates/vectored-capi
lib=$root/$libdir archive=$CARGO_TARGET_DIR/release/libvectored_capi.a
# The number in the soname. It grows with each release in which a program that was linked with an older library may fail.
abi=1
# The version of the file: the ABI, the additions to it, and the fixes.
file_version=$abi.0.0
# What `rustc --print native-static-libs` prints, but for libc, and for `-lgcc_s`, which compilers of C link themselves.
system="-lutil -lrt -lpthread -lm -ldl"

cargo build --quiet --release --package vectored-capi --lib --locked
umask 022
install -D -m 644 $crate/include/vectored.h "$root/include/vectored.h"
install -D -m 644 "$archive" "$lib/libvectored.a"
# Linked from the static library, since cargo makes no shared library with a soname and versions of symbols.
# shellcheck disable=SC2086
"${CC:-cc}" -shared -Wl,--gc-sections -Wl,-z,relro,-z,now,-z,defs -Wl,-soname,libvectored.so.$abi -Wl,--strip-all \
    -Wl,--version-script=$crate/packaging/vectored.map -Wl,--whole-archive "$archive" -Wl,--no-whole-archive $system \
    -o "$lib/libvectored.so.$file_version"
chmod 644 "$lib/libvectored.so.$file_version"
ln -sf libvectored.so.$file_version "$lib/libvectored.so.$abi"
ln -sf libvectored.so.$abi "$lib/libvectored.so"

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
minor=${version#*.}
mkdir -p "$lib/pkgconfig" "$lib/cmake/vectored"
for file in pkgconfig/vectored.pc cmake/vectored/vectored-config.cmake cmake/vectored/vectored-config-version.cmake; do
    sed -e "s|@PREFIX@|$prefix|g" -e "s|@LIBDIR@|$libdir|g" -e "s|@ABI@|$abi|g" -e "s|@VERSION@|$version|g" \
        -e "s|@INCLUDE_FROM_LIBDIR@|$(echo "$libdir" | sed 's|[^/]\+|..|g')/include|g" \
        -e "s|@FILE_VERSION@|$file_version|g" -e "s|@MAJOR@|${version%%.*}|g" -e "s|@MINOR@|${minor%%.*}|g" \
        "$crate/packaging/${file##*/}.in" >"$lib/$file"
    if grep '@[A-Z_]*@' "$lib/$file"; then
        echo "error: $file has a name without a value" >&2
        exit 1
    fi
done
echo "   installed the C library in '$root'"
[ -n "${3-}" ] || echo "   for pkg-config and the loader: PKG_CONFIG_PATH='$lib/pkgconfig' LD_LIBRARY_PATH='$lib'"
