/* Sends 5000 segments through a non-blocking pipe whose reader is slow, and checks that every byte arrives. */

#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <vectored.h>

enum { SEGMENTS = 5000, MAX_BYTES = 200 };

static unsigned char data[SEGMENTS][MAX_BYTES];
static struct iovec list[SEGMENTS];
static unsigned char expected[SEGMENTS * MAX_BYTES], arrived[sizeof expected + 1];

/* Reads to the end, a little at a time, and rests now and then. */
static void *read_slowly(void *argument)
{
    int fd = *(int *)argument;
    static size_t all;
    for (unsigned turn = 0;; turn++) {
        ssize_t some = read(fd, arrived + all, sizeof arrived - all < 3001 ? sizeof arrived - all : 3001);
        if (some <= 0)
            return &all;
        all += (size_t)some;
        struct timespec rest = {0, 200000};
        if (turn % 4 == 0)
            nanosleep(&rest, NULL);
    }
}

int main(void)
{
    size_t bytes = 0;
    for (size_t i = 0; i < SEGMENTS; i++) {
        list[i].iov_base = data[i];
        list[i].iov_len = i * 37 % (MAX_BYTES + 1);
        memset(data[i], (int)(i % 251), list[i].iov_len);
        memcpy(expected + bytes, data[i], list[i].iov_len);
        bytes += list[i].iov_len;
    }

    int ends[2];
    pthread_t reader;
    if (pipe(ends) < 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) < 0 ||
        pthread_create(&reader, NULL, read_slowly, &ends[0]) != 0) {
        perror("cannot make a pipe with a reader");
        return 1;
    }

    vectored_gather *gather = vectored_gather_new();
    if (gather == NULL) {
        perror("vectored_gather_new");
        return 1;
    }
    vectored_cursor cursor = {0, 0};
    size_t sent = 0, waits = 0, done;
    while (vectored_gather_resume_write(gather, ends[1], list, SEGMENTS, &cursor, &done) < 0) {
        sent += done;
        if (errno != EAGAIN) {
            fprintf(stderr, "after %zu bytes: %s\n", sent, strerror(errno));
            return 1;
        }
        struct pollfd ready = {ends[1], POLLOUT, 0};
        if (poll(&ready, 1, -1) < 0 && errno != EINTR) {
            perror("poll");
            return 1;
        }
        waits++;
    }
    sent += done;
    vectored_gather_free(gather);
    close(ends[1]);

    void *all;
    pthread_join(reader, &all);
    close(ends[0]);
    printf("%zu of %zu bytes sent after %zu waits, %zu arrived\n", sent, bytes, waits, *(size_t *)all);
    return sent == bytes && *(size_t *)all == bytes && memcmp(arrived, expected, bytes) == 0 ? 0 : 1;
}
