#!/bin/sh
# `cargo xtask test-c`: installs the library to a folder, and compiles and runs the programs of crates/vectored-capi with it,
# as its users do. Ends at the first program that fails.
# shellcheck disable=SC2086 # Words of a variable are words of a command.
set -eu
. xtask/skips.sh
crate=crates/vectored-capi
warnings="-Wall -Wextra -Werror -pedantic"
sanitizers="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
compilers=
for compiler in gcc:g++ clang:clang++; do
    if is_there "${compiler%:*}" && is_there "${compiler#*:}"; then
        compilers="$compilers $compiler"
    else
        missing test-c "${compiler%:*} with ${compiler#*:} is missing"
    fi
done
if [ -z "$compilers" ] || ! is_there pkg-config; then
    missing test-c "gcc with g++, or pkg-config, is missing"
    exit 0
fi
prefix=$folder/prefix
xtask/c_library/install.sh "$prefix" lib
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib"

# The shared library exports what the header declares, each with its version, and nothing else.
nm -D --defined-only "$prefix/lib/libvectored.so" | sed 's/.* //' | grep -vx VECTORED_0.1 | sort >"$folder/exported"
grep -v '^[ #/]\|^typedef' "$prefix/include/vectored.h" | sed -n 's/^[^(]*[ *]\(vectored_\w*\)(.*/\1@@VECTORED_0.1/p' |
    sort >"$folder/declared"
grep -q vectored_gather_new "$folder/declared"
diff "$folder/declared" "$folder/exported"
readelf -d "$prefix/lib/libvectored.so" | grep -qF '[libvectored.so.1]'
echo "   $(wc -l <"$folder/exported") functions are exported"

# Runs a program. Shows the output of the program if it fails.
run() {
    "$@" >"$folder/output" 2>&1 && return
    cat "$folder/output"
    echo "error: failed: $*" >&2
    exit 1
}

# compile_and_run COMPILERS shared|static WORDS SOURCE: compiles a program, and runs it behind $under.
under=
compile_and_run() {
    libraries=$(pkg-config --cflags --libs vectored)
    # `-static` would also link the C library of the system statically.
    [ "$2" = shared ] || libraries=$(pkg-config --static --cflags --libs vectored | sed 's/-lvectored/-l:libvectored.a/')
    case $4 in
    *.cpp) compiler="${1#*:} -std=c++17" ;;
    *) compiler="${1%:*} -std=c11" ;;
    esac
    run $compiler $warnings $3 "$4" -o "$folder/program" $libraries -lpthread
    run $under "$folder/program"
}

# Whether an empty program can be linked: static and sanitizing libraries may be packages of their own.
links() { echo 'int main(void) { return 0; }' | $1 $2 -x c - -o "$folder/empty" 2>"$folder/output"; }

printf '#include <vectored.h>\n#include <vectored.h>\n' >"$folder/header"
for pair in $compilers; do
    # The header alone, included twice, is valid C99 and C++11.
    for words in "${pair%:*} -std=c99 -x c" "${pair#*:} -std=c++11 -x c++"; do
        run $words $warnings -pedantic-errors -fsyntax-only "-I$prefix/include" "$folder/header"
    done
    # A program without any shared library, compiled by the words of pkg-config alone.
    if links "${pair%:*}" -static; then
        run "${pair%:*}" -static $crate/examples/write_list.c -o "$folder/program" $(pkg-config --static --cflags --libs vectored)
        run "$folder/program"
    else
        missing test-c "the static libraries for ${pair%:*} are missing"
    fi
    links "${pair%:*}" "$sanitizers" || missing test-c "the sanitizers of ${pair%:*} are missing"
done
is_there valgrind || missing test-c "valgrind is missing"
for source in $crate/examples/*.c* $crate/tests/c/*.c*; do
    for pair in $compilers; do
        compile_and_run "$pair" shared -O2 "$source"
        compile_and_run "$pair" static -O2 "$source"
        ! links "${pair%:*}" "$sanitizers" || compile_and_run "$pair" static "$sanitizers" "$source"
    done
    if is_there valgrind; then
        under="env RUNS_UNDER_MEMCHECK=1 valgrind --quiet --leak-check=full --error-exitcode=99 --fair-sched=yes"
        compile_and_run gcc:g++ shared "-O1 -g" "$source"
        under=
    fi
    echo "   ${source##*/}: compiled and run"
done

# The program, its commands and its project of CMake in docs/c.md.
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/d;p}" docs/c.md; }
mkdir "$folder/documented"
block c | sed '/^#include <arpa/,$d' >"$folder/documented/program.c"
block c | sed -n '/^#include <arpa/,$p' >"$folder/documented/message.c"
block sh | grep '^cc ' >"$folder/documented/commands"
(
    cd "$folder/documented"
    [ "$(wc -l <commands)" -eq 2 ]
    while read -r command; do
        rm -f a.out
        run sh -ec "$command"
        [ "$(./a.out)" = "$(printf 'length: 5\n\nhello')" ]
    done <commands
)
run gcc $warnings -D_GNU_SOURCE "$folder/documented/message.c" -o "$folder/program" $(pkg-config --cflags --libs vectored)
run python3 -c 'import socket, subprocess, sys
for _ in range(10):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.argv[1], str(port)], stdout=subprocess.PIPE)
    while server.poll() is None:
        try:
            client = socket.create_connection(("127.0.0.1", port))
            break
        except ConnectionRefusedError:
            pass
    if server.poll() is None:
        break # else another program took the port
file = client.makefile("rb")
for _ in range(3):
    client.sendall(b"next\n")
    assert file.read(6150) == b"h" * 150 + b"b" * 6000
server.kill()
server.wait()' "$folder/program"
echo "   the programs of docs/c.md: compiled and run"

if ! is_there cmake; then
    missing test-c "cmake is missing"
    exit 0
fi
run cmake -S $crate/tests/cmake -B "$folder/cmake" "-DCMAKE_PREFIX_PATH=$prefix" "-DPROGRAM=$PWD/$crate/examples/write_list.c"
run cmake --build "$folder/cmake"
run "$folder/cmake/with_vectored"
run "$folder/cmake/with_vectored_static"
{
    printf 'cmake_minimum_required(VERSION 3.16)\nproject(documented C)\nadd_executable(program program.c)\n'
    block cmake
} >"$folder/documented/CMakeLists.txt"
run cmake -S "$folder/documented" -B "$folder/documented/build" "-DCMAKE_PREFIX_PATH=$prefix"
run cmake --build "$folder/documented/build"
run "$folder/documented/build/program"
echo "   projects of CMake: built and run"
