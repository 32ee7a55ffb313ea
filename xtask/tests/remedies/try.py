#!/usr/bin/env python3
"""`cargo xtask remedies`: tries the code of every remedy that `vectored advise` prints.

try.py [SOURCE…]: a program of this folder for each language. Its case "KIND/TARGET 0" has the fault of a remedy, 1 and up
have the code of the remedy, letter by letter, between this case and the next; "#NAME" before the number is another fault. A
program is run as `PROGRAM CASE PATH PORT RECORDS`: it writes the records to a new file PATH, to TCP port PORT of this host,
or as datagrams to the UDP port of the same number, or it reads them from there or from standard input, and prints them. The
peer of a "small-reads/pipe" sends the next batch when all records of the last have been printed, so a read that waits for
more never ends. The exit status is 1 unless the bytes are the same, and the calls fewer, with each remedy. Calls are as few
as `advise` promises: one write for each record whose pieces are joined, or one write or read of a file for each 64 KiB ("in
parts of 8 KiB": or as many; "1,024 go in a call").
"""

import atexit, json, os, re, select, shutil, socket, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = "crates/vectored-advise/src/advisor/wording/snapshots/remedies.snap"
TRANSFERS = ("read,pread64,readv,preadv,preadv2,recvfrom,recvmsg,write,pwrite64,writev,pwritev,pwritev2,sendto,sendmsg,"
             "sendmmsg,lseek")
# Calls that are counted, if not all transfers.
WRITES = "write,writev,sendto,sendmsg"
READS = "read,readv,recvfrom,recvmsg"
COUNTED = {"adjacent-writes": WRITES, "small-reads": READS, "reopened": "openat", "sort": WRITES, "nginx": "write", "sync-each": "fsync,fdatasync", "tiny-segments": "writev,sendmsg", "no-delay": "setsockopt", "quick-ack": "setsockopt"}
# Socket options that save waits.
OPTIONS = {"no-delay": "TCP_NODELAY", "quick-ack": "TCP_QUICKACK"}
RECORDS = {"sync-each": 50, "datagrams": 200}
MANY_RECORDS = 2000
# Records of a batch, and the longest that the peer waits for their text.
BATCH_RECORDS, BATCH_S = 100, 30
# A case that no program has: it counts the calls of a program's start.
NOTHING = "nothing"
# With a remedy, a program makes at most this share of its calls, without the calls of its start.
AT_MOST = 0.55
# Code in the text of a remedy. After `no` or `not`, it is the code of the program that the remedy replaces.
CODE = re.compile(r"(\bno |\bnot |)`([^`]*)`")
# Bytes of a record; and the calls that may come on top of the promised ones: a file is truncated, reads meet the end of a file,
# or a buffer is never quite full.
RECORD_BYTES, MORE_CALLS = 39, 3
# The longest that a program may take: it waits for ever if bytes are lost.
LONGEST_S = 300

scratch = tempfile.mkdtemp()
atexit.register(shutil.rmtree, scratch)
target = os.environ["CARGO_TARGET_DIR"]
failures = []


def missing(reason):
    """Reports what could not run, as `missing` of skips.rs does."""
    reason = f"missing: {reason}"
    if os.environ.get("CI") == "true":
        sys.exit(f"error: remedies: {reason}")
    print(f"skipped remedies: {reason}")
    if "VECTORED_SKIPS" in os.environ:
        with open(os.environ["VECTORED_SKIPS"], "a") as skips:
            skips.write(f"remedies: {reason}\n")


def artifacts(package):
    """Builds the library of a package. Returns the files of each library that the package consists of."""
    words = f"cargo build --quiet --release --locked --lib --message-format json --package {package}".split()
    lines = subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    built = [line for line in map(json.loads, lines) if line["reason"] == "compiler-artifact"]
    return {line["target"]["name"]: line["filenames"] for line in built}


def words_of_c(compiler, source):
    library = "" if compiler == "musl-gcc" else f"-DVECTORED -Icrates/vectored-capi/include {archive} -lpthread -lm -ldl"
    return f"{compiler} -O1 -Wall -Wextra -Werror {source} -o {scratch}/program {library}"


def words_of_rust(source):
    libraries = " ".join(f"--extern {name}={of_c[name][0]}" for name in ["vectored", "libc"])
    return f"rustc --edition 2024 -Dwarnings {source} -o {scratch}/program -L {target}/release/deps {libraries}"


def languages():
    """Source, languages whose remedies it has, what must be there, words that compile it, words that run it."""
    program = f"{scratch}/program"
    go = "env GO111MODULE=off GOPATH=/usr/share/gocode"
    for name, of, needs, compilation, run in [
        ("c.c", ["C", "C++", "In general"], "cc", lambda source: words_of_c("cc", source), program),
        ("c.c", [], "musl-gcc", lambda source: words_of_c("musl-gcc", source), program),
        ("cpp.cpp", ["C++"], "g++", lambda source: f"g++ -Wall -Werror {source} -o {program}", program),
        ("rust.rs", ["Rust"], "rustc", words_of_rust, program),
        ("go.go", ["Go"], "go /usr/share/gocode/src/golang.org/x/net/ipv4/doc.go", lambda source: f"{go} go build -o {program} {source}", program),
        ("Remedies.java", ["Java"], "javac", lambda source: f"javac -d {scratch} {source}", f"java -cp {scratch} Remedies"),
        ("node.js", ["Node.js"], "node", None, "node {source}"),
        ("python.py", ["Python"], "python3", None, "python3 {source}"),
        ("perl.pl", ["Perl"], "perl", None, "perl {source}"),
        ("shell.sh", ["Shell", "Option"], "bash perl jq tcpdump nginx", None, "bash {source}"),
        ("awk.awk", ["awk"], "mawk gawk", None, "mawk -f {source}"),
        ("awk.awk", [], "gawk", None, "gawk -f {source}"),
        ("tcl.tcl", ["Tcl"], "tclsh", None, "tclsh {source}"),
        ("ruby.rb", ["Ruby"], "ruby", None, "ruby {source}"),
        ("php.php", ["PHP"], "php", None, "php {source}"),
        ("lua.lua", ["Lua"], "lua5.4 /usr/share/lua/5.4/socket.lua", None, "lua5.4 {source}"),
        ("erlang.erl", ["Erlang"], "escript", None, "escript {source}"),
        ("nim.nim", ["Nim"], "nim",
         lambda source: f"nim c --hints:off --nimcache:{scratch}/nim -o:{program} {source}", program),
        ("d.d", ["D"], "ldc2", lambda source: f"ldc2 -of={program} {source}", program),
        ("sbcl.lisp", ["Lisp"], "sbcl", None, "sbcl --script {source}"),
        ("fortran.f90", ["Fortran"], "gfortran", lambda source: f"gfortran -o {program} {source}", program),
        ("pascal.pas", ["Pascal"], "fpc", lambda source: f"fpc -v0 -l- -FU{scratch} -o{program} {source}", program),
        ("ocaml.ml", ["OCaml"], "ocaml", None, "ocaml unix.cma {source}"),
        ("r.R", ["R"], "Rscript", None, "Rscript {source}"),
        ("guile.scm", ["Lisp"], "guile", None, "guile --no-auto-compile {source}"),
    ]:
        source = f"{HERE}/{name}"
        yield name, of, needs, compilation and compilation(source).split(), run.format(source=source).split()


def cases(source, needs):
    """The text of each case: from its name to the next."""
    with open(f"{HERE}/{source}") as file:
        text = file.read()
    if needs == "musl-gcc":
        text = re.sub("(?s)#ifdef VECTORED.*?#endif", "", text)
    parts = re.split(r'"([a-z-]+(?:/[a-z]+)?(?:#\w+)? \d)"', text)
    return dict(zip(parts[1::2], parts[2::2]))


def check_code(remedies):
    """Checks that each remedy with code has a case with this code."""
    texts = {}
    for source, of, needs, *_ in languages():
        for language in of:
            texts.setdefault(language, []).append(cases(source, needs))
    for language, key, text in remedies:
        for before, code in CODE.findall(text):
            is_case = lambda name: re.split("[# ]", name)[0] == key and name.endswith(" 0") == bool(before)
            if not any(code in text for part in texts[language] for name, text in part.items() if is_case(name)):
                failures.append(f"{language}: no case '{key}' has the code: {code}")


def check_promises(source, of, texts, numbers, remedies):
    """Checks that in one of its cases, each remedy of writes and of reads of files leaves as few calls as `advise` says."""
    for language, key, text in remedies:
        codes = [code for before, code in CODE.findall(text) if not before]
        if language not in of or not key.startswith(("adjacent-writes/", "small-reads/file")):
            continue
        is_buffer = "; flush: `" in text or key == "small-reads/file"
        has_code = lambda name: (all if is_buffer else any)(code in texts[name] for code in codes)
        is_case = lambda name: re.split("[# ]", name)[0] == key and not name.endswith(" 0")
        made = [number for name, number in numbers.items() if is_case(name) and has_code(name)]
        parts = re.search(r"in parts of (\d+) KiB", text)
        bytes_of_call = (int(parts[1]) if parts else 64) << 10 if is_buffer else RECORD_BYTES
        promised = -(-MANY_RECORDS * RECORD_BYTES // bytes_of_call)
        if "1,024 go in a call" in text:
            promised = 2 * MANY_RECORDS // 1024
        if made and min(made) > promised + MORE_CALLS:
            failures.append(f"{source}: {promised} calls are promised, not {made}: {text}")


def send_batches(case, send, close):
    """Sends a batch when the program has printed the batch before it; ends if the program does not print it."""
    printed, batch = f"{scratch}/printed", RECORD_BYTES * BATCH_RECORDS
    for sent in range(0, RECORD_BYTES * MANY_RECORDS, batch):
        until = time.monotonic() + BATCH_S
        while os.path.getsize(printed) < sent:
            if time.monotonic() > until:
                failures.append(f"'{case}' waits for more than the batch that has come")
                return close()
            time.sleep(0.001)
        try:
            send(records(MANY_RECORDS)[sent:sent + batch])
        except OSError:
            break
    close()


def serve(listener, case, received):
    connection, _ = listener.accept()
    with connection:
        if "/pipe" in case and "#stdin" not in case:
            send_batches(case, connection.sendall, lambda: connection.shutdown(socket.SHUT_WR))
        while part := connection.recv(1 << 20):
            received.append(part)


def records(count):
    return b"".join(b"record %031d\n" % number for number in range(count))


def sockets():
    """A TCP and a UDP socket with the same port. Another program may already have that port for one of the two."""
    while True:
        listener, datagrams = socket.create_server(("127.0.0.1", 0)), socket.socket(type=socket.SOCK_DGRAM)
        try:
            datagrams.bind(listener.getsockname())
            return listener, datagrams
        except OSError:
            listener.close()
            datagrams.close()


def calls(words, case, counted=None):
    """Runs a program with a case, compares the bytes, and counts its calls: all transfers, or those that matter."""
    kind = re.split("[/ ]", case)[0]
    count = RECORDS.get(kind, MANY_RECORDS)
    is_read, path, received = "read" in case or "/" not in case, f"{scratch}/file", []
    if is_read:
        with open(path, "wb") as file:
            file.write(records(count))
    elif os.path.exists(path):
        os.remove(path)
    listener, datagrams = sockets()
    with listener, datagrams:
        port = listener.getsockname()[1]
        server = threading.Thread(target=serve, daemon=True, args=(listener, case, received))
        open(f"{scratch}/printed", "w").close()
        server.start()
        counted = counted or COUNTED.get(kind, TRANSFERS)
        trace = ["strace", "-f", "--seccomp-bpf", "-y", "-s0", "-o", f"{scratch}/log", "-e", f"trace={counted}"]
        with open(f"{scratch}/printed", "ab") as printed:
            program = subprocess.Popen(trace + words + [case, path, str(port), str(count)], stdin=subprocess.PIPE, stdout=printed,
                                       stderr=subprocess.PIPE, bufsize=0, cwd=scratch)
        if "/pipe#stdin" in case:
            threading.Thread(target=send_batches, daemon=True, args=(case, program.stdin.write, program.stdin.close)).start()
            errors = program.stderr.read()
        else:
            errors = program.communicate(records(count), timeout=LONGEST_S)[1]
        status = program.wait()
        # If the program has not connected, the server waits for this connection.
        socket.create_connection(("127.0.0.1", port)).close()
        server.join()
        # All datagrams are there, once the program has ended.
        while select.select([datagrams], [], [], 0)[0]:
            received.append(datagrams.recv(1 << 16))
    outputs = [f"{scratch}/printed"] + ([path] if not is_read and os.path.exists(path) else [])
    for output in outputs:
        with open(output, "rb") as file:
            received.append(file.read())
    received = b"".join(received)
    # A buffer that was flushed is complete, however its program ends.
    if case != NOTHING and (status not in (0, -9) or received != records(count)):
        failures.append(f"{' '.join(words)} '{case}': status {status}, {len(received)} bytes\n"
                        + errors.decode(errors="replace")[-2000:])
    with open(f"{scratch}/log") as log:
        descriptors = re.findall(r"^\d+ +\w+\((\w+)<(.*?)>", log.read(), re.MULTILINE)
    # Threads of a runtime wake each other by pipes and counters, and shells get text from their children by pipes.
    if counted == READS:
        # Programs load libraries.
        descriptors = [(number, name) for number, name in descriptors if name == path or not name.startswith("/")]
    standard = "" if counted == WRITES else "0 1 2"
    return sum(number in standard.split() or not name.startswith(("pipe:", "anon_inode:")) for number, name in descriptors)


def main():
    with open(LIST) as file:
        lines = file.read().split("---\n")[2].splitlines()
    remedies = [re.fullmatch(r"(.*?): (.*?): (.*)", line).groups() for line in lines]
    check_code(remedies)
    if not shutil.which("strace"):
        return missing("strace")
    wanted = {os.path.basename(source) for source in sys.argv[1:]}
    if unknown := wanted - {source for source, *_ in languages()}:
        sys.exit(f"error: no program of xtask/tests/remedies: {', '.join(sorted(unknown))}")
    for source, of, needs, compilation, run in languages():
        if wanted and source not in wanted:
            continue
        absent = [name for name in needs.split() if not (shutil.which(name) or os.path.exists(name))]
        if absent:
            missing(f"{' and '.join(absent)} for {source}")
            continue
        if compilation:
            subprocess.run(compilation, check=True)
        at_start = {counted: calls(run, NOTHING, counted) for counted in [TRANSFERS, WRITES, READS]}
        numbers, texts = {}, cases(source, needs)
        for case in texts:
            counted = COUNTED.get(re.split("[/ ]", case)[0], TRANSFERS)
            numbers[case] = number = calls(run, case) - at_start.get(counted, 0)
            option = OPTIONS.get(case.split("/")[0])
            if option:
                # The option saves time, but no calls.
                with open(f"{scratch}/log") as log:
                    if re.findall(rf"{option}, \[(.)\], 4\) = 0", log.read())[-1:] != [case[-1]]:
                        failures.append(f"{source}: {case}: {option} is not {case[-1]}")
                continue
            before = numbers[case[:-1] + "0"]
            if not case.endswith("0"):
                print(f"   {needs.split()[0]}: {case}: {before:,} -> {number:,} calls", flush=True)
                # A program without the fault has no use for a remedy.
                if before < 10 or number > before * AT_MOST:
                    failures.append(f"{source}: {case}: {before} calls, {number} with the remedy")
        check_promises(source, of, texts, numbers, remedies)
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    sys.exit(bool(failures))


of_c = artifacts("vectored-capi")
archive = next(file for file in of_c["vectored_capi"] if file.endswith(".a"))
shutil.copytree("crates/vectored-py/python/vectored", f"{scratch}/vectored")
shutil.copy(artifacts("vectored-py")["_vectored"][0], f"{scratch}/vectored/_vectored.so")
os.environ.pop("PYTHONUNBUFFERED", None)
os.environ.update(PYTHONPATH=scratch, LC_ALL="C.UTF-8")
main()
