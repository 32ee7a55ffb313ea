/* Each error that the header names: the result is -1, and *done is the number of bytes of this call. */

#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vectored.h>

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

/* `call` returns -1 with this errno, after `bytes` bytes. */
#define FAILS(call, code, bytes)             \
    do {                                     \
        done = 77;                           \
        errno = 0;                           \
        CHECK((call) == -1);                 \
        CHECK(errno == (code));              \
        CHECK(done == (size_t)(bytes));      \
    } while (0)

static size_t done;
static char bytes_a[] = "aaaaaaaaaaaaaaaaaaaa", bytes_b[] = "bbbbbbbbbbbbbbbbbbbb";
static struct iovec list[2] = {{bytes_a, 20}, {bytes_b, 20}};
static vectored_gather *gather;
static vectored_scatter *scatter;

static void null_pointers_and_negative_descriptors(void)
{
    int null = open("/dev/null", O_RDWR);
    CHECK(null >= 0);
    vectored_cursor cursor = {0, 0};
    FAILS(vectored_write_all(null, NULL, 1, &done), EFAULT, 0);
    FAILS(vectored_write_all(-1, list, 2, &done), EBADF, 0);
    FAILS(vectored_write_all(-1, NULL, 0, &done), EBADF, 0);
    FAILS(vectored_write_all(INT_MIN, list, 2, &done), EBADF, 0);
    FAILS(vectored_resume_write(null, list, 2, NULL, &done), EFAULT, 0);
    FAILS(vectored_resume_write(-1, list, 2, &cursor, &done), EBADF, 0);
    FAILS(vectored_pwrite_all(-1, list, 2, 0, &done), EBADF, 0);
    FAILS(vectored_write_once(-1, list, 2, &done), EBADF, 0);
    FAILS(vectored_read_exact(-1, list, 2, &done), EBADF, 0);
    FAILS(vectored_read_exact(null, NULL, 3, &done), EFAULT, 0);
    FAILS(vectored_resume_read(null, list, 2, NULL, &done), EFAULT, 0);
    FAILS(vectored_read_up_to_eof(-1, list, 2, &done), EBADF, 0);
    FAILS(vectored_pread_exact(-1, list, 2, 0, &done), EBADF, 0);
    FAILS(vectored_pread_up_to_eof(-1, list, 2, 0, &done), EBADF, 0);
    FAILS(vectored_gather_write_all(NULL, null, list, 2, &done), EFAULT, 0);
    FAILS(vectored_gather_write_all(gather, null, NULL, 2, &done), EFAULT, 0);
    FAILS(vectored_gather_write_all(gather, -1, list, 2, &done), EBADF, 0);
    FAILS(vectored_gather_resume_write(gather, null, list, 2, NULL, &done), EFAULT, 0);
    FAILS(vectored_gather_pwrite_all(NULL, null, list, 2, 0, &done), EFAULT, 0);
    FAILS(vectored_scatter_read_exact(NULL, null, list, 2, &done), EFAULT, 0);
    FAILS(vectored_scatter_read_exact(scatter, -1, list, 2, &done), EBADF, 0);
    FAILS(vectored_scatter_resume_read(scatter, null, list, 2, NULL, &done), EFAULT, 0);
    FAILS(vectored_queue_write_all(NULL, null, &done), EFAULT, 0);

    /* An empty list is no error, and `done` may be NULL. */
    done = 77;
    CHECK(vectored_write_all(null, NULL, 0, &done) == 0 && done == 0);
    CHECK(vectored_write_all(null, list, 2, NULL) == 40);
    CHECK(vectored_gather_write_all(gather, null, list, 2, NULL) == 40);
    CHECK(vectored_gather_write_all(gather, null, list, 2, &done) == 40 && done == 40);
    CHECK(vectored_write_all(-1, list, 2, NULL) == -1 && errno == EBADF);
    CHECK(vectored_read_exact(null, NULL, 0, &done) == 0 && done == 0);

    vectored_gather_free(NULL);
    vectored_scatter_free(NULL);
    vectored_cost_model_free(NULL);
    vectored_queue_free(NULL);
    vectored_queue_clear(NULL);
    close(null);
    FAILS(vectored_write_all(null, list, 2, &done), EBADF, 0);
    FAILS(vectored_gather_write_all(gather, null, list, 2, &done), EBADF, 0);
}

static void lists_that_cannot_be(void)
{
    int null = open("/dev/null", O_RDWR);
    struct iovec null_base[2] = {{bytes_a, 20}, {NULL, 1}};
    struct iovec too_long[2] = {{bytes_a, 20}, {bytes_b, (size_t)-1}};
    struct iovec with_empty[4] = {{NULL, 0}, {bytes_a, 20}, {NULL, 0}, {bytes_b, 20}};
    vectored_cursor cursor = {0, 0};
    FAILS(vectored_read_exact(null, null_base, 2, &done), EFAULT, 0);
    FAILS(vectored_write_all(null, too_long, 2, &done), EINVAL, 0);
    FAILS(vectored_gather_write_all(gather, null, too_long, 2, &done), EINVAL, 0);
    FAILS(vectored_gather_resume_write(gather, null, too_long, 2, &cursor, &done), EINVAL, 0);
    FAILS(vectored_read_exact(null, too_long, 2, &done), EINVAL, 0);
    FAILS(vectored_write_all(null, list, (size_t)-1, &done), EINVAL, 0);
    CHECK(vectored_write_all(null, with_empty, 4, &done) == 40 && done == 40);
    CHECK(vectored_gather_write_all(gather, null, with_empty, 4, &done) == 40 && done == 40);
    CHECK(vectored_gather_resume_write(gather, null, with_empty, 4, &cursor, &done) == 40);
    CHECK(cursor.segment == 4 && cursor.offset == 0);
    /* At the end, there is nothing to do. */
    CHECK(vectored_resume_write(null, with_empty, 4, &cursor, &done) == 0 && done == 0);

    close(null);

    /* The kernel cannot read a referenced segment. memcheck would report the read. */
    if (getenv("RUNS_UNDER_MEMCHECK") != NULL)
        return;
    int pair[2];
    CHECK(pipe(pair) == 0);
    struct iovec unreadable[2] = {{bytes_a, 20}, {(void *)4096, 100000}};
    done = 77;
    CHECK(vectored_write_all(pair[1], unreadable, 2, &done) == -1);
    CHECK(errno == EFAULT && done <= 20);
    done = 77;
    CHECK(vectored_write_all(pair[1], null_base, 2, &done) == -1);
    CHECK(errno == EFAULT && done <= 20);
    close(pair[0]);
    close(pair[1]);
}

static void cursors(void)
{
    int null = open("/dev/null", O_RDWR);
    vectored_cursor outside[] = {{2, 1}, {3, 0}, {0, 21}, {(size_t)-1, (size_t)-1}};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        vectored_cursor cursor = outside[i];
        FAILS(vectored_resume_write(null, list, 2, &cursor, &done), EINVAL, 0);
        FAILS(vectored_gather_resume_write(gather, null, list, 2, &cursor, &done), EINVAL, 0);
        FAILS(vectored_resume_read(null, list, 2, &cursor, &done), EINVAL, 0);
        FAILS(vectored_scatter_resume_read(scatter, null, list, 2, &cursor, &done), EINVAL, 0);
        CHECK(vectored_cursor_remaining_bytes(&cursor, list, 2) == -1 && errno == EINVAL);
        CHECK(vectored_cursor_advance(&cursor, list, 2, 0) == -1 && errno == EINVAL);
        CHECK(cursor.segment == outside[i].segment && cursor.offset == outside[i].offset);
    }
    vectored_cursor cursor = {0, 5};
    CHECK(vectored_cursor_remaining_bytes(&cursor, list, 2) == 35);
    CHECK(vectored_cursor_remaining_bytes(NULL, list, 2) == -1 && errno == EFAULT);
    CHECK(vectored_cursor_advance(NULL, list, 2, 1) == -1 && errno == EFAULT);
    CHECK(vectored_cursor_advance(&cursor, list, 2, 36) == -1 && errno == EINVAL);
    CHECK(cursor.segment == 0 && cursor.offset == 5);
    CHECK(vectored_cursor_advance(&cursor, list, 2, 16) == 0);
    CHECK(cursor.segment == 1 && cursor.offset == 1);
    CHECK(vectored_gather_resume_write(gather, null, list, 2, &cursor, &done) == 19 && done == 19);
    CHECK(cursor.segment == 2 && cursor.offset == 0);
    close(null);
}

static void offsets_and_ends(void)
{
    FILE *file = tmpfile();
    CHECK(file != NULL);
    int fd = fileno(file), pair[2];
    CHECK(pipe(pair) == 0);
    FAILS(vectored_pwrite_all(fd, list, 2, -1, &done), EINVAL, 0);
    FAILS(vectored_gather_pwrite_all(gather, fd, list, 2, -1, &done), EINVAL, 0);
    FAILS(vectored_pwrite_all(fd, list, 2, (off_t)INT64_MAX - 10, &done), EINVAL, 0);
    FAILS(vectored_pwrite_all(pair[1], list, 2, 0, &done), ESPIPE, 0);
    FAILS(vectored_gather_pwrite_all(gather, pair[1], list, 2, 0, &done), ESPIPE, 0);
    FAILS(vectored_pread_exact(pair[0], list, 2, 0, &done), ESPIPE, 0);
    FAILS(vectored_pread_exact(fd, list, 2, -1, &done), EINVAL, 0);
    FAILS(vectored_scatter_pread_exact(scatter, fd, list, 2, -1, &done), EINVAL, 0);
    CHECK(vectored_pwrite_all(fd, list, 2, 10, &done) == 40);
    CHECK(lseek(fd, 0, SEEK_END) == 50);

    char a[30], b[30];
    struct iovec into[2] = {{a, 30}, {b, 30}};
    FAILS(vectored_pread_exact(fd, into, 2, 0, &done), ENODATA, 50);
    CHECK(memcmp(b, bytes_b, 20) == 0);
    FAILS(vectored_scatter_pread_exact(scatter, fd, into, 2, 45, &done), ENODATA, 5);
    CHECK(vectored_pread_up_to_eof(fd, into, 2, 20, &done) == 30 && done == 30);
    CHECK(vectored_pread_up_to_eof(fd, into, 2, 50, &done) == 0 && done == 0);
    FAILS(vectored_scatter_pread_up_to_eof(scatter, fd, into, 2, -1, &done), EINVAL, 0);
    FAILS(vectored_scatter_pread_up_to_eof(NULL, fd, into, 2, 0, &done), EFAULT, 0);
    memset(a, 0, sizeof a);
    CHECK(vectored_scatter_pread_up_to_eof(scatter, fd, into, 2, 20, &done) == 30 && done == 30);
    CHECK(memcmp(a, bytes_a + 10, 10) == 0 && memcmp(a + 10, bytes_b, 20) == 0);
    CHECK(vectored_scatter_pread_up_to_eof(scatter, fd, into, 2, 50, &done) == 0 && done == 0);
    CHECK(lseek(fd, 5, SEEK_SET) == 5);
    CHECK(vectored_read_up_to_eof(fd, into, 2, &done) == 45 && done == 45);
    CHECK(lseek(fd, 5, SEEK_SET) == 5);
    CHECK(vectored_scatter_read_up_to_eof(scatter, fd, into, 2, &done) == 45 && done == 45);
    CHECK(lseek(fd, 40, SEEK_SET) == 40);
    vectored_cursor cursor = {0, 0};
    FAILS(vectored_scatter_resume_read(scatter, fd, into, 2, &cursor, &done), ENODATA, 10);
    CHECK(cursor.segment == 0 && cursor.offset == 10);
    close(pair[0]);
    close(pair[1]);
    fclose(file);
}

static void full_and_empty(void)
{
    int pair[2];
    CHECK(pipe(pair) == 0);
    CHECK(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(pair[1], F_SETFL, O_NONBLOCK) == 0);
    char into[8];
    struct iovec in[2] = {{into, 4}, {into + 4, 4}};
    vectored_cursor cursor = {0, 0};
    FAILS(vectored_read_exact(pair[0], in, 2, &done), EAGAIN, 0);
    CHECK(write(pair[1], "abcdef", 6) == 6);
    FAILS(vectored_resume_read(pair[0], in, 2, &cursor, &done), EAGAIN, 6);
    CHECK(cursor.segment == 1 && cursor.offset == 2);
    CHECK(write(pair[1], "gh", 2) == 2);
    CHECK(vectored_scatter_resume_read(scatter, pair[0], in, 2, &cursor, &done) == 2 && done == 2);
    CHECK(memcmp(into, "abcdefgh", 8) == 0);

    static char large[1 << 20];
    struct iovec out[2] = {{bytes_a, 20}, {large, sizeof large}};
    cursor = (vectored_cursor){0, 0};
    errno = 0;
    CHECK(vectored_gather_resume_write(gather, pair[1], out, 2, &cursor, &done) == -1);
    CHECK(errno == EAGAIN && done > 0 && done < sizeof large);
    CHECK(vectored_cursor_remaining_bytes(&cursor, out, 2) == (ssize_t)(20 + sizeof large - done));
    vectored_cursor before = cursor;
    FAILS(vectored_resume_write(pair[1], out, 2, &cursor, &done), EAGAIN, 0);
    CHECK(cursor.segment == before.segment && cursor.offset == before.offset);
    FAILS(vectored_write_once(pair[1], list, 2, &done), EAGAIN, 0);

    /* The reader is gone. */
    CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    close(pair[0]);
    FAILS(vectored_write_all(pair[1], list, 2, &done), EPIPE, 0);
    FAILS(vectored_gather_write_all(gather, pair[1], list, 2, &done), EPIPE, 0);
    close(pair[1]);
}

static void limits_of_files_and_records(void)
{
    FILE *file = tmpfile();
    CHECK(file != NULL);
    int fd = fileno(file), pair[2];
    struct rlimit before, small;
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = before;
    small.rlim_cur = 30;
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    FAILS(vectored_write_all(fd, list, 2, &done), EFBIG, 30);
    CHECK(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    FAILS(vectored_gather_write_all(gather, fd, list, 2, &done), EFBIG, 30);
    CHECK(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    FAILS(vectored_write_once(fd, list, 2, &done), EIO, 30);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);

    static struct iovec many[3000];
    for (size_t i = 0; i < 3000; i++)
        many[i] = list[i % 2];
    FAILS(vectored_write_once(fd, many, 3000, &done), EINVAL, 0);
    CHECK(vectored_write_all(fd, many, 3000, &done) == 60000 && done == 60000);
    CHECK(pipe(pair) == 0);
    FAILS(vectored_write_once(pair[1], many, 1000, &done), EINVAL, 0);
    CHECK(vectored_write_once(pair[1], many, 100, &done) == 2000 && done == 2000);
    close(pair[0]);
    close(pair[1]);

    /* One call is one message. A list that would be two messages is refused before any byte. */
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
    FAILS(vectored_write_all(pair[0], many, 3000, &done), EINVAL, 0);
    FAILS(vectored_read_exact(pair[0], list, 2, &done), EINVAL, 0);
    CHECK(vectored_write_once(pair[0], list, 2, &done) == 40);
    char message[100];
    CHECK(read(pair[1], message, sizeof message) == 40);
    close(pair[0]);
    close(pair[1]);
    fclose(file);
}

static void models(void)
{
    CHECK(vectored_cost_model_for_target(6) == NULL && errno == EINVAL);
    CHECK(vectored_cost_model_for_target(-1) == NULL && errno == EINVAL);
    CHECK(vectored_cost_model_calibrate(17, NULL, 1) == NULL && errno == EINVAL);
    CHECK(vectored_cost_model_calibrate(VECTORED_FILE, NULL, 1) == NULL && errno == EFAULT);
    CHECK(vectored_cost_model_calibrate(VECTORED_FILE_OVERWRITE, NULL, 1) == NULL && errno == EFAULT);
    CHECK(vectored_cost_model_calibrate(VECTORED_FILE, "/proc/nowhere", 1) == NULL && errno == ENOENT);
    CHECK(vectored_gather_with_model(NULL) == NULL && errno == EFAULT);
    CHECK(vectored_scatter_with_model(NULL) == NULL && errno == EFAULT);
    CHECK(vectored_cost_model_copy_below_bytes(NULL, 4) == 0 && errno == EFAULT);
    CHECK(vectored_queue_for_target(9, 0) == NULL && errno == EINVAL);
    const int targets[] = {VECTORED_OTHER, VECTORED_FILE, VECTORED_PIPE, VECTORED_UNIX};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        vectored_cost_model *model = vectored_cost_model_for_target(targets[i]);
        CHECK(model != NULL && vectored_cost_model_copy_below_bytes(model, 16) > 0);
        vectored_gather *with = vectored_gather_with_model(model);
        vectored_scatter *reading = vectored_scatter_with_model(model);
        vectored_cost_model_free(model);
        CHECK(with != NULL && reading != NULL);
        int null = open("/dev/null", O_RDWR);
        CHECK(vectored_gather_write_all(with, null, list, 2, &done) == 40);
        close(null);
        vectored_gather_free(with);
        vectored_scatter_free(reading);
    }
    vectored_cost_model *measured = vectored_cost_model_calibrate(VECTORED_PIPE, NULL, 1);
    CHECK(measured != NULL);
    vectored_cost_model_free(measured);
}

static void saved_models(void)
{
    static const char saved[] = "{\"cost_models\":["
        "{\"target\":\"pipe\",\"source\":\"calibration\",\"call_ns\":166,\"gather_call_ns\":28"
        ",\"segment_ns\":22,\"large_segment_ns\":26,\"iovec_step_ns\":53,\"page_end_ns\":31"
        ",\"byte_ns\":0.07,\"copy_segment_ns\":2,\"copy_byte_ns\":0.02"
        ",\"copy_byte_uncached_ns\":0.08,\"staging_bytes\":4096,\"copy_thresholds\":[[2,900]]"
        ",\"queue_thresholds\":{}}"
        "]}";
    char path[] = "/tmp/vectored-errors-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    CHECK(file != NULL && fputs(saved, file) >= 0 && fclose(file) == 0);
    vectored_cost_model *model = vectored_cost_model_load(path, VECTORED_PIPE);
    CHECK(model != NULL && vectored_cost_model_copy_below_bytes(model, 2) == 900);
    vectored_cost_model_free(model);
    CHECK(vectored_cost_model_load(path, VECTORED_TCP) == NULL && errno == EBADMSG);
    CHECK(vectored_cost_model_load("/dev/null", VECTORED_PIPE) == NULL && errno == EBADMSG);
    CHECK(vectored_cost_model_load(path, 17) == NULL && errno == EINVAL);
    CHECK(vectored_cost_model_load(NULL, VECTORED_PIPE) == NULL && errno == EFAULT);
    CHECK(unlink(path) == 0);
    CHECK(vectored_cost_model_load(path, VECTORED_PIPE) == NULL && errno == ENOENT);
}

static size_t released;

static void release(void *counter)
{
    ++*(size_t *)counter;
}

static void queues(void)
{
    static char large[100000];
    vectored_queue *queue = vectored_queue_new();
    CHECK(queue != NULL);
    CHECK(vectored_queue_put(NULL, "a", 1) == -1 && errno == EFAULT);
    CHECK(vectored_queue_put(queue, NULL, 1) == -1 && errno == EFAULT);
    CHECK(vectored_queue_put(queue, "a", (size_t)-1) == -1 && errno == EINVAL);
    CHECK(vectored_queue_put(queue, NULL, 0) == 0);
    CHECK(vectored_queue_push(queue, NULL, 1, release, &released) == -1 && errno == EFAULT);
    CHECK(vectored_queue_end_record(NULL) == -1 && errno == EFAULT);
    CHECK(vectored_queue_len(NULL) == 0 && vectored_queue_is_full(NULL) == 0);
    CHECK(vectored_queue_advance(NULL, 0) == -1 && errno == EFAULT);
    CHECK(vectored_queue_advance(queue, 1) == -1 && errno == EINVAL);
    CHECK(vectored_queue_write_some(queue, -1) == -1 && errno == EBADF);
    CHECK(vectored_queue_write_some(NULL, 1) == -1 && errno == EFAULT);
    CHECK(released == 0 && vectored_queue_len(queue) == 0);

    /* Short segments are copied and released at once, long ones when they are written. */
    CHECK(vectored_queue_push(queue, "short", 5, release, &released) == 0 && released == 1);
    CHECK(vectored_queue_push(queue, large, sizeof large, release, &released) == 0);
    CHECK(vectored_queue_push(queue, large, sizeof large, NULL, NULL) == 0 && released == 1);
    CHECK(vectored_queue_len(queue) == 5 + 2 * sizeof large);
    struct iovec next[8];
    CHECK(vectored_queue_segments(queue, next, 8) == 3);
    CHECK(next[0].iov_len == 5 && next[1].iov_base == large && next[2].iov_len == sizeof large);
    CHECK(vectored_queue_segments(queue, next, 1) == 1);
    CHECK(vectored_queue_segments(queue, NULL, 0) == 0);
    errno = 0;
    CHECK(vectored_queue_segments(queue, NULL, 1) == 0 && errno == EFAULT);
    CHECK(vectored_queue_segments(NULL, next, 1) == 0 && errno == EFAULT);
    CHECK(vectored_queue_advance(queue, 5 + sizeof large - 1) == 0 && released == 1);
    CHECK(vectored_queue_advance(queue, 1) == 0 && released == 2);

    int pair[2];
    CHECK(pipe(pair) == 0 && fcntl(pair[1], F_SETFL, O_NONBLOCK) == 0);
    done = 77;
    CHECK(vectored_queue_write_all(queue, pair[1], &done) == -1 && errno == EAGAIN);
    CHECK(done > 0 && vectored_queue_len(queue) == sizeof large - done);
    vectored_queue_clear(queue);
    CHECK(vectored_queue_len(queue) == 0);
    CHECK(vectored_queue_write_all(queue, pair[1], &done) == 0 && done == 0);
    CHECK(vectored_queue_write_some(queue, pair[1]) == 0);
    CHECK(vectored_queue_push(queue, large, sizeof large, release, &released) == 0 && released == 2);
    errno = ENOTTY;
    vectored_queue_free(queue);
    CHECK(released == 3 && errno == ENOTTY);

    queue = vectored_queue_for_target(VECTORED_PIPE, 10);
    CHECK(vectored_queue_put(queue, "123456789", 9) == 0 && !vectored_queue_is_full(queue));
    CHECK(vectored_queue_put(queue, "0", 1) == 0 && vectored_queue_is_full(queue) == 1);
    vectored_queue_free(queue);
    close(pair[0]);
    close(pair[1]);
}

/* A queue without memory takes nothing, releases nothing, and can be used again. */
static void queues_without_memory(void)
{
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ABORTS_WITHOUT_MEMORY
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(ABORTS_WITHOUT_MEMORY)
    return;
#else
    if (getenv("RUNS_UNDER_MEMCHECK") != NULL || sizeof(size_t) < 8)
        return;
    size_t giant = (size_t)4 << 30;
    char *zeros = mmap(NULL, giant, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(zeros != MAP_FAILED);
    struct rlimit before, small;
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    small = before;
    small.rlim_cur = giant + ((size_t)1 << 30);
    CHECK(setrlimit(RLIMIT_AS, &small) == 0);

    released = 0;
    vectored_queue *queue = vectored_queue_new();
    CHECK(vectored_queue_put(queue, "before", 6) == 0);
    CHECK(vectored_queue_put(queue, zeros, giant) == -1 && errno == ENOMEM);
    CHECK(vectored_queue_len(queue) == 6);
    CHECK(vectored_queue_put(queue, ", after", 7) == 0);
    /* A long segment is not copied, so it needs no memory. */
    CHECK(vectored_queue_push(queue, zeros, giant, release, &released) == 0 && released == 0);
    struct iovec next[3];
    CHECK(vectored_queue_segments(queue, next, 3) == 2);
    CHECK(next[0].iov_len == 13 && memcmp(next[0].iov_base, "before, after", 13) == 0);
    CHECK(next[1].iov_base == zeros && next[1].iov_len == giant);
    vectored_queue_free(queue);
    CHECK(released == 1);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(munmap(zeros, giant) == 0);
#endif
}

int main(void)
{
    gather = vectored_gather_new();
    scatter = vectored_scatter_new();
    CHECK(gather != NULL && scatter != NULL);
    CHECK(vectored_version() == VECTORED_VERSION_MAJOR * 1000000 + VECTORED_VERSION_MINOR * 1000 +
                                    VECTORED_VERSION_PATCH);
    null_pointers_and_negative_descriptors();
    lists_that_cannot_be();
    cursors();
    offsets_and_ends();
    full_and_empty();
    limits_of_files_and_records();
    models();
    saved_models();
    queues();
    queues_without_memory();
    vectored_gather_free(gather);
    vectored_scatter_free(scatter);
    return 0;
}
