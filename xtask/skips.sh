# For scripts: reports what could not run, as `skip` and `missing` of src/skips.rs do.
skip() { # NAME REASON
    echo "skipped $1: $2"
    [ -z "${VECTORED_SKIPS-}" ] || echo "$1: $2" >>"$VECTORED_SKIPS"
}
missing() { # NAME REASON
    if [ "${CI-}" = true ]; then
        echo "error: $1: $2" >&2
        exit 1
    fi
    skip "$1" "$2"
}
is_there() { command -v "$1" >/dev/null; }
