#!/bin/sh
# `cargo xtask python`: builds the wheel of the Python package, and tests it in a clean environment of each CPython.
# python.sh [PYTHON…]: without any, the newest of pyenv or the one on PATH of each version below.
set -eu
. xtask/skips.sh
crate=$PWD/crates/vectored-py folder=$PWD/target/python
# The versions on which the package is tested, if they are there.
versions="3.11 3.12 3.13 3.14"

if [ $# -eq 0 ]; then
    for version in $versions; do
        found=
        for python in "$(command -v "python$version")" "${PYENV_ROOT:-${HOME-}/.pyenv}/versions/$version".*/bin/python; do
            ! "$python" -c "import venv, ensurepip" 2>/dev/null || found=$python
        done
        [ -z "$found" ] || set -- "$@" "$found"
    done
fi
if [ $# -eq 0 ]; then
    missing python "no CPython of $versions is there"
    exit 0
fi

install() { # ENVIRONMENT WORDS…
    environment=$1
    shift
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 15 "$@"
}

# The environment with maturin is kept. The version is that of `build-system.requires` in pyproject.toml.
tools=$folder/tools
if ! "$tools/bin/maturin" --version >/dev/null 2>&1; then
    if ! "$1" -m venv --clear "$tools" || ! install "$tools" "maturin>=1.9.4,<2"; then
        missing python "maturin cannot be installed"
        exit 0
    fi
fi
rm -rf "$folder/wheels" "$folder/sdist"
"$tools/bin/maturin" build --release --locked --quiet --manifest-path "$crate/Cargo.toml" --interpreter "$1" \
    --out "$folder/wheels"
wheel=$(echo "$folder"/wheels/*.whl)
# The source distribution, of which pip builds a wheel with the same files, outside of this repository. maturin is there, and
# what this repository has compiled of other crates.
"$tools/bin/maturin" sdist --manifest-path "$crate/Cargo.toml" --out "$folder/sdist"
PATH=$tools/bin:$PATH "$tools/bin/python" -m pip wheel --quiet --no-index --no-deps --disable-pip-version-check \
    --no-build-isolation --wheel-dir "$folder/sdist" "$folder"/sdist/*.tar.gz
for of in wheels sdist; do
    "$tools/bin/python" -m zipfile --list "$folder/$of"/*.whl | sed '1d; s/ .*//' | sort >"$folder/$of/files"
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
    # The wheel and nothing else.
    install "$new" --no-index --no-deps "$wheel"
    # Its tests say so if it is not there.
    install "$new" --only-binary :all: numpy || missing python "numpy cannot be installed for $python"
    # In another folder, so that the package is the installed one.
    (cd "$new" && bin/python -X dev -W error -m unittest discover --start-directory "$crate/tests")
done
if [ -z "$environment" ]; then
    echo "error: no environment could be made to test the wheel" >&2
    exit 1
fi

# The stubs against the module, and the examples against the stubs.
if ! install "$environment" mypy; then
    missing python "mypy cannot be installed"
    exit 0
fi
cd "$environment"
# The native module has no stubs of its own.
printf '[mypy]\nignore_missing_imports = True\n' >mypy.ini
bin/python -m mypy.stubtest --mypy-config-file=mypy.ini vectored
# `done` is an attribute that Python's own exceptions do not declare.
bin/python -m mypy --strict --disable-error-code=attr-defined --config-file=mypy.ini "$crate/examples"
