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

# The tool is position-independent: the kernel puts it at a random address. The linker comes with rustc, also for another
# processor: it packs 6,000 relocations into 2 KB instead of 140, and makes one of functions or constants that are equal.
tool_options="-Ctarget-feature=+crt-static -Crelocation-model=pie -Cforce-unwind-tables=no -Clink-arg=-fuse-ld=lld \
    -Clink-arg=-Wl,-T,xtask/dist/small.ld,-O2,-z,pack-relative-relocs,--icf=all,--ignore-data-address-equality"
linkers=$(rustc --print sysroot)/lib/rustlib/$host/bin/gcc-ld

# The tool as one file, whose path is put in `tool`. It has glibc in it: a loop of musl's memcpy takes half as long again as
# the one of the programs that are measured.
build_tool() { # SOURCE [TARGET]
    system=${2:-$host}
    COMPILER_PATH=$linkers build_in "$1" "$tool_options" \
        cargo build --quiet --profile dist --locked --package vectored-cli --target "$system"
    tool=$CARGO_TARGET_DIR/$system/dist/vectored
}

# The wheel in a folder, and options of maturin. One at a time: maturin copies each library to the same file of the build folder,
# and the steps `dist` and `python` run side by side.
build_wheel() ( # SOURCE PYTHON FOLDER [OPTION…]
    exec 9>"$CARGO_TARGET_DIR/maturin.lock"
    flock 9
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

# The environment with maturin and Zig, which is kept, in `maturin`.
provide_maturin() { # PYTHON
    maturin=$PWD/target/tools
    "$1" xtask/environment.py "$maturin" xtask/requirements/build.txt
}

# pip, in an environment: a wheel that was built here, or what a file lists by its hashes.
install_wheel() { # ENVIRONMENT WHEEL
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps "$2"
}
install_listed() { # ENVIRONMENT REQUIREMENTS
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check --retries 4 --timeout 30 --only-binary :all: \
        --require-hashes -r "$2"
}
