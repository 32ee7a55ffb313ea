# For scripts that build what is handed out: the same source gives the same bytes, in whatever folder it lies.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
host=$(rustc -vV | sed -n 's/^host: //p')

# cargo, or maturin, in the folder SOURCE, with more options for the compiler, which are separated by spaces.
build_in() ( # SOURCE OPTIONS COMMAND…
    cd "$1"
    # Folders may have spaces in their names: options are separated by a character that none has.
    CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$PWD=vectored"
    for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
        CARGO_ENCODED_RUSTFLAGS=$(printf '%s\037%s' "$CARGO_ENCODED_RUSTFLAGS" "--remap-path-prefix=$registry=crates")
    done
    for option in $2; do
        CARGO_ENCODED_RUSTFLAGS=$(printf '%s\037%s' "$CARGO_ENCODED_RUSTFLAGS" "$option")
    done
    shift 2
    export CARGO_ENCODED_RUSTFLAGS
    "$@"
)

# The tool as one file, whose path is put in `tool`. It has glibc in it: a loop of musl's memcpy takes half as long again as
# the one of the programs that are measured.
build_tool() { # SOURCE [TARGET]
    system=${2:-$host}
    options="-Ctarget-feature=+crt-static -Crelocation-model=static -Cforce-unwind-tables=no \
        -Clink-arg=-Wl,-T,xtask/dist/no_unwinding.ld"
    # Functions with the same code are one: the linker that rustc has for this system can do that.
    case $system in x86_64*) options="$options -Clink-arg=-Wl,--icf=all" ;; esac
    build_in "$1" "$options" cargo build --quiet --profile dist --locked --package vectored-cli --target "$system"
    tool=$CARGO_TARGET_DIR/$system/dist/vectored
}

# The wheel in a folder, and options of maturin.
build_wheel() ( # SOURCE PYTHON FOLDER [OPTION…]
    source=$1 python=$2 folder=$3
    shift 3
    build_in "$source" "" "$maturin/bin/maturin" build --release --locked --quiet --interpreter "$python" --out "$folder" \
        --manifest-path crates/vectored-py/Cargo.toml "$@"
)

# The wheel that is handed out: with the tool among its scripts, the licenses of both, and for each glibc since 2.17, which
# Zig links it with.
build_wheel_with_tool() { # SOURCE PYTHON FOLDER TOOL LICENSES
    (
        export PATH="$maturin/bin:$PATH" ZIG_GLOBAL_CACHE_DIR="$maturin/cache"
        build_wheel "$1" "$2" "$3" --zig --compatibility manylinux2014
    )
    "$2" xtask/dist/add_script.py "$3"/*.whl "$4" "$5"
}

# The environment with maturin, which is kept, in `maturin`. The version is that of `build-system.requires` in pyproject.toml.
provide_maturin() { # PYTHON
    maturin=$PWD/target/python/tools
    "$maturin/bin/maturin" --version >/dev/null 2>&1 || {
        "$1" -m venv --clear "$maturin" && install_in "$maturin" "maturin>=1.9.4,<2"
    }
}

# Zig, in the environment with maturin.
provide_zig() {
    "$maturin/bin/python" -m ziglang version >/dev/null 2>&1 || install_in "$maturin" ziglang==0.17.1
}

# pip, in an environment.
install_in() { # ENVIRONMENT WORDS…
    environment=$1
    shift
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 15 "$@"
}
