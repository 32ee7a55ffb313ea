#!/bin/sh
# `cargo xtask python`: builds the wheel of the Python package, and tests it in a clean environment of each CPython.
# python.sh [PYTHON…]: without arguments, for each version below the newest of pyenv, or the one on PATH.
set -eu
. xtask/skips.sh
. xtask/dist/reproducible.sh
crate=$PWD/crates/vectored-py folder=$PWD/target/python
# The versions on which the package is tested, if they are there.
versions="3.11 3.12 3.13 3.14"

if [ $# -eq 0 ]; then
    for version in $versions; do
        found=
        for python in "$(command -v "python$version")" "${PYENV_ROOT:-${HOME-}/.pyenv}/versions/$version".*/bin/python; do
            ! "$python" -c "import venv, ensurepip" 2>/dev/null || found=$python
        done
        [ -n "$found" ] || skip python "CPython $version is not there"
        [ -z "$found" ] || set -- "$@" "$found"
    done
fi
if [ $# -eq 0 ]; then
    missing python "no CPython of $versions is there"
    exit 0
fi

if ! provide_maturin "$1"; then
    missing python "maturin cannot be installed"
    exit 0
fi
rm -rf "$folder/wheels" "$folder/sdist"
build_wheel "$PWD" "$1" "$folder/wheels"
wheel=$(echo "$folder"/wheels/*.whl)
# The source distribution. pip builds a wheel with the same files from it, outside of this repository. maturin and the crates
# that this repository has compiled are available.
"$maturin/bin/maturin" sdist --manifest-path "$crate/Cargo.toml" --out "$folder/sdist"
PATH=$maturin/bin:$PATH build_in "$PWD" "" "$maturin/bin/python" -m pip wheel --quiet --no-index --no-deps \
    --disable-pip-version-check --no-build-isolation --wheel-dir "$folder/sdist" "$folder"/sdist/*.tar.gz
for of in wheels sdist; do
    "$maturin/bin/python" -m zipfile --list "$folder/$of"/*.whl | sed '1d; s/ .*//' | sort >"$folder/$of/files"
done
[ -s "$folder/wheels/files" ]
diff "$folder/wheels/files" "$folder/sdist/files"
echo "   built '$wheel', and a wheel of the source distribution"

environment=
for python in "$@"; do
    new=$folder/venv-$("$python" -c "import sys; print('%d.%d' % sys.version_info[:2])")
    if ! "$python" -m venv --clear "$new"; then
        missing python "no environment of $python"
        continue
    fi
    environment=$new
    # Only the wheel is installed.
    install_wheel "$new" "$wheel"
    # Without numpy, the tests report what they skip.
    install_listed "$new" xtask/requirements/numpy.txt || missing python "numpy cannot be installed for $python"
    # In another folder, so that the package is the installed one.
    (cd "$new" && bin/python -X dev -W error -m unittest discover --start-directory "$crate/tests")
done
if [ -z "$environment" ]; then
    echo "error: no environment could be made to test the wheel" >&2
    exit 1
fi

# Checks the stubs against the module, and the examples against the stubs.
if ! install_listed "$environment" xtask/requirements/mypy.txt; then
    missing python "mypy cannot be installed"
    exit 0
fi
cd "$environment"
# The native module has no stubs of its own.
printf '[mypy]\nignore_missing_imports = True\n' >mypy.ini
bin/python -m mypy.stubtest --mypy-config-file=mypy.ini vectored
# `done` is an attribute that Python's own exceptions do not declare.
bin/python -m mypy --strict --disable-error-code=attr-defined --config-file=mypy.ini "$crate/examples"
