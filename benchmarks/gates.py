#!/usr/bin/env python3
"""Which gate sees which regression? Six planted ones, four gates, and how often each gate alarms for equal programs.

    cargo build --release && cargo install --locked hyperfine@1.20.0 && apt-get install gcc strace valgrind
    benchmarks/gates.py target/release/vectored hyperfine [SECONDS] [EQUAL]

Each comparison of times takes SECONDS (4), by `versus` and by hyperfine. EQUAL (20) comparisons of a program with itself, of all six
programs in turn, run beside a load of one core that comes and goes. An alarm means:
  calls       `versus --rounds 1 --fail-if-more-calls 1%`: exit status 3,
  time        `versus --fail-if-slower 3%`: exit status 3,
  hyperfine   a ratio of its means above 1.03, and above 1 by more than its deviation,
  cachegrind  1 % more instructions in user space, as tak counts them.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from versus_and_hyperfine import bursts, hyperfine, printed_as_different  # noqa: E402

# The beginning of each program. NEW is 0 or 1; both versions do the same.
COMMON = r"""
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long sum;
static void work(long n) { for (; n > 0; n--) sum += n; }
"""

PROGRAMS = {
    "1,000 more writes": r"""
static char bytes[100000];
int main(void) {
    int file = open("/dev/null", O_WRONLY);
    work(5000000);
    for (int at = 0; at < 100000; at += NEW ? 100 : 100000) write(file, bytes + at, NEW ? 100 : 100000);
}""",
    "as many calls, but 2,000 small writes in place of seeks": r"""
static char bytes[2000000];
int main(void) {
    int file = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
    int writes = NEW ? 2000 : 20;
    work(5000000);
    for (int n = 0; n < writes; n++) write(file, bytes, 2000000 / writes);
    for (int n = writes; n < 2020; n++) lseek(file, 0, SEEK_CUR);
}""",
    "10 % more instructions in user space": r"""
int main(void) { work(NEW ? 16500000 : 15000000); }""",
    "400 more page faults": r"""
int main(void) {
    char *memory = mmap(0, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, 32 << 20, MADV_NOHUGEPAGE);
    work(5000000);
    for (long at = 0; at < 400; at++) memory[NEW ? at * 4096 : at] = 1;
}""",
    "a lock that is held while a thread waits (as for a disk)": r"""
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *unused) {
    for (int n = 0; n < 20; n++) {
        pthread_mutex_lock(&lock);
        if (!NEW) pthread_mutex_unlock(&lock);
        usleep(300);
        if (NEW) pthread_mutex_unlock(&lock);
    }
    return unused;
}
int main(void) {
    pthread_t other;
    pthread_create(&other, 0, run, 0);
    run(0);
    pthread_join(other, 0);
}""",
    "answers that wait for an acknowledgement (TCP_NODELAY is gone)": r"""
int main(void) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    char byte[2] = "x";
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = !NEW;
    bind(listener, (void *)&name, sizeof name);
    listen(listener, 1);
    getsockname(listener, (void *)&name, &length);
    if (!fork()) {
        int peer = accept(listener, 0, 0);
        for (int n = 0; n < 5; n++) { recv(peer, byte, 2, MSG_WAITALL); send(peer, byte, 1, 0); }
        _exit(0);
    }
    int own = socket(AF_INET, SOCK_STREAM, 0);
    connect(own, (void *)&name, sizeof name);
    setsockopt(own, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    work(5000000);
    for (int n = 0; n < 5; n++) { send(own, byte, 1, 0); send(own, byte, 1, 0); recv(own, byte, 1, 0); }
    wait(0);
}""",
}


class Gates:
    def __init__(self, vectored, hyperfine_program, seconds):
        self.vectored, self.hyperfine, self.seconds = vectored, hyperfine_program, seconds

    def versus(self, options, old, new):
        words = [self.vectored, "versus", "--no-save", "--quiet", *options, old, new]
        code = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if code.returncode not in (0, 3, 4):
            sys.exit(f"{words}: {code.stderr}")
        return code.returncode == 3

    def calls(self, old, new):
        return self.versus(["--rounds", "1", "--fail-if-more-calls", "1%"], old, new)

    def time(self, old, new):
        return self.versus(["--budget", f"{self.seconds}s", "--fail-if-slower", "3%"], old, new)

    def hyperfines(self, old, new):
        began = time.monotonic()
        subprocess.run([new], check=True)
        found = hyperfine(self.hyperfine, [old, new], self.seconds, time.monotonic() - began)
        return found[1]["mean"] / found[0]["mean"] > 1.03 and printed_as_different(*found)

    def cachegrind(self, old, new):
        def instructions(program):
            words = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", program]
            said = subprocess.run(words, check=True, capture_output=True, text=True).stderr
            return sum(int(number.replace(",", "")) for number in re.findall(r"I\s+refs:\s+([\d,]+)", said))

        return instructions(new) > 1.01 * instructions(old)


def main():
    vectored, program = Path(sys.argv[1]).resolve(), shutil.which(sys.argv[2])
    seconds, equal = [int(word) for word in (sys.argv[3:] + ["4", "20"][len(sys.argv) - 3 :])]
    gates = Gates(vectored, program, seconds)
    columns = {
        "`versus`, calls": gates.calls,
        "`versus`, time": gates.time,
        "hyperfine": gates.hyperfines,
        "cachegrind": gates.cachegrind,
    }
    took = dict.fromkeys(columns, 0.0)
    print(f"| regression | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        built = []
        for number, (name, source) in enumerate(PROGRAMS.items()):
            sides = []
            for side, is_new in [("old", 0), ("new", 1), ("same", 0)]:
                path = Path(folder, f"{number}{side}")
                words = ["gcc", "-O1", "-w", "-pthread", f"-DNEW={is_new}", "-x", "c", "-", "-o", path]
                subprocess.run(words, input=COMMON + source, text=True, check=True)
                sides.append(str(path))
            built.append(sides)
            found = []
            for column, gate in columns.items():
                began = time.monotonic()
                found.append("found" if gate(*sides[:2]) else "–")
                took[column] += time.monotonic() - began
            print(f"| {name} | {' | '.join(found)} |", flush=True)
        with bursts():
            alarms = [
                sum(gate(built[n % len(built)][0], built[n % len(built)][2]) for n in range(equal)) for gate in columns.values()
            ]
    print(f"| alarms in {equal} comparisons of equal programs | {' | '.join(map(str, alarms))} |")
    shown = [f"{spent / len(built):.1f} s" for spent in took.values()]
    print(f"| time of a comparison | {' | '.join(shown)} |")


main()
