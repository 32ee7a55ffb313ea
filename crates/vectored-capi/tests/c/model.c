/* Moves random lists by every function, and compares with a naive model: the same bytes, in one array. The pipes and sockets
 * are non-blocking and small, the other end moves a few bytes at a time, and signals arrive all the time. */

#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vectored.h>

#define CHECK(condition)                                                                      \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            fprintf(stderr, "round %u: %s:%d: %s (errno %d)\n", round_number, __FILE__, __LINE__, \
                    #condition, errno);                                                       \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

enum { ROUNDS = 150, MAX_SEGMENTS = 3000, MAX_BYTES = 1 << 20 };

static unsigned round_number;
static uint64_t state = 0x9E3779B97F4A7C15;

static size_t below(size_t end)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state % end);
}

/* The list, where its bytes lie, and the model. */
static struct iovec list[MAX_SEGMENTS], copy[MAX_SEGMENTS];
static unsigned char memory[MAX_BYTES], model[MAX_BYTES], received[MAX_BYTES];
static size_t count, bytes;

static size_t any_length(void)
{
    switch (below(6)) {
    case 0:
        return 0;
    case 1:
        return below(20000);
    case 2:
        return below(2000);
    default:
        return below(100);
    }
}

/* A list of any sizes; its segments adjoin in memory, or not. */
static void make_list(void)
{
    size_t wanted = below(3) == 0 ? below(MAX_SEGMENTS) : below(40), at = 0;
    count = bytes = 0;
    while (count < wanted) {
        size_t length = any_length();
        at += below(2) * below(10);
        if (at + length > MAX_BYTES)
            break;
        list[count].iov_base = length == 0 && below(2) ? NULL : memory + at;
        list[count].iov_len = length;
        at += length;
        bytes += length;
        count++;
    }
    memcpy(copy, list, sizeof list);
}

static void fill_model(void)
{
    size_t at = 0;
    for (size_t i = 0; i < MAX_BYTES; i++)
        memory[i] = (unsigned char)below(256);
    for (size_t i = 0; i < count; i++) {
        if (list[i].iov_len > 0)
            memcpy(model + at, list[i].iov_base, list[i].iov_len);
        at += list[i].iov_len;
    }
}

/* The other end, in a thread: reads or writes all bytes, a few at a time. */
struct other_end {
    int fd;
    int writes;
    size_t at_a_time;
    size_t moved;
    pthread_t writer;
};

static void *run_other_end(void *argument)
{
    struct other_end *other = argument;
    for (;;) {
        size_t most = other->at_a_time;
        ssize_t some;
        if (most > bytes - other->moved)
            most = bytes - other->moved;
        if (other->writes && most == 0)
            break;
        some = other->writes ? write(other->fd, model + other->moved, most)
                             : read(other->fd, received + other->moved, most > 0 ? most : 1);
        /* The signal interrupts the other thread in its calls. */
        pthread_kill(other->writer, SIGUSR1);
        if (some < 0 && errno == EINTR)
            continue;
        if (some <= 0)
            break;
        other->moved += (size_t)some;
    }
    close(other->fd);
    return NULL;
}

static void ignore(int number)
{
    (void)number;
}

static void wait_for(int fd, short events)
{
    struct pollfd ready = {fd, events, 0};
    CHECK(poll(&ready, 1, -1) >= 0 || errno == EINTR);
}

/* The place where the cursor must be after `moved` bytes: on the next byte, or at the end. */
static void check_cursor(vectored_cursor cursor, size_t moved)
{
    size_t before = 0;
    CHECK(cursor.segment <= count);
    for (size_t i = 0; i < cursor.segment; i++)
        before += list[i].iov_len;
    CHECK(before + cursor.offset == moved);
    CHECK(cursor.segment == count ? cursor.offset == 0
                                  : cursor.offset <= list[cursor.segment].iov_len);
    CHECK(vectored_cursor_remaining_bytes(&cursor, list, count) == (ssize_t)(bytes - moved));
}

/* Moves the list by one of the functions with a cursor until all is moved. */
static void move_resumed(int fd, int reads, void *handle)
{
    vectored_cursor cursor = {0, 0};
    size_t moved = 0, done;
    for (;;) {
        ssize_t result;
        done = 1;
        if (reads)
            result = handle ? vectored_scatter_resume_read(handle, fd, list, count, &cursor, &done)
                            : vectored_resume_read(fd, list, count, &cursor, &done);
        else
            result = handle ? vectored_gather_resume_write(handle, fd, list, count, &cursor, &done)
                            : vectored_resume_write(fd, list, count, &cursor, &done);
        int why = errno;
        moved += done;
        check_cursor(cursor, moved);
        if (result >= 0) {
            CHECK((size_t)result == done && moved == bytes);
            return;
        }
        errno = why;
        CHECK(result == -1 && errno == EAGAIN);
        wait_for(fd, reads ? POLLIN : POLLOUT);
    }
}

static void move_whole(int fd, int reads, void *handle)
{
    size_t done = 1;
    ssize_t result;
    if (reads)
        result = handle ? vectored_scatter_read_exact(handle, fd, list, count, &done)
                        : vectored_read_exact(fd, list, count, &done);
    else
        result = handle ? vectored_gather_write_all(handle, fd, list, count, &done)
                        : vectored_write_all(fd, list, count, &done);
    CHECK(result == (ssize_t)bytes && done == bytes);
}

static size_t released, kept;

static void release(void *context)
{
    (void)context;
    released++;
}

static void move_by_queue(int fd, int is_blocking)
{
    vectored_queue *queue = vectored_queue_for_target((int)below(6), below(2) * 1000);
    CHECK(queue != NULL);
    released = kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (below(2)) {
            CHECK(vectored_queue_put(queue, list[i].iov_base, list[i].iov_len) == 0);
        } else {
            CHECK(vectored_queue_push(queue, list[i].iov_base, list[i].iov_len, release, NULL) == 0);
            kept++;
        }
        if (below(50) == 0)
            vectored_queue_end_record(queue);
    }
    CHECK(vectored_queue_len(queue) == bytes);
    size_t left = bytes;
    while (left > 0) {
        size_t done = 0;
        ssize_t result;
        if (is_blocking) {
            result = vectored_queue_write_all(queue, fd, &done);
            CHECK(result == (ssize_t)left && done == left);
        } else {
            result = vectored_queue_write_some(queue, fd);
            CHECK(result > 0 || (result == -1 && errno == EAGAIN));
            if (result < 0)
                wait_for(fd, POLLOUT);
            else
                done = (size_t)result;
        }
        left -= done;
        CHECK(vectored_queue_len(queue) == left);
    }
    CHECK(released == kept);
    vectored_queue_free(queue);
}

static void through_descriptors(vectored_gather *gather, vectored_scatter *scatter)
{
    int pair[2], reads = (int)below(2), is_socket = (int)below(2), is_blocking = (int)below(2);
    if (is_socket) {
        int small = 4096;
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        CHECK(setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
        CHECK(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    } else {
        CHECK(pipe(pair) == 0);
    }
    int fd = reads ? pair[0] : pair[1];
    if (!is_blocking)
        CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    struct other_end other = {reads ? pair[1] : pair[0], reads, 1 + below(30000), 0, pthread_self()};
    if (bytes < 3000)
        other.at_a_time = 1 + below(30);
    if (reads)
        memset(memory, 0, sizeof memory);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run_other_end, &other) == 0);
    void *handle = below(2) ? NULL : reads ? (void *)scatter : (void *)gather;
    if (!reads && below(3) == 0)
        move_by_queue(fd, is_blocking);
    else if (is_blocking && below(2))
        move_whole(fd, reads, handle);
    else
        move_resumed(fd, reads, handle);
    if (!reads)
        close(fd);
    CHECK(pthread_join(thread, NULL) == 0);
    if (reads)
        close(fd);
    CHECK(other.moved == bytes);
    if (reads) {
        memset(received, 0, sizeof received);
        size_t at = 0;
        for (size_t i = 0; i < count; i++) {
            if (list[i].iov_len > 0)
                memcpy(received + at, list[i].iov_base, list[i].iov_len);
            at += list[i].iov_len;
        }
    }
    CHECK(memcmp(received, model, bytes) == 0);
}

static void into_a_file(FILE *file, vectored_gather *gather, vectored_scatter *scatter)
{
    int fd = fileno(file);
    off_t offset = (off_t)below(5000);
    size_t done;
    CHECK(ftruncate(fd, 0) == 0);
    ssize_t written = below(2) ? vectored_pwrite_all(fd, list, count, offset, &done)
                               : vectored_gather_pwrite_all(gather, fd, list, count, offset, &done);
    CHECK(written == (ssize_t)bytes && done == bytes);
    CHECK(pread(fd, received, bytes, offset) == (ssize_t)bytes);
    CHECK(memcmp(received, model, bytes) == 0);

    memset(memory, 0, sizeof memory);
    ssize_t read_back = below(2)
                            ? vectored_pread_exact(fd, list, count, offset, &done)
                            : vectored_scatter_pread_exact(scatter, fd, list, count, offset, &done);
    CHECK(read_back == (ssize_t)bytes && done == bytes);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (list[i].iov_len > 0)
            CHECK(memcmp(list[i].iov_base, model + at, list[i].iov_len) == 0);
        at += list[i].iov_len;
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        state = strtoull(argv[1], NULL, 10) | 1;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = ignore; /* without SA_RESTART: calls are interrupted */
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    vectored_gather *gather = vectored_gather_new();
    vectored_scatter *scatter = vectored_scatter_new();
    FILE *file = tmpfile();
    CHECK(gather != NULL && scatter != NULL && file != NULL);
    for (round_number = 0; round_number < ROUNDS; round_number++) {
        make_list();
        fill_model();
        if (below(3) == 0)
            into_a_file(file, gather, scatter);
        else
            through_descriptors(gather, scatter);
        /* The list is never changed. */
        CHECK(memcmp(copy, list, sizeof list) == 0);
    }
    fclose(file);
    vectored_gather_free(gather);
    vectored_scatter_free(scatter);
    return 0;
}
