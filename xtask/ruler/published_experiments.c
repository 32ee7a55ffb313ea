/*
 * Two of the published experiments as plain C, written without a look at the
 * engine's abstractions, so that `cargo xtask ruler --experiments` can hold the
 * ratios of `vectored reproduce` against them.
 *
 *     published_experiments records RECORDS REPEATS TURN CPU DIRECTORY
 *     published_experiments elements BYTES CALLS REPEATS CPU DIRECTORY
 *
 * records: a header of 100 bytes and data of 200, RECORDS times into a new
 * file, by two writes, by one write after copying, and by writev (APUE 2nd ed.,
 * Figure 14.28), in another order in each repeat and TURN.
 *
 * elements: 1000 elements of BYTES bytes, each in an allocation of its own,
 * CALLS calls of writev and of write after copying, in turn, appended to one
 * file (Kalinin 2001), and timed around each call; the array of iovec is
 * filled, and the elements are copied, within it.
 *
 * CPU time is that of the thread's own clock: getrusage is up to a tick late.
 * Files have no name. The thread stays on CPU. Prints a line for each technique
 * and repeat: the technique, its CPU time and its wall time in ns. Anything
 * unexpected (an error, a short write, other bytes in the file) ends it with a
 * message and status 1.
 */

#define _GNU_SOURCE /* O_TMPFILE, mkostemp, sched_setaffinity */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { HEADER = 100, DATA = 200, RECORD = HEADER + DATA, ELEMENTS = 1000 };

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "published_experiments: %s: %s\n", what, strerror(errno));
    exit(1);
}

_Noreturn static void fail_with(const char *what)
{
    fprintf(stderr, "published_experiments: %s\n", what);
    exit(1);
}

static unsigned long number(const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*text == '\0' || *end != '\0')
        fail_with("a number is expected");
    return value;
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL)
        fail("malloc");
    return memory;
}

static void pin(unsigned long cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        fail("sched_setaffinity");
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    if (clock_gettime(clock, &time) != 0)
        fail("clock_gettime");
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* As the engine's: O_TMPFILE where the file system has it, otherwise a file
 * whose name is removed at once. */
static int open_unnamed(const char *directory, int flags)
{
    char path[4096];
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        if (snprintf(path, sizeof path, "%s/.published-XXXXXX", directory) >= (int)sizeof path)
            fail_with("the path of the directory is too long");
        fd = mkostemp(path, O_CLOEXEC | flags);
        if (fd >= 0)
            unlink(path);
    }
    if (fd < 0)
        fail("cannot make a file");
    return fd;
}

static void expect(ssize_t written, size_t bytes)
{
    if (written < 0)
        fail("write");
    if ((size_t)written != bytes)
        fail_with("a short write");
}

/* Whether the file holds `image`, `times` over, and nothing more. */
static void check(int fd, const unsigned char *image, size_t bytes, size_t times)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        fail("fstat");
    if ((size_t)status.st_size != bytes * times)
        fail_with("the file has another length than was written");
    unsigned char *back = allocate(bytes);
    for (size_t i = 0; i < times; i++) {
        if (pread(fd, back, bytes, (off_t)(i * bytes)) != (ssize_t)bytes)
            fail("pread");
        if (memcmp(back, image, bytes) != 0)
            fail_with("the file holds other bytes than were written");
    }
    free(back);
}

/* ---- a header and its data --------------------------------------------- */

static unsigned char record[RECORD]; /* what the file shall hold */
static unsigned char header[HEADER];
static unsigned char data[DATA];

static void two_writes(int fd)
{
    expect(write(fd, header, HEADER), HEADER);
    expect(write(fd, data, DATA), DATA);
}

static void copy_then_write(int fd)
{
    static unsigned char staging[RECORD];
    memcpy(staging, header, HEADER);
    memcpy(staging + HEADER, data, DATA);
    expect(write(fd, staging, RECORD), RECORD);
}

static void one_writev(int fd)
{
    struct iovec iovecs[2] = {
        {.iov_base = header, .iov_len = HEADER},
        {.iov_base = data, .iov_len = DATA},
    };
    expect(writev(fd, iovecs, 2), RECORD);
}

static const struct {
    const char *name;
    void (*call)(int fd);
} ways[3] = {
    {"write-each", two_writes},
    {"copy-then-write", copy_then_write},
    {"writev", one_writev},
};

static void records(unsigned long count, unsigned long repeats, unsigned long turn,
                    const char *directory)
{
    for (size_t i = 0; i < RECORD; i++)
        record[i] = (unsigned char)(i * 31 + 7);
    memcpy(header, record, HEADER);
    memcpy(data, record + HEADER, DATA);
    for (unsigned long repeat = 0; repeat < repeats; repeat++) {
        for (int place = 0; place < 3; place++) {
            /* Six of them are all orders there are: three rotations, both ways. */
            unsigned long order = (turn + repeat) % 6;
            int way = (int)((order + (unsigned long)place) % 3);
            if (order >= 3)
                way = 2 - way;
            int fd = open_unnamed(directory, 0);
            uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
            uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
            for (unsigned long i = 0; i < count; i++)
                ways[way].call(fd);
            uint64_t ended_ns = clock_ns(CLOCK_MONOTONIC);
            cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
            check(fd, record, RECORD, count);
            close(fd);
            printf("%s %lu %lu\n", ways[way].name, (unsigned long)cpu_ns,
                   (unsigned long)(ended_ns - began_ns));
        }
    }
}

/* ---- a thousand elements ----------------------------------------------- */

static unsigned char *elements[ELEMENTS];
static unsigned char *staging;

static void gather(int fd, size_t bytes)
{
    static struct iovec iovecs[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) {
        iovecs[i].iov_base = elements[i];
        iovecs[i].iov_len = bytes;
    }
    expect(writev(fd, iovecs, ELEMENTS), ELEMENTS * bytes);
}

static void copy(int fd, size_t bytes)
{
    for (int i = 0; i < ELEMENTS; i++)
        memcpy(staging + (size_t)i * bytes, elements[i], bytes);
    expect(write(fd, staging, ELEMENTS * bytes), ELEMENTS * bytes);
}

static void take_turns(size_t bytes, unsigned long calls, unsigned long repeats,
                       const char *directory)
{
    void (*const turns[2])(int, size_t) = {gather, copy};
    const char *const names[2] = {"writev", "copy-then-write"};
    staging = allocate(ELEMENTS * bytes);
    unsigned char *image = allocate(ELEMENTS * bytes);
    memset(staging, 0x5a, ELEMENTS * bytes);
    for (unsigned long repeat = 0; repeat < repeats; repeat++) {
        for (int i = 0; i < ELEMENTS; i++) {
            elements[i] = allocate(bytes);
            for (size_t at = 0; at < bytes; at++)
                elements[i][at] = (unsigned char)((size_t)i * 131 + at * 31 + repeat);
            memcpy(image + (size_t)i * bytes, elements[i], bytes);
        }
        int fd = open_unnamed(directory, O_APPEND);
        uint64_t cpu_ns[2] = {0, 0}, wall_ns[2] = {0, 0};
        for (unsigned long i = 0; i < calls; i++) {
            for (int turn = 0; turn < 2; turn++) {
                uint64_t cpu_began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
                uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
                turns[turn](fd, bytes);
                wall_ns[turn] += clock_ns(CLOCK_MONOTONIC) - began_ns;
                cpu_ns[turn] += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_began_ns;
            }
        }
        check(fd, image, ELEMENTS * bytes, 2 * calls);
        close(fd);
        for (int turn = 0; turn < 2; turn++)
            printf("%s %lu %lu\n", names[turn], (unsigned long)(cpu_ns[turn] / calls),
                   (unsigned long)(wall_ns[turn] / calls));
        for (int i = 0; i < ELEMENTS; i++)
            free(elements[i]);
    }
}

int main(int argc, char **argv)
{
    if (argc == 7 && strcmp(argv[1], "records") == 0) {
        pin(number(argv[5]));
        records(number(argv[2]), number(argv[3]), number(argv[4]), argv[6]);
    } else if (argc == 7 && strcmp(argv[1], "elements") == 0) {
        pin(number(argv[5]));
        take_turns(number(argv[2]), number(argv[3]), number(argv[4]), argv[6]);
    } else {
        fail_with("see the beginning of its source for what it is called with");
    }
    return 0;
}
