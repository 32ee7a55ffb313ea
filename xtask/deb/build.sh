#!/bin/sh
# `cargo xtask deb`: makes the Debian packages with dpkg's own programs, and checks them: build.sh OUTPUT
set -eu
. xtask/skips.sh
. xtask/dist/reproducible.sh
if ! is_there dpkg-gencontrol; then
    missing deb "dpkg-gencontrol is missing; on Debian: apt-get install dpkg-dev"
    exit 0
fi
umask 022
work=$PWD/target/deb output=$1
rm -rf "$work"
mkdir -p "$work/debian" "$output"

# dch(1) reads the same variables. The date is the date of the last commit, so that the same source gives the same package.
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)-1
maintainer="${DEBFULLNAME:-the vectored authors} <${DEBEMAIL:-root@localhost}>"
date=$(date --utc --rfc-email "--date=@$SOURCE_DATE_EPOCH")
sed "s|@MAINTAINER@|$maintainer|" xtask/deb/control >"$work/debian/control"
printf 'vectored (%s) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$date" >"$work/debian/changelog"
{
    printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: vectored\n\n'
    sed -n 's/^Copyright (c) /Files: *\nCopyright: /p' LICENSE-MIT
    printf 'License: MIT or Apache-2.0\n\nLicense: MIT\n'
    sed 's/^ *$/./; s/^/ /' LICENSE-MIT
    printf '\nLicense: Apache-2.0\n On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n'
    printf '\nComment: What is linked into the files of a package has the licenses in third-party-licenses.txt.gz beside\n'
    printf ' this file. The program vectored has in it the GNU C Library (LGPL-2.1-or-later, see\n'
    printf ' /usr/share/common-licenses/LGPL-2.1).\n'
} >"$work/debian/copyright"

libraries=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH) runtime=$work/libvectored1
xtask/c_library/install.sh /usr "${libraries#usr/}" "$work/libvectored-dev"
mkdir -p "$runtime/$libraries" "$runtime/DEBIAN"
# As dh_strip does: the archive becomes a third smaller.
strip --strip-debug --enable-deterministic-archives "$work/libvectored-dev/$libraries/libvectored.a"
# The name without a number is for the linker alone.
mv "$work/libvectored-dev/$libraries"/libvectored.so.* "$runtime/$libraries"
# The package that programs linked with the library depend on. The trigger updates the cache of the dynamic linker.
echo "libvectored 1 libvectored1 (>= $version)" >"$runtime/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$runtime/DEBIAN/triggers"

# Static: it runs on each Debian, whatever the version of its libc.
build_tool "$PWD"
program=$tool share=$work/vectored/usr/share
install -D "$program" "$work/vectored/usr/bin/vectored"
for completions in bash:bash-completion/completions/vectored zsh:zsh/vendor-completions/_vectored \
    fish:fish/vendor_completions.d/vectored.fish; do
    path=$share/${completions#*:}
    mkdir -p "${path%/*}"
    "$program" completions "${completions%%:*}" >"$path"
done
"$program" man --dir "$share/man/man1"
gzip -9n "$share/man/man1"/*

python3 xtask/dist/licenses.py "$host" vectored-cli vectored-capi >"$work/licenses"

status=0
cd "$work"
for name in vectored libvectored1 libvectored-dev; do
    documents=$name/usr/share/doc/$name
    mkdir -p "$documents" "$name/DEBIAN"
    cp debian/copyright "$documents"
    gzip -9n <licenses >"$documents/third-party-licenses.txt.gz"
    gzip -9n <"$OLDPWD/CHANGELOG.md" >"$documents/changelog.gz"
    gzip -9n <debian/changelog >"$documents/changelog.Debian.gz"
    find $name -type f \( -path '*/bin/*' -o -name 'libvectored.so.*' \) -exec dpkg-shlibdeps "-T$name.substvars" {} +
    dpkg-gencontrol "-p$name" "-P$name" "-T$name.substvars"
    (cd $name && find usr -type f -exec md5sum {} + | sort -k 2 >DEBIAN/md5sums)
    package=$output/${name}_${version}_$(dpkg --print-architecture).deb
    dpkg-deb --root-owner-group -Zxz --build $name "$package"
    # The package has no bug number of Debian, and its maintainer may be nobody yet. To lintian, a static program at a random
    # address looks like a library that needs no other.
    if is_there lintian; then
        lintian --fail-on error,warning --allow-root \
            --suppress-tags initial-upload-closes-no-bugs,statically-linked-binary,shared-library-lacks-prerequisites \
            --suppress-tags root-in-contact,bogus-mail-host,bogus-mail-host-in-debian-changelog "$package" || status=1
    fi
done
is_there lintian || missing deb "lintian is missing"
exit $status
