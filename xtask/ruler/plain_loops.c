/*
 * The ruler's other half: the techniques of `vectored measure` as plain C
 * loops. They were written without a look at the engine's abstractions, so that
 * `cargo xtask ruler` can hold the engine's medians against them.
 *
 *     plain_loops TARGET SIZES MILLISECONDS CPU READER_CPU DIRECTORY SEED
 *
 * TARGET is null, file or pipe. SIZES lists runs of segments, as 1000x100 or
 * 1x100,1x200. CPU is where the timed thread stays; READER_CPU is where a
 * reader thread stays, if the pipe does not hold two calls. The file in
 * DIRECTORY has no name. SEED starts the generator behind every order and
 * place. With 0 MILLISECONDS the program takes its fewest rounds: enough to
 * see that everything works.
 *
 * Prints one line a technique: its name, its median time per call in ns, and
 * the number of samples. Anything unexpected (an error, a short write) ends
 * the program with a message and status 1.
 */

#define _GNU_SOURCE /* O_TMPFILE, mkostemp, sched_setaffinity, pipe2 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_SEGMENTS = 1024, /* IOV_MAX on Linux: one writev takes them all. */
    MAX_CALLS = 1024,    /* in a sample */
    MAX_ROUNDS = 4096,
    MIN_ROUNDS = 5,
    SAMPLE_NS = 75000,    /* what a sample of the fastest technique lasts */
    FAR_BEHIND = 4,       /* times slower than the fastest: own calls, */
    RARE = 10,            /* and sampled in one of this many rounds */
    ALIGNMENT = 16,       /* as malloc places what it hands out */
    WIDEST_GAP = 4,       /* between segments, in units of ALIGNMENT */
    PAGE = 4096,
    FILE_SPAN = 32 << 20, /* a file is truncated before it gets longer */
};

enum technique { FLOOR, WRITE_EACH, COPY_THEN_WRITE, WRITEV, TECHNIQUES };

static const char *const names[TECHNIQUES] = {
    "floor", "write-each", "copy-then-write", "writev",
};

/* The payload: scattered segments, and the same bytes in one piece. */
static struct iovec segments[MAX_SEGMENTS];
static size_t segment_count;
static size_t call_bytes;
static unsigned char *arena;       /* holds the segments */
static unsigned char *contiguous;  /* holds the floor's source */
static unsigned char *floor_bytes; /* where the source begins in contiguous */

/* The working memory of two techniques. */
static unsigned char *staging_place; /* holds the staging buffer */
static unsigned char *staging;       /* where the buffer begins in staging_place */
static struct iovec iovecs[MAX_SEGMENTS];

/* The target. */
static int target_fd = -1;
static int reader_fd = -1;     /* the other end of a pipe */
static bool is_file;
static off_t file_length;
static bool has_reader_thread; /* the pipe does not hold two calls */

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "plain_loops: %s: %s\n", what, strerror(errno));
    exit(1);
}

_Noreturn static void fail_with(const char *what)
{
    fprintf(stderr, "plain_loops: %s\n", what);
    exit(1);
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL)
        fail("malloc");
    /* Every page is there before anything is timed. */
    memset(memory, 0x5a, bytes);
    return memory;
}

/* xorshift64, Marsaglia 2003: simple, and the same in every run of a seed. */
static uint64_t random_state = 1;

static uint64_t random_below(uint64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 16) % limit;
}

static void shuffle(size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t other = random_below(i);
        size_t swapped = order[i - 1];
        order[i - 1] = order[other];
        order[other] = swapped;
    }
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    /* 0 is the calling thread, not the process. */
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        fail("sched_setaffinity");
}

/* ---- the techniques ---------------------------------------------------- */

/* True when all was written, false when a non-blocking target is full. */
static bool all_written(ssize_t written, size_t expected)
{
    if (written == (ssize_t)expected)
        return true;
    if (written < 0 && errno == EAGAIN)
        return false;
    if (written < 0)
        fail("write");
    /* Into a pipe that is nearly full, a long write may be a short one. */
    if (reader_fd >= 0 && !has_reader_thread)
        return false;
    fail_with("a short write");
}

static bool call_floor(void)
{
    return all_written(write(target_fd, floor_bytes, call_bytes), call_bytes);
}

static bool call_write_each(void)
{
    for (size_t i = 0; i < segment_count; i++) {
        ssize_t written = write(target_fd, segments[i].iov_base, segments[i].iov_len);
        if (!all_written(written, segments[i].iov_len))
            return false;
    }
    return true;
}

static bool call_copy_then_write(void)
{
    unsigned char *free_place = staging;
    for (size_t i = 0; i < segment_count; i++) {
        memcpy(free_place, segments[i].iov_base, segments[i].iov_len);
        free_place += segments[i].iov_len;
    }
    return all_written(write(target_fd, staging, call_bytes), call_bytes);
}

static bool call_writev(void)
{
    /* Whole entries: one 16-byte move each. Assigned field by field, GCC 12
     * moves 8 bytes at a time, and 1000 entries take 0.3 us longer. */
    for (size_t i = 0; i < segment_count; i++)
        iovecs[i] = segments[i];
    return all_written(writev(target_fd, iovecs, (int)segment_count), call_bytes);
}

static bool call(enum technique technique)
{
    switch (technique) {
    case FLOOR:
        return call_floor();
    case WRITE_EACH:
        return call_write_each();
    case COPY_THEN_WRITE:
        return call_copy_then_write();
    default:
        return call_writev();
    }
}

/* ---- the payload ------------------------------------------------------- */

static void parse_sizes(char *list)
{
    for (char *run = strtok(list, ","); run != NULL; run = strtok(NULL, ",")) {
        unsigned long count, bytes;
        if (sscanf(run, "%lux%lu", &count, &bytes) != 2 || count == 0 || bytes == 0)
            fail_with("SIZES are runs such as 1000x100 or 1x100,1x200");
        for (; count > 0; count--) {
            if (segment_count == MAX_SEGMENTS)
                fail_with("more segments than one writev takes");
            segments[segment_count++].iov_len = bytes;
            call_bytes += bytes;
        }
    }
    if (segment_count == 0)
        fail_with("no segments");
}

static void make_payload(void)
{
    size_t slot = ALIGNMENT + ALIGNMENT * WIDEST_GAP;
    arena = allocate(PAGE + call_bytes + segment_count * slot);
    contiguous = allocate(PAGE + call_bytes);
    staging_place = allocate(PAGE + call_bytes);
}

static size_t random_start(void)
{
    return ALIGNMENT * random_below(PAGE / ALIGNMENT);
}

/* Places every segment alone, in random order, with a gap behind it. Every source in one piece begins anywhere in a page:
 * the kernel copies faster from some places, by several per cent of a file's time. */
static void scatter(void)
{
    size_t order[MAX_SEGMENTS];
    shuffle(order, segment_count);
    unsigned char *place = arena + random_start();
    for (size_t i = 0; i < segment_count; i++) {
        struct iovec *segment = &segments[order[i]];
        size_t blocks = (segment->iov_len + ALIGNMENT - 1) / ALIGNMENT;
        segment->iov_base = place;
        memset(place, (int)random_below(256), segment->iov_len);
        place += ALIGNMENT * (blocks + 1 + random_below(WIDEST_GAP));
    }
    staging = staging_place + random_start();
    floor_bytes = contiguous + random_start();
    unsigned char *image = floor_bytes;
    for (size_t i = 0; i < segment_count; i++) {
        memcpy(image, segments[i].iov_base, segments[i].iov_len);
        image += segments[i].iov_len;
    }
}

/* ---- the targets ------------------------------------------------------- */

/* What the reader thread shall read, and the buffer it reads into. */
static size_t reader_wants;
static unsigned char *reader_buffer;
static size_t reader_buffer_bytes;
static sem_t reader_go, reader_done;
static int reader_cpu;

static void *reader_thread(void *unused)
{
    (void)unused;
    pin(reader_cpu);
    for (;;) {
        sem_wait(&reader_go);
        for (size_t filled = 0; filled < reader_wants;) {
            ssize_t count = read(reader_fd, reader_buffer + filled, reader_wants - filled);
            if (count <= 0)
                fail("read by the reader thread");
            filled += (size_t)count;
        }
        sem_post(&reader_done);
    }
    return NULL;
}

static void set_blocking(int fd, int non_blocking)
{
    if (ioctl(fd, FIONBIO, &non_blocking) != 0)
        fail("ioctl FIONBIO");
}

static void start_reader_thread(void)
{
    pthread_t thread;
    has_reader_thread = true;
    set_blocking(target_fd, 0);
    set_blocking(reader_fd, 0);
    sem_init(&reader_go, 0, 0);
    sem_init(&reader_done, 0, 0);
    if (pthread_create(&thread, NULL, reader_thread, NULL) != 0)
        fail_with("cannot start the reader thread");
}

/* As the engine's: O_TMPFILE where the file system has it, otherwise a file
 * whose name is removed at once. */
static int open_unnamed(const char *directory)
{
    char path[4096];
    int fd = open(directory, O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    if (snprintf(path, sizeof path, "%s/.plain-loops-XXXXXX", directory) >= (int)sizeof path)
        fail_with("the path of the directory is too long");
    fd = mkostemp(path, O_APPEND | O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static void open_target(const char *target, const char *directory)
{
    if (strcmp(target, "null") == 0) {
        target_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    } else if (strcmp(target, "file") == 0) {
        target_fd = open_unnamed(directory);
        is_file = true;
    } else if (strcmp(target, "pipe") == 0) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
            fail("pipe2");
        reader_fd = ends[0];
        target_fd = ends[1];
    } else {
        fail_with("TARGET is null, file or pipe");
    }
    if (target_fd < 0)
        fail("cannot open the target");
}

/* Reads a pipe until it is empty; returns how much was in it. */
static size_t drain_pipe(void)
{
    static unsigned char buffer[1 << 16];
    size_t drained = 0;
    for (;;) {
        ssize_t count = read(reader_fd, buffer, sizeof buffer);
        if (count < 0 && errno == EAGAIN)
            return drained;
        if (count <= 0)
            fail("read");
        drained += (size_t)count;
    }
}

/* Makes room for a batch of this many bytes. Not timed. */
static void before_batch(size_t bytes)
{
    if (is_file && file_length + (off_t)bytes > FILE_SPAN) {
        if (ftruncate(target_fd, 0) != 0)
            fail("ftruncate");
        file_length = 0;
    }
    if (has_reader_thread) {
        if (bytes > reader_buffer_bytes) {
            free(reader_buffer);
            reader_buffer = allocate(bytes);
            reader_buffer_bytes = bytes;
        }
        reader_wants = bytes;
        sem_post(&reader_go);
    }
}

/* Takes the batch out again, and checks that all of it arrived. Not timed. */
static void after_batch(size_t bytes)
{
    if (is_file) {
        struct stat status;
        file_length += (off_t)bytes;
        if (fstat(target_fd, &status) != 0)
            fail("fstat");
        if (status.st_size != file_length)
            fail_with("the file has another length than was written");
    }
    if (has_reader_thread)
        sem_wait(&reader_done);
    else if (reader_fd >= 0 && drain_pipe() != bytes)
        fail_with("the pipe held other bytes than were written");
}

/* The most calls that a sample may have, besides the untimed call. */
static uint32_t most_calls(void)
{
    if (is_file && FILE_SPAN / call_bytes < MAX_CALLS)
        return FILE_SPAN / call_bytes > 1 ? (uint32_t)(FILE_SPAN / call_bytes) : 1;
    if (reader_fd < 0)
        return MAX_CALLS;
    uint32_t fewest = MAX_CALLS + 1;
    for (int technique = 0; technique < TECHNIQUES; technique++) {
        uint32_t fitting = 0;
        while (fitting < fewest && call((enum technique)technique))
            fitting++;
        fewest = fitting;
        drain_pipe();
    }
    if (fewest >= 2)
        return fewest - 1;
    start_reader_thread();
    return MAX_CALLS;
}

/* ---- sampling ---------------------------------------------------------- */

/* Time per call over a batch of calls, after an untimed call. */
static double sample(enum technique technique, uint32_t calls)
{
    size_t bytes = call_bytes * (calls + 1);
    bool fits = true;
    before_batch(bytes);
    fits &= call(technique);
    uint64_t began_ns = now_ns();
    /* A loop for each technique: nothing is chosen inside it. */
    switch (technique) {
    case FLOOR:
        for (uint32_t i = 0; i < calls; i++)
            fits &= call_floor();
        break;
    case WRITE_EACH:
        for (uint32_t i = 0; i < calls; i++)
            fits &= call_write_each();
        break;
    case COPY_THEN_WRITE:
        for (uint32_t i = 0; i < calls; i++)
            fits &= call_copy_then_write();
        break;
    default:
        for (uint32_t i = 0; i < calls; i++)
            fits &= call_writev();
        break;
    }
    uint64_t ended_ns = now_ns();
    if (!fits)
        fail_with("a sample did not fit the pipe, although the probe did");
    after_batch(bytes);
    return (double)(ended_ns - began_ns) / calls;
}

/* As many calls as the fastest technique makes in SAMPLE_NS, for all techniques that are not far slower. The floor takes part,
 * although it is no technique. */
static void choose_calls(uint32_t calls[TECHNIQUES])
{
    uint32_t most = most_calls();
    uint32_t shared = 1;
    scatter();
    for (int technique = WRITE_EACH; technique < TECHNIQUES; technique++) {
        calls[technique] = 1;
        /* Twice: a guess from a single call is coarse. */
        for (int guess = 0; guess < 2; guess++) {
            double fitting = SAMPLE_NS / sample((enum technique)technique, calls[technique]);
            calls[technique] = fitting < 1 ? 1 : fitting > most ? most : (uint32_t)fitting;
        }
        if (calls[technique] > shared)
            shared = calls[technique];
    }
    calls[FLOOR] = shared;
    for (int technique = WRITE_EACH; technique < TECHNIQUES; technique++)
        if (shared <= FAR_BEHIND * calls[technique])
            calls[technique] = shared;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_size);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

int main(int argc, char **argv)
{
    static double samples_ns[TECHNIQUES][MAX_ROUNDS];
    size_t counts[TECHNIQUES] = {0};
    uint32_t calls[TECHNIQUES];
    if (argc != 8)
        fail_with("usage: TARGET SIZES MILLISECONDS CPU READER_CPU DIRECTORY SEED");
    parse_sizes(argv[2]);
    uint64_t budget_ns = strtoull(argv[3], NULL, 10) * 1000000;
    pin(atoi(argv[4]));
    reader_cpu = atoi(argv[5]);
    /* Mixed, since xorshift is slow to leave a small seed; never zero. */
    random_state = (strtoull(argv[7], NULL, 10) + 1) * 0x9e3779b97f4a7c15;
    make_payload();
    scatter();
    open_target(argv[1], argv[6]);

    uint64_t began_ns = now_ns();
    choose_calls(calls);
    size_t rounds = 0;
    while (rounds < MIN_ROUNDS || (rounds < MAX_ROUNDS && now_ns() - began_ns < budget_ns)) {
        size_t order[TECHNIQUES];
        shuffle(order, TECHNIQUES);
        scatter();
        for (int place = 0; place < TECHNIQUES; place++) {
            enum technique technique = (enum technique)order[place];
            bool far_behind = calls[technique] != calls[FLOOR];
            if (!far_behind || rounds % RARE == 0)
                samples_ns[technique][counts[technique]++] = sample(technique, calls[technique]);
        }
        rounds++;
    }
    for (int technique = 0; technique < TECHNIQUES; technique++)
        printf("%s %.2f %zu\n", names[technique],
               median(samples_ns[technique], counts[technique]), counts[technique]);
    return 0;
}
