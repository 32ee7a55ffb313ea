# For scripts that build what is handed out: the same source gives the same bytes, in whatever folder it lies.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
host=$(rustc -vV | sed -n 's/^host: //p')

# Runs COMMAND, cargo or maturin, in the folder SOURCE. Spaces separate the additional OPTIONS for the compiler.
build_in() ( # SOURCE OPTIONS COMMAND…
    cd "$1"
    # Folders may have spaces in their names: options are separated by a character that no option contains.
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

# The tool is position-independent: the kernel puts it at a random address. The linker comes with rustc, also for another
# processor. It packs 6,000 relocations into 2 KB instead of 140 KB, and merges equal functions and equal constants.
tool_options="-Ctarget-feature=+crt-static -Crelocation-model=pie -Cforce-unwind-tables=no -Clink-arg=-fuse-ld=lld \
    -Clink-arg=-Wl,-T,xtask/dist/small.ld,-O2,-z,pack-relative-relocs,--icf=all,--ignore-data-address-equality"
linkers=$(rustc --print sysroot)/lib/rustlib/$host/bin/gcc-ld

# Builds the tool as one file, and puts its path into `tool`. The tool contains glibc, as the measured programs use it: a loop
# of musl's memcpy takes 1.5 times as long.
build_tool() { # SOURCE [TARGET]
    system=${2:-$host}
    COMPILER_PATH=$linkers build_in "$1" "$tool_options" \
        cargo build --quiet --profile dist --locked --package vectored-cli --target "$system"
    tool=$CARGO_TARGET_DIR/$system/dist/vectored
}

# Builds the wheel in a folder, with options of maturin. Only one build runs at a time: maturin copies each library to the same
# file of the build folder, and the steps `dist` and `python` run side by side.
build_wheel() ( # SOURCE PYTHON FOLDER [OPTION…]
    exec 9>"$CARGO_TARGET_DIR/maturin.lock"
    flock 9
    source=$1 python=$2 folder=$3
    shift 3
    build_in "$source" "" "$maturin/bin/maturin" build --release --locked --quiet --interpreter "$python" --out "$folder" \
        --manifest-path crates/vectored-py/Cargo.toml "$@"
)

# Builds the wheel that is handed out: with the tool among its scripts, and the licenses of both. Zig links the wheel for each
# glibc since 2.17.
build_wheel_with_tool() { # SOURCE PYTHON FOLDER TOOL LICENSES
    (
        export PATH="$maturin/bin:$PATH" ZIG_GLOBAL_CACHE_DIR="$maturin/cache"
        build_wheel "$1" "$2" "$3" --zig --compatibility manylinux2014
    )
    "$2" xtask/dist/add_script.py "$3"/*.whl "$4" "$5"
}

# Puts the path of the environment with maturin and Zig into `maturin`. The environment is kept.
provide_maturin() { # PYTHON
    maturin=$PWD/target/tools
    "$1" xtask/environment.py "$maturin" xtask/requirements/build.txt
}

# Installs into an environment, by pip: a wheel that was built here, or what a file lists by its hashes.
install_wheel() { # ENVIRONMENT WHEEL
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps "$2"
}
install_listed() { # ENVIRONMENT REQUIREMENTS
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check --retries 4 --timeout 30 --only-binary :all: \
        --require-hashes -r "$2"
}
